#!/usr/bin/env python3
"""Plugin binaries that were built for API level 1 load into today's titan and compute what they always did.

Usage: level1_test.py TITAN_PROGRAM PLUGINS_FOLDER SDK_INCLUDE EXAMPLES_FOLDER BINARIES_FOLDER
"""
import json
import shutil
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = EXAMPLES = BINARIES = None


class Level1(unittest.TestCase):
    def test_same_runs_as_with_todays_build(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        # A checkout may have any mode; a plugin that others could change is refused.
        kept = folder.path / "level1"
        kept.mkdir(mode=0o755)
        runs = {"c_scale": ["--c_scale.factor=0.5"], "soft_cap": ["--soft_cap.cap=5.0"], "own_linear": [],
                "lora": ["--lora.targets=wq,w2", "--optimizer.lr=0.01"]}
        self.assertEqual({file.stem for file in BINARIES.glob("*.so")}, set(runs))
        plain = titan_run.train(folder)
        for name, options in runs.items():
            with self.subTest(plugin=name):
                binary = kept / f"{name}.so"
                shutil.copyfile(BINARIES / binary.name, binary)
                binary.chmod(0o644)
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
