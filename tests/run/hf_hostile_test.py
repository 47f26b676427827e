#!/usr/bin/env python3
"""titan import, export and generate with Hugging Face folders and places that are not what they should be.

Usage: hf_hostile_test.py TITAN_PROGRAM GOLDEN_HF_FOLDER
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import titan_run

GOLDEN = None


class Hostile(unittest.TestCase):
    """Folders and places that are not what they should be; nothing half-made is left."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = Path(temporary.name)
        self.model = self.path / "model"
        shutil.copytree(GOLDEN / "qwen3", self.model)

    def fails(self, *words, status, part):
        start = time.monotonic()
        done = titan_run.run(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(part, done.stderr)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual([entry.name for entry in self.path.iterdir() if ".writing-" in entry.name or entry.name == "out"], [])

    def change(self, **values):
        config = json.loads((GOLDEN / "qwen3/config.json").read_text())
        (self.model / "config.json").write_text(json.dumps({**config, **values}))

    def test_absurd_sizes(self):
        for values, part in (({"num_hidden_layers": 2147483647}, "n_layers"), ({"num_hidden_layers": 99999}, "num_hidden_layers"),
                             ({"rms_norm_eps": 1e30}, "norm_eps")):
            with self.subTest(values=values):
                self.change(**values)
                self.fails("import", self.model, "--output", self.path / "out", status=4, part=part)
                self.fails("generate", self.model, "--model.tokenizer_format=bytes", status=4, part=part)

    def test_assets_that_are_none(self):
        secret = self.path / "secret"
        secret.write_text("root:x:0:0\n")
        (self.model / "tokenizer.json").symlink_to(secret)
        self.fails("import", self.model, "--output", self.path / "out", status=4, part="no JSON")
        (self.model / "tokenizer.json").unlink()
        (self.model / "tokenizer.json").symlink_to(self.path / "nowhere")
        done = titan_run.run("import", self.model, "--output", self.path / "imported")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out", done.stderr)
        self.fails("export", self.path / "imported", "--output", self.path / "out", "--tokenizer-from", self.model, status=4,
                   part="no tokenizer")
        self.fails("export", self.path / "nowhere", "--output", self.path / "out", status=4, part="is not there")

    def test_places_that_cannot_be_written(self):
        self.fails("import", self.model, "--output", self.path / "out", "--config", "/proc/none/c.yaml", status=3, part="c.yaml")
        command = f"ulimit -f 40; exec '{titan_run.PROGRAM}' import '{self.model}' --output '{self.path / 'out'}'"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual([entry.name for entry in self.path.iterdir() if ".writing-" in entry.name], [])

    def test_what_a_killed_process_left_is_removed(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = self.path / f".out.writing-{gone.pid}"
        kept = self.path / f".out.writing-{os.getpid()}"
        left.mkdir()
        kept.mkdir()
        done = titan_run.run("import", self.model, "--output", self.path / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(left.exists())
        self.assertTrue(kept.exists(), "it is of a process that lives")


if __name__ == "__main__":
    titan_run.PROGRAM, GOLDEN = (Path(path).resolve() for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
