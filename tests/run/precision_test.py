#!/usr/bin/env python3
"""Number types of a run: what they change, what the log says, what is refused, and converters.

Usage: precision_test.py TITAN_PROGRAM PLUGIN_FOLDERS...
"""
import json
import math
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = []
MIXED = ["--training.mixed_precision_param=bfloat16"]
PURE = ["--training.dtype=bfloat16", "--training.mixed_precision_param=bfloat16"]
TYPES = {"mixed": MIXED, "pure": PURE}


class Precision(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, *overrides):
        return titan_run.train(self.folder, *overrides, plugins=PLUGINS)

    def assert_near(self, lines, expected, tolerance):
        for line, want in zip(lines, expected, strict=True):
            for key in ("loss", "grad_norm"):
                self.assertLessEqual(abs(line[key] - want[key]), tolerance * want[key], (key, line, want))

    def test_types_change_the_numbers_a_little(self):
        plain = self.train()
        for name, types in TYPES.items():
            with self.subTest(name):
                lines = self.train(*types)
                self.assert_near(lines, plain, 0.02)
                self.assertNotEqual(lines[0]["loss"], plain[0]["loss"])
        self.assertNotEqual(self.train(*MIXED)[0]["loss"], self.train(*PURE)[0]["loss"])

    def test_runs_repeat_bit_for_bit(self):
        for types in TYPES.values():
            one, two = self.train(*types), self.train(*types)
            self.assertEqual([line["loss"] for line in one], [line["loss"] for line in two])

    def test_accumulation(self):
        for name, types in TYPES.items():
            with self.subTest(name):
                halves = self.train(*types, "--training.local_batch_size=1", "--training.global_batch_size=2")
                self.assert_near(halves, self.train(*types), 0.01)

    def test_identities_stay_identities(self):
        """Factors of 1 and of powers of two are exact in every type."""
        for name, types in TYPES.items():
            with self.subTest(name):
                stock = self.train(*types)
                scaled = self.train(*types, "--model.converters=[{use: c_scale, as: up, factor: 2.0},"
                                            " {use: c_scale, as: down, factor: 0.5}]")
                self.assert_near(scaled, stock, 0)
                uncapped = self.train(*types, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e6")
                self.assert_near(uncapped, stock, 0)

    def test_converters_written_in_torch(self):
        for name, types in TYPES.items():
            with self.subTest(name):
                stock = self.train(*types)
                self.assert_near(self.train(*types, "--model.converters=monitor"), stock, 0)
                self.assert_near(self.train(*types, "--model.converters=fused_projections"), stock, 0.01)
                # B starts at zero: the first step computes what the base computes.
                lora = self.train(*types, "--model.converters=lora")
                self.assertEqual(lora[0]["loss"], stock[0]["loss"])
                self.assertGreater(lora[1]["grad_norm"], 0)
                sparse = self.train(*types, "--model.converters=sparse24", "--sparse24.include=output")
                self.assertGreater(sparse[0]["grad_norm"], 0)

    def test_formulas_hold(self):
        for name, types in TYPES.items():
            with self.subTest(name):
                zero = self.train(*types, "--model.converters=c_scale", "--c_scale.factor=0", "--c_scale.include=output")
                for line in zero:
                    self.assertAlmostEqual(line["loss"], math.log(320), places=5)
                    self.assertEqual(line["grad_norm"], 0)
                capped = self.train(*types, "--model.converters=soft_cap", "--soft_cap.cap=0.01")
                self.assertLessEqual(abs(capped[0]["loss"] - math.log(320)), 0.02)
                self.assertGreater(capped[0]["grad_norm"], 0)
                short = self.train(*types, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e-5",
                                   "--weight_norm_cap.include=output")
                self.assertAlmostEqual(short[0]["loss"], math.log(320), places=2)

    def test_float8_is_near_the_run_without_it(self):
        for name, types in TYPES.items():
            with self.subTest(name):
                stock = self.train(*types)
                lines = self.train(*types, "--model.converters=float8", "--float8.emulate=true",
                                   "--float8.exclude=output")
                self.assert_near(lines, stock, 0.05)
                self.assertNotEqual(lines[0]["loss"], stock[0]["loss"])

    def test_the_log_names_the_types(self):
        done = titan_run.run("train", self.folder.config, "--training.steps=1", *MIXED)
        self.assertIn("precision: parameters in float32, linear layers and attention in bfloat16", done.stderr)
        done = titan_run.run("train", self.folder.config, "--training.steps=1", *PURE)
        self.assertIn("precision: parameters and computation in bfloat16", done.stderr)

    def test_a_cpu_has_no_mfu(self):
        done = titan_run.run("train", self.folder.config, "--training.steps=1")
        self.assertIn("mfu is not reported (N/A): the bfloat16 peak of device '", done.stderr)
        self.assertIn("mfu: N/A", done.stderr)
        [line] = [json.loads(line) for line in (self.folder.out / "metrics.jsonl").read_text().splitlines()]
        self.assertNotIn("mfu", line)
        self.assertGreater(line["tflops"], 0)

    def test_the_default_is_mixed(self):
        show = titan_run.run("config", "show", self.folder.config, "--training.steps=1").stdout
        self.assertIn("mixed_precision_param: float32", show)
        text = self.folder.config.read_text().replace("  mixed_precision_param: float32\n", "")
        self.folder.config.write_text(text)
        self.assertIn("mixed_precision_param: bfloat16", titan_run.run("config", "show", self.folder.config).stdout)

    def test_bad_types_are_refused_with_their_place(self):
        done = titan_run.run("config", "check", self.folder.config, "--training.dtype=bfloat16")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mixed_precision_param (float32) is wider than training.dtype (bfloat16)", done.stderr)
        self.assertIn(f"{self.folder.config}:12:", done.stderr)
        done = titan_run.run("train", self.folder.config, "--training.dtype=float16")
        self.assertEqual(done.returncode, 2)
        self.assertIn("float32", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
