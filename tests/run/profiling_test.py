#!/usr/bin/env python3
"""Profiling by flag: traces that a viewer opens, with the run's steps, modules and operators, and a run whose
numbers are those of one without.

Usage: profiling_test.py TITAN_PROGRAM
"""
import json
import sys
import unittest
from pathlib import Path

import saved_steps
import titan_run

PROFILE = ["--profiling.enable_profiling=true", "--profiling.profile_freq=3", "--profiling.profiler_warmup=1"]


class Profiling(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.traces = self.folder.out / "profile_traces"

    def trace(self, step):
        return json.loads((self.traces / f"iteration_{step}/rank0_trace.json").read_text())["traceEvents"]

    def test_a_trace_holds_steps_modules_and_operators(self):
        titan_run.train(self.folder, *PROFILE, "--training.steps=7", "--training.global_batch_size=4")
        self.assertEqual(sorted(path.name for path in self.traces.iterdir()), ["iteration_3", "iteration_6"])
        events = [event for event in self.trace(6) if event["ph"] == "X"]
        names = [event["name"] for event in events]
        for name in ("ProfilerStep#6", "next batch", "forward", "backward", "gradient norm", "optimizer", "model (decoder)",
                     "layers.1.attention.wq (linear)", "aten::mm", "aten::embedding"):
            self.assertIn(name, names)
        self.assertEqual(names.count("forward"), 2, "one a micro-batch")
        self.assertNotIn("ProfilerStep#5", names)
        # Time that a viewer can nest: every event lies in the step.
        [step] = [event for event in events if event["name"] == "ProfilerStep#6"]
        for event in events:
            if event.get("cat") == "user_annotation" or event["name"].startswith("aten::"):
                self.assertGreaterEqual(event["ts"], step["ts"])
                self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 1)
        self.assertTrue(any("Input Dims" in event.get("args", {}) for event in events if event["name"] == "aten::mm"))

    def test_numbers_are_those_of_a_run_without(self):
        options = ["--training.steps=4", "--activation_checkpoint.mode=full"]
        plain = saved_steps.numbers(titan_run.train(self.folder, *options))
        profiled = saved_steps.numbers(titan_run.train(self.folder, *options, *PROFILE, "--profiling.profiler_active=2"))
        self.assertEqual(profiled, plain)

    def test_recomputed_modules_are_named(self):
        titan_run.train(self.folder, *PROFILE, "--training.steps=3", "--activation_checkpoint.mode=full")
        names = [event["name"] for event in self.trace(3)]
        self.assertEqual(names.count("layers.0 (block)"), 2, "forward, and again for backward")

    def test_what_was_recorded_when_training_ends(self):
        titan_run.train(self.folder, *PROFILE, "--profiling.profiler_active=2", "--training.steps=5")
        names = {event["name"] for event in self.trace(5)}
        self.assertIn("ProfilerStep#5", names)

    def test_nothing_on_standard_error_but_the_log(self):
        done = titan_run.run("train", self.folder.config, *PROFILE)
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line for line in done.stderr.splitlines() if not line.startswith("[titan] ")], [])

    def test_schedules_that_do_not_fit(self):
        done = titan_run.run("train", self.folder.config, "--profiling.enable_profiling=true", "--profiling.profile_freq=3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("profiling.profiler_warmup (3) and profiling.profiler_active (1)", done.stderr)
        done = titan_run.run("train", self.folder.config, "--profiling.profile_freq=3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no effect", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
