#!/usr/bin/env python3
"""The folders that titan exports load in transformers as they are, and both compute the same logits.

Needs torch and transformers: the interpreter that TITAN_TRANSFORMERS_PYTHON names, else a virtual environment
that is made in the working folder from PyPI, once.

Usage: transformers_test.py TITAN_PROGRAM GOLDEN_TEST_PROGRAM GOLDEN_HF_FOLDER EXAMPLES_FOLDER VENV_FOLDER
"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

import titan_run
import transformers_venv
from saved_steps import folder_of

GOLDEN_TEST = GOLDEN = EXAMPLES = VENV = None
LOAD = """
import sys, torch
from transformers import AutoModelForCausalLM
folder, other, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
one, two = (AutoModelForCausalLM.from_pretrained(path, dtype="auto").eval() for path in (folder, other))
tokens = torch.arange(600).mul(37).remainder(one.config.vocab_size).view(1, -1)
with torch.no_grad():
    a, b = one(tokens).logits.float(), two(tokens).logits.float()
difference = ((a - b).abs().max() / b.abs().max()).item()
print(f"{folder}: {type(one).__name__} {next(one.parameters()).dtype} differs by {difference:.2e} from {other}")
sys.exit(difference > tolerance)
"""


class Transformers(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.path = self.folder.path

    def script(self, *arguments):
        done = subprocess.run([transformers_venv.interpreter(VENV), *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def titan(self, *arguments):
        done = titan_run.run(*arguments, plugins=[EXAMPLES / "lora"], timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_logits_over_thousands_of_positions(self):
        self.script(GOLDEN / "make.py", self.path / "long", "4096")
        environment = {**os.environ, "TITAN_HF_FOLDERS": str(self.path / "long")}
        done = subprocess.run([GOLDEN_TEST, "--gtest_filter=GoldenHf.*"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("4096 positions", done.stdout)

    def test_exported_folders_load_and_compute_the_same(self):
        for name in ("llama_scaled", "llama_tied", "qwen3", "qwen3_untied"):
            imported, out = self.path / f"in-{name}", self.path / f"out-{name}"
            self.titan("import", GOLDEN / name, "--output", imported)
            self.titan("export", imported, "--output", out, "--dtype=float32", "--max-shard-size=30KB")
            print(self.script("-c", LOAD, out, GOLDEN / name, "0"), end="")

    def test_a_run_and_its_merged_adapters(self):
        for family in (["--model.name=llama3"], ["--model.name=qwen3", "--model.args.head_dim=16"]):
            run, out = titan_run.Folder(), self.path / family[0][-6:]
            self.addCleanup(run.close)
            titan_run.train(run, *family, "--checkpoint.enable=true", "--optimizer.lr=0.05", "--model.converters=lora",
                            plugins=[EXAMPLES / "lora"])
            self.titan("export", folder_of(run, 3), "--output", out, "--merge-lora", "--dtype=float32")
            self.titan("export", folder_of(run, 3), "--output", f"{out}-16", "--merge-lora", "--dtype=bfloat16")
            print(self.script("-c", LOAD, out, out, "0"), end="")
            print(self.script("-c", LOAD, f"{out}-16", out, "0.05"), end="")


if __name__ == "__main__":
    titan_run.PROGRAM, GOLDEN_TEST, GOLDEN, EXAMPLES, VENV = map(Path, sys.argv[1:6])
    unittest.main(argv=sys.argv[:1])
