#!/usr/bin/env python3
"""Activation checkpointing changes no number of a run, with or without converters.

Usage: recompute_test.py TITAN_PROGRAM PLUGIN_FOLDERS...
"""
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import numbers

PLUGINS = []
LAYERS = 4
MODES = {"full": ["--activation_checkpoint.mode=full"],
         "every second": ["--activation_checkpoint.mode=selective", "--activation_checkpoint.selective_ac_option=2"],
         "op": ["--activation_checkpoint.mode=selective", "--activation_checkpoint.selective_ac_option=op"]}


class Recompute(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def run_of(self, *overrides):
        lines = titan_run.train(self.folder, f"--model.args.n_layers={LAYERS}", "--training.global_batch_size=4",
                                *overrides, plugins=PLUGINS)
        return numbers(lines)

    def same_in(self, modes, *overrides, unlike=lambda key: False):
        plain = self.run_of("--activation_checkpoint.mode=none", *overrides)
        runs = {"none": plain}
        for name in modes:
            with self.subTest(name):
                runs[name] = self.run_of(*MODES[name], *overrides)
                for line, want in zip(runs[name], plain, strict=True):
                    self.assertEqual({key: value for key, value in line.items() if not unlike(key)},
                                     {key: value for key, value in want.items() if not unlike(key)})
        return runs

    def test_stock_model_in_all_types(self):
        self.same_in(MODES)
        self.same_in(MODES, "--training.mixed_precision_param=bfloat16")
        self.same_in(["op"], "--training.mixed_precision_param=bfloat16", "--training.dtype=bfloat16")

    def test_float8(self):
        self.same_in(MODES, "--model.converters=float8", "--float8.emulate=true", "--float8.exclude=output")

    def test_float8_over_bfloat16(self):
        self.same_in(["op"], "--model.converters=float8", "--float8.emulate=true", "--float8.exclude=output",
                     "--training.mixed_precision_param=bfloat16")

    def test_gradients_of_torch_and_of_a_plugin(self):
        self.same_in(["full", "op"], "--model.converters=soft_cap,c_scale", "--soft_cap.cap=3", "--c_scale.factor=0.5")

    def test_a_fused_block(self):
        self.same_in(["full", "op"], "--model.converters=fused_projections", "--training.mixed_precision_param=bfloat16")

    def test_observers_may_look_at_one_of_the_two_forwards(self):
        # Its operators run in the first forward alone: they must not count as the model's.
        self.same_in(["full", "op"], "--model.converters=monitor", "--monitor.kinds=linear,block", "--monitor.freq=1")

    def test_state_is_updated_once_a_step(self):
        repeated = lambda key: key.endswith("second_forwards")
        runs = self.same_in(MODES, "--model.converters=running_scale", unlike=repeated)
        # Seven linear layers a block and the head, in two micro-batches.
        calls, in_blocks = 2 * (7 * LAYERS + 1), 2 * 7 * LAYERS
        for name, seconds in (("none", 0), ("full", in_blocks), ("every second", in_blocks / 2), ("op", in_blocks)):
            for line in runs[name]:
                self.assertEqual(line["running_scale/first_forwards"], calls)
                self.assertEqual(line["running_scale/updates"], calls)
                self.assertEqual(line["running_scale/backwards"], calls)
                self.assertEqual(line["running_scale/second_forwards"], seconds, name)
        self.assertLess(runs["full"][1]["running_scale/scale"], 1)  # the state did something

    def test_state_in_bfloat16(self):
        self.same_in(["full"], "--model.converters=running_scale", "--training.mixed_precision_param=bfloat16",
                     unlike=lambda key: key.endswith("second_forwards"))

    def test_the_log_says_what_is_repeated(self):
        done = titan_run.run("train", self.folder.config, "--training.steps=1", "--model.args.n_layers=5")
        self.assertIn("activation checkpointing: mode selective (2): 2 of 5 blocks run their forward again", done.stderr)
        done = titan_run.run("train", self.folder.config, "--training.steps=1", "--activation_checkpoint.mode=none")
        self.assertIn("activation checkpointing: mode none", done.stderr)

    def test_bad_options_are_refused_with_their_place(self):
        text = self.folder.config.read_text()
        for line, place, words in (("  mode: fulll", ":2:", "full"),
                                   ("  selective_ac_option: 0", ":2:", "positive number or op"),
                                   ("  selective_ac_option: ops", ":2:", "positive number or op"),
                                   ("  selective_ac_option: 1.5", ":2:", "positive number or op")):
            self.folder.config.write_text(f"activation_checkpoint:\n{line}\n{text}")
            done = titan_run.run("config", "check", self.folder.config)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(f"{self.folder.config}{place}", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
