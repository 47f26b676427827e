#!/usr/bin/env python3
"""A plugin that breaks a rule during a call stops the run with status 6 and is named, with its module.

Usage: misbehave_test.py TITAN_PROGRAM PLUGINS_FOLDER
"""
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = None
MODULE = "layers.1.feed_forward.w2"

# how: text of the error
BROKEN = {
    "throw": "boom",
    "error": "the device is on fire",
    "silent": "without saying why",
    "strange_status": "12345",
    "no_output": "without setting 'y'",
    "shape": "shape [3], expected",
    "dtype": "type Double, expected Float",
    "nan": "not finite",
    "unknown_input": "no tensor 'z'",
    "unknown_output": "'z'",
    "stale_handle": "tensor_info",
    "other_thread": "another thread was refused",
    "reenter": "both dead handles were refused",
    "lost_graph": "gradient",
    "backward_throw": "boom in backward",
    "grad_missing": "set no gradient for 'y'",
    "grad_shape": "shape",
    "grad_dtype": "Double",
    "grad_unknown": "'z'",
}


class Misbehave(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def run_with(self, how, *overrides):
        return titan_run.run("train", self.folder.config, "--model.converters=misbehave", f"--misbehave.how={how}",
                             f"--misbehave.include={MODULE}", *overrides, plugins=[PLUGINS])

    def test_broken_rules_are_named(self):
        for how, text in BROKEN.items():
            with self.subTest(how=how):
                done = self.run_with(how)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertIn(MODULE, done.stderr)
                self.assertIn("misbehave", done.stderr)
                self.assertIn("fix:", done.stderr)

    def test_a_parameter_that_lost_its_gradient_is_named(self):
        done = titan_run.run("train", self.folder.config, "--model.converters=misbehave", "--misbehave.how=forgets_weight",
                             "--misbehave.include=layers.0.attention.wq", plugins=[PLUGINS])
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("'layers.0.attention.wq.weight' got no gradient", done.stderr)

    def test_a_failure_costs_no_checkpoint(self):
        save = ("--checkpoint.enable=true", "--checkpoint.interval=1", "--lr_scheduler.total_steps=4")
        good = titan_run.train(self.folder, *save, "--training.steps=2", "--model.converters=misbehave",
                               "--misbehave.how=identity", plugins=[PLUGINS])
        done = self.run_with("throw", *save, "--training.steps=4")
        self.assertEqual(done.returncode, 6, done.stderr)
        steps = sorted(path.name for path in (self.folder.out / "checkpoint").glob("step-*"))
        self.assertEqual(steps, ["step-1", "step-2"])
        again = titan_run.train(self.folder, *save, "--training.steps=3", "--model.converters=misbehave",
                                "--misbehave.how=identity", plugins=[PLUGINS])
        self.assertEqual([line["loss"] for line in again[:2]], [line["loss"] for line in good])
        self.assertEqual([line["step"] for line in again], [1, 2, 3])

    def test_writes_into_arguments_are_named(self):
        for how, what in (("writes_input", "'x'"), ("writes_weight", "'weight'"), ("writes_grad", "the gradient of the output")):
            with self.subTest(how=how):
                done = self.run_with(how)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn(f"wrote into {what}", done.stderr)

    def test_crashes_and_exits_name_the_plugin(self):
        for how, status, text in (("exit", 6, "a call of exit()"), ("abort", -6, "abort"), ("crash", -11, "SIGSEGV")):
            with self.subTest(how=how):
                done = self.run_with(how)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertIn(f"inside plugin 'misbehave', forward of module '{MODULE}'", done.stderr)

    def test_a_crash_on_a_thread_of_its_own_names_those_that_may_have_done_it(self):
        done = self.run_with("thread_crash")
        self.assertEqual(done.returncode, -11, done.stderr)
        self.assertIn("SIGSEGV", done.stderr)
        self.assertIn("a plugin's own thread may have done it. In this process: 'misbehave' (", done.stderr)

    def test_changed_float_modes_are_named(self):
        done = self.run_with("rounding")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("changed the rounding mode in forward", done.stderr)

    def test_hook_that_throws(self):
        done = self.run_with("hook_throw")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("boom in the hook", done.stderr)

    def test_what_is_allowed(self):
        plain = titan_run.train(self.folder)
        for how in ("identity", "dlpack", "sizes"):
            with self.subTest(how=how):
                done = self.run_with(how)
                self.assertEqual(done.returncode, 0, done.stderr)
        # An output that is an input.
        self.assertEqual([line["loss"] for line in titan_run.train(
            self.folder, "--model.converters=misbehave", "--misbehave.how=identity", plugins=[PLUGINS])],
            [line["loss"] for line in plain])


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
