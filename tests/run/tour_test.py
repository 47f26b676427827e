#!/usr/bin/env python3
"""The tour of the README, line by line as it stands there; only the numbers of steps are smaller.

Usage: tour_test.py TITAN_PROGRAM SOURCE_FOLDER EXAMPLES_FOLDER FLOAT8_FOLDER
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import titan_run

SOURCE = EXAMPLES = FLOAT8 = None
STEPS = 4


def tour():
    """The commands of the section, in order, as lists of words."""
    section = re.search(r"^## A tour\n(.*?)^## ", (SOURCE / "README.md").read_text(), re.M | re.S)[1]
    return [shlex.split(line) for line in section.splitlines() if line.startswith("    titan ")]


class Tour(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = Path(temporary.name)
        (self.path / "configs").symlink_to(SOURCE / "configs")
        (self.path / "conversations.jsonl").write_text("".join(
            json.dumps({"prompt": f"Who are you, number {i}?", "response": f"I am the number {i}."}) + "\n" for i in range(40)))

    def titan(self, *words):
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive",
                       "TITAN_PLUGIN_PATH": f"{FLOAT8}:{EXAMPLES / 'lora'}"}
        done = subprocess.run([str(titan_run.PROGRAM), *map(str, words)], env=environment, cwd=self.path, capture_output=True,
                              text=True, timeout=200, check=False)
        return done

    def must(self, *words):
        done = self.titan(*words)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def make_model(self):
        """A folder like that of a small chat model: random, with a tokenizer."""
        tokenizer = SOURCE / "tests/golden/tokenizers/qwen.json"
        folder = self.path / "tokenizer"
        folder.mkdir()
        (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
        self.must("train", "configs/qwen3_debug.yaml", "--training.steps=1", "--training.seq_len=64", "--training.local_batch_size=1",
                  "--checkpoint.enable=true", "--job.dump_folder=first", f"--model.tokenizer_path={folder}")
        self.must("export", "first/checkpoint/step-1", "--output", "my-model", "--tokenizer-from", folder)

    def test_line_by_line(self):
        self.make_model()
        lines = tour()
        self.assertGreater(len(lines), 10)
        seen = {}
        for words in lines:
            self.assertEqual(words[0], "titan")
            words = [re.sub(r"(training\.steps=)\d+", rf"\g<1>{STEPS}", word) for word in words[1:]]
            if words[0] == "train":
                words += ["--training.local_batch_size=1", "--training.device=cpu"]
            if words[0] == "doctor":  # the machine of a test may have its problems
                self.assertIn(self.titan(*words).returncode, (0, 1))
                continue
            with self.subTest(command=" ".join(words)):
                seen[words[0]] = self.must(*words)
        self.assertEqual(set(seen), {"estimate", "train", "generate", "report", "plan", "import", "export"})
        self.assertTrue((self.path / "outputs/report.html").is_file())
        self.assertTrue((self.path / "outputs-fp8/report.html").is_file())
        self.assertTrue((self.path / "outputs/tb").is_dir())
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            self.assertTrue((self.path / "my-tuned-model" / name).is_file(), name)


if __name__ == "__main__":
    titan_run.PROGRAM, SOURCE, EXAMPLES, FLOAT8 = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
