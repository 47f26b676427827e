#!/usr/bin/env python3
"""Each example plugin, dropped into a fresh folder, changes a run by what its formula says.

Usage: examples_test.py TITAN_PROGRAM EXAMPLES_FOLDER
"""
import math
import shutil
import sys
import unittest
from pathlib import Path

import titan_run

EXAMPLES = None


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plain = titan_run.train(self.folder)

    def dropped(self, *names):
        """A fresh folder that holds just these plugins."""
        fresh = self.folder.path / "plugins"
        fresh.mkdir()
        for name in names:
            shutil.copy(EXAMPLES / name / f"{name}.so", fresh)
        return [fresh]

    def assert_same_run(self, lines, tolerance):
        for plain, other in zip(self.plain, lines, strict=True):
            self.assertLessEqual(abs(plain["loss"] - other["loss"]), tolerance * plain["loss"], (plain, other))
            self.assertLessEqual(abs(plain["grad_norm"] - other["grad_norm"]), tolerance * plain["grad_norm"])

    def test_present_but_not_listed_changes_nothing(self):
        plugins = self.dropped("c_scale", "soft_cap", "weight_norm_cap")
        self.assert_same_run(titan_run.train(self.folder, plugins=plugins), 0)

    def test_c_scale(self):
        plugins = self.dropped("c_scale")
        # Factor 1 is the identity, forward and backward.
        self.assert_same_run(titan_run.train(self.folder, "--model.converters=c_scale", "--c_scale.factor=1",
                                             plugins=plugins), 1e-6)
        # Factor 0 on the head makes every logit 0: the loss is ln(vocab) and nothing can learn.
        lines = titan_run.train(self.folder, "--model.converters=c_scale", "--c_scale.factor=0",
                                "--c_scale.include=output", plugins=plugins)
        for line in lines:
            self.assertAlmostEqual(line["loss"], math.log(320), places=5)
            self.assertEqual(line["grad_norm"], 0)
        # Twice on the head undoes half of it: the two instances compose.
        both = ("--model.converters=[{use: c_scale, as: up, include: [output], factor: 2.0},"
                " {use: c_scale, as: down, include: [output], factor: 0.5}]")
        self.assert_same_run(titan_run.train(self.folder, both, plugins=plugins), 1e-6)

    def test_soft_cap(self):
        plugins = self.dropped("soft_cap")
        # tanh is the identity for |y| << cap.
        self.assert_same_run(titan_run.train(self.folder, "--model.converters=soft_cap", "--soft_cap.cap=1e5",
                                             plugins=plugins), 1e-4)
        # |logit| < cap, so the loss is within 2 cap of ln(vocab).
        lines = titan_run.train(self.folder, "--model.converters=soft_cap", "--soft_cap.cap=0.01", plugins=plugins)
        self.assertLessEqual(abs(lines[0]["loss"] - math.log(320)), 0.02)
        self.assertNotAlmostEqual(lines[0]["loss"], self.plain[0]["loss"], places=3)
        self.assertGreater(lines[0]["grad_norm"], 0)  # torch's autograd goes through it

    def test_weight_norm_cap(self):
        plugins = self.dropped("weight_norm_cap")
        # A bound that no row reaches.
        lines = titan_run.train(self.folder, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e6",
                                plugins=plugins)
        self.assert_same_run(lines, 0)
        self.assertEqual([line["weight_norm_cap/capped_rows"] for line in lines], [0, 0, 0])
        # Rows of the head of norm 1e-5 give logits of about 1e-4: the loss is ln(vocab), also in step 1,
        # because the hook runs once after initialisation; each AdamW step makes every row too long again.
        lines = titan_run.train(self.folder, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e-5",
                                "--weight_norm_cap.include=output", plugins=plugins)
        self.assertAlmostEqual(lines[0]["loss"], math.log(320), places=2)
        self.assertGreater(lines[0]["weight_norm_cap/capped_rows"], 0)

    def test_all_three_over_one_another(self):
        plugins = self.dropped("c_scale", "soft_cap", "weight_norm_cap")
        for names in ("c_scale,soft_cap,weight_norm_cap", "weight_norm_cap,soft_cap,c_scale"):
            lines = titan_run.train(self.folder, f"--model.converters={names}", "--c_scale.factor=1.0",
                                    "--soft_cap.cap=1e5", "--weight_norm_cap.max_norm=1e6", plugins=plugins)
            self.assert_same_run(lines, 1e-4)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
