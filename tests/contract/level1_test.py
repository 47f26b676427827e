#!/usr/bin/env python3
"""Plugin binaries that were built for an API level once and for all load into today's titan and compute what they always did.

Usage: level1_test.py TITAN_PROGRAM PLUGINS_FOLDER SDK_INCLUDE EXAMPLES_FOLDER BINARIES_FOLDER
"""
import json
import shutil
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = EXAMPLES = BINARIES = None


class Binaries(unittest.TestCase):
    def kept(self, folder, binary):
        """A copy that nobody else can change: a checkout may have any mode, and such plugins are refused."""
        kept = folder.path / "kept"
        kept.mkdir(mode=0o755, exist_ok=True)
        copy = kept / binary.name
        shutil.copyfile(binary, copy)
        copy.chmod(0o644)
        return copy

    def test_level_2(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        binary = self.kept(folder, BINARIES.parent / "level2" / "summed_linear.so")
        judged = json.loads(titan_run.run("plugins", "inspect", binary, "--json").stdout)
        self.assertEqual((judged["outcome"], judged["api_min"], judged["api_built"]), ("loadable", 1, 2))
        speed = ("--model.converters=summed_linear", "--summed_linear.speedup=1.5")
        for types in ("float32", "bfloat16"):
            old, new = (titan_run.train(folder, *speed, "--training.global_batch_size=6",
                                        f"--training.mixed_precision_param={types}", plugins=[place])
                        for place in (binary, PLUGINS / "contract_summed_linear.so"))
            for one, two in zip(old, new, strict=True):
                for key in ("loss", "grad_norm", "summed_linear/output.in_place"):
                    self.assertLessEqual(abs(one[key] - two[key]), 2e-6 * two[key], (one, two))
        self.assertIn("replace (1.50x)", titan_run.run("plan", folder.config, *speed, plugins=[binary]).stdout)

    def test_level_1(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        runs = {"c_scale": ["--c_scale.factor=0.5"], "soft_cap": ["--soft_cap.cap=5.0"], "own_linear": [],
                "lora": ["--lora.targets=wq,w2", "--optimizer.lr=0.01"]}
        self.assertEqual({file.stem for file in BINARIES.glob("*.so")}, set(runs))
        plain = titan_run.train(folder)
        for name, options in runs.items():
            with self.subTest(plugin=name):
                binary = self.kept(folder, BINARIES / f"{name}.so")
                judged = json.loads(titan_run.run("plugins", "inspect", binary, "--json").stdout)
                self.assertEqual((judged["outcome"], judged["api_min"], judged["api_built"]), ("loadable", 1, 1))
                today = PLUGINS / "contract_own_linear.so" if name == "own_linear" else EXAMPLES / name
                old, new = (titan_run.train(folder, f"--model.converters={name}", *options, plugins=[place])
                            for place in (binary, today))
                for one, two in zip(old, new, strict=True):
                    for key in ("loss", "grad_norm"):
                        self.assertLessEqual(abs(one[key] - two[key]), 2e-6 * two[key], (one, two))
                self.assertNotEqual([line["loss"] for line in old], [line["loss"] for line in plain])


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS, EXAMPLES, BINARIES = (Path(sys.argv[i]) for i in (1, 2, 4, 5))
    unittest.main(argv=sys.argv[:1])
