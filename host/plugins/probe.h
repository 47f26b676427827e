/// Loads a plugin in a child process first: constructors that crash, hang or exit cost it, not
/// titan.
#pragma once

#include <titan/host.h>

#include <chrono>

#include "plugins/catalog.h"
#include "plugins/judge.h"

namespace titan::plugins {

/// plugins.load_timeout_seconds, unless a config says otherwise.
inline constexpr std::chrono::seconds kLoadTimeout{10};

/// Enters the gates load, identity and register into a loadable `judged`, as the child found them.
/// One that fails becomes the verdict. Of a plugin without a note in its file the description is
/// completed. Does nothing if the file is not loadable or was probed before.
///
/// [main-thread] Forks; see call_in_child. About 4 ms. What the plugin prints is kept out of the
/// output and quoted if it fails.
void probe_plugin(JudgedPlugin& judged, const titan_host& host,
                  std::chrono::milliseconds limit = kLoadTimeout);

enum class ProbeWhich { kWithoutNote, kAll };
/// The catalog again, with loadable files probed: all, or those whose note does not tell what they
/// offer.
Catalog probed(const Catalog& catalog, ProbeWhich which, const titan_host& host,
               std::chrono::milliseconds limit = kLoadTimeout);

}  // namespace titan::plugins
