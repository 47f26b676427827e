/// The functions behind test_list.cpp. Each runs in a process of its own and may throw: an error of
/// the host is a finding.
#pragma once

#include "conformance/findings.h"
#include "conformance/subject.h"

namespace titan::conformance {

void test_file(const Subject& subject, Findings& findings);
void test_note(const Subject& subject, Findings& findings);
void test_exports(const Subject& subject, Findings& findings);
void test_load(const Subject& subject, Findings& findings);
void test_older_host(const Subject& subject, Findings& findings);
void test_later_host(const Subject& subject, Findings& findings);

void test_run(const Subject& subject, Findings& findings);
void test_mixed_precision(const Subject& subject, Findings& findings);
void test_error_paths(const Subject& subject, Findings& findings);
void test_options(const Subject& subject, Findings& findings);
void test_instances(const Subject& subject, Findings& findings);
void test_threads(const Subject& subject, Findings& findings);
void test_lifetime(const Subject& subject, Findings& findings);
void test_destroy(const Subject& subject, Findings& findings);
void test_leaks(const Subject& subject, Findings& findings);
void test_process_state(const Subject& subject, Findings& findings);
void test_plan(const Subject& subject, Findings& findings);
void test_checkpoint(const Subject& subject, Findings& findings);
void test_trainable(const Subject& subject, Findings& findings);
void test_recompute(const Subject& subject, Findings& findings);
void test_determinism(const Subject& subject, Findings& findings);
void test_gradients(const Subject& subject, Findings& findings);
void test_numerics(const Subject& subject, Findings& findings);
void test_hook(const Subject& subject, Findings& findings);

}  // namespace titan::conformance
