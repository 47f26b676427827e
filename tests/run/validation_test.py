#!/usr/bin/env python3
"""Validation measures other data and leaves training alone.

Usage: validation_test.py TITAN_PROGRAM PLUGIN_FOLDERS...
"""
import math
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import numbers

PLUGINS = []


class Validation(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.other = self.folder.path / "other.txt"
        self.other.write_text("".join(f"another text, number {i * 7}\n" for i in range(20)))
        self.options = ["--validation.enable=true", "--validation.dataset=text",
                        f"--validation.dataset_path={self.other}", "--validation.seq_len=32",
                        "--validation.local_batch_size=4", "--validation.freq=2", "--training.steps=5"]

    def run_with(self, *overrides):
        """Lines of training and of validation."""
        lines = titan_run.train(self.folder, *overrides, plugins=PLUGINS)
        return ([line for line in lines if "loss" in line],
                [line for line in lines if "validation_metrics/loss" in line])

    def test_training_is_the_same_bit_for_bit(self):
        for types in ([], ["--training.mixed_precision_param=bfloat16"]):
            with_it, validations = self.run_with(*self.options, *types)
            without, none = self.run_with("--training.steps=5", *types)
            self.assertEqual(none, [])
            self.assertEqual(numbers(with_it), numbers(without))
            self.assertEqual([line["step"] for line in validations], [1, 2, 4])
            for line in validations:
                self.assertTrue(0 < line["validation_metrics/loss"] < 2 * math.log(320), line)
                # The text is cut into samples of 33 tokens; BOS and EOS are tokens too.
                samples = (len(self.other.read_bytes()) + 2) // 33
                self.assertEqual(line["validation_metrics/n_tokens"], 32 * samples)

    def test_state_of_converters_is_left_alone(self):
        with_it, _ = self.run_with(*self.options, "--model.converters=running_scale")
        without, _ = self.run_with("--training.steps=5", "--model.converters=running_scale")
        told = "running_scale/forwards_without_training"
        self.assertEqual(sum(line.pop(told) for line in without), 0)
        # 15 linear layers in each batch, before the hook of the next step.
        counts = [line.pop(told) for line in with_it]
        self.assertEqual([count > 0 for count in counts], [False, True, True, False, True])
        self.assertEqual([count % 15 for count in counts], [0] * 5)
        self.assertEqual(numbers(with_it), numbers(without))

    def test_the_loss_is_that_of_the_model(self):
        """A validation after step 1 without learning sees the loss that training on that data sees."""
        still = ["--optimizer.lr=0", "--optimizer.weight_decay=0"]
        _, validations = self.run_with(*self.options, *still, "--training.steps=1", "--validation.steps=1")
        lines, _ = self.run_with(f"--training.dataset_path={self.other}", "--training.local_batch_size=4", *still,
                                 "--training.steps=1")
        self.assertLess(abs(validations[0]["validation_metrics/loss"] - lines[0]["loss"]), 1e-6 * lines[0]["loss"])

    def test_the_console_has_a_line(self):
        done = titan_run.run("train", self.folder.config, *self.options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("validate step:  4  loss: ", done.stderr)

    def test_a_longer_sequence_than_in_training(self):
        _, validations = self.run_with(*self.options, "--validation.seq_len=100")
        self.assertEqual(len(validations), 3)

    def refused(self, status, *texts, overrides):
        done = titan_run.run("train", self.folder.config, *overrides)
        self.assertEqual(done.returncode, status, done.stderr)
        for text in (*texts, "fix: "):
            self.assertIn(text, done.stderr)

    def test_bad_options(self):
        self.refused(2, "validation.steps is 0", overrides=[*self.options, "--validation.steps=0"])
        self.refused(2, "validation.freq", overrides=[*self.options, "--validation.freq=0"])
        self.refused(2, "needs validation.dataset_path",
                     overrides=["--validation.enable=true", "--validation.dataset=text"])
        self.refused(4, "validation: ", "nowhere.txt", "validation.dataset_path",
                     overrides=[*self.options, "--validation.dataset_path=nowhere.txt"])
        self.refused(4, "validation.seq_len + 1 = 4097",
                     overrides=[*self.options, "--validation.seq_len=4096"])
        self.refused(2, "validation.seq_len is 200000", overrides=[*self.options, "--validation.seq_len=200000"])


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
