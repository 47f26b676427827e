#!/usr/bin/env python3
"""Weights go from any run to any other, with and without converters.

Usage: interchange_test.py TITAN_PROGRAM EXAMPLES_FOLDER DRIFT_FOLDER
"""
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import flip_last_byte, folder_of, model

EXAMPLES = DRIFT = None


class Interchange(unittest.TestCase):
    """Weights saved with a converter start a run without it, and the other way round."""

    CONVERTERS = {
        "float8": ["--model.converters=float8", "--float8.emulate=true"],
        "c_scale": ["--model.converters=c_scale", "--c_scale.factor=2"],
        "soft_cap": ["--model.converters=soft_cap"],
        "weight_norm_cap": ["--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e6"],
        "fused_projections": ["--model.converters=fused_projections"],
        "lora": ["--model.converters=lora"],
        "drift": ["--model.converters=drift"],
    }

    def save(self, *options):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        titan_run.train(folder, *options, "--checkpoint.enable=true",
                        plugins=[DRIFT, *EXAMPLES.iterdir()])
        return folder

    def stock(self, folder, step):
        return {name: value for name, value in model(folder, step).items() if "/" not in name}

    def test_each_converter(self):
        still = ["--training.steps=1", "--optimizer.lr=0"]  # saves what it loads
        plain = self.save("--training.steps=2")
        for name, options in self.CONVERTERS.items():
            with self.subTest(name):
                converted = self.save("--training.steps=2", *options)
                self.assertEqual(self.stock(converted, 2).keys(), model(plain, 2).keys())
                without = self.save(*still, f"--checkpoint.initial_load_path={folder_of(converted, 2)}")
                self.assertEqual(model(without, 1), self.stock(converted, 2))
                with_it = self.save(*still, *options, f"--checkpoint.initial_load_path={folder_of(plain, 2)}")
                self.assertEqual(self.stock(with_it, 1), model(plain, 2))

    def test_a_damaged_step_is_no_start(self):
        folder = self.save("--training.steps=1")
        path = folder_of(folder, 1) / "model.safetensors"
        flip_last_byte(path)
        for given in (path, path.parent):
            done = titan_run.run("train", folder.config, f"--checkpoint.initial_load_path={given}")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("the file is damaged", done.stderr)

    def test_state_that_is_left_behind_is_named(self):
        folder = self.save("--training.steps=1", *self.CONVERTERS["drift"])
        done = titan_run.run("train", folder.config, f"--checkpoint.initial_load_path={folder_of(folder, 1)}",
                             "--training.steps=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'drift/layers.0.attention.wq.hooks', which no applied converter uses", done.stderr)
        self.assertIn(f"'drift' (plugin drift 1.2.3, {DRIFT}/drift.so", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, DRIFT = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
