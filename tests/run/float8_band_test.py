#!/usr/bin/env python3
"""Two hundred steps in every float8 recipe end within a band of the same run in bfloat16.

The band is 1 % of the mean loss over the last twenty steps. Usage: float8_band_test.py TITAN_PROGRAM CONFIG TEXT_FOLDER
"""
import statistics
import sys
import unittest
from pathlib import Path

import titan_run

CONFIG = TEXTS = None
STEPS = 200
BAND = 0.01
RECIPES = ("tensorwise", "delayed", "rowwise", "rowwise_with_gw_hp", "blockwise", "mxfp8")


class Band(unittest.TestCase):
    def end_of(self, *words):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        folder.config = CONFIG
        folder.text.write_text("\n".join(path.read_text() for path in sorted(TEXTS.rglob("*.md"))))
        lines = titan_run.train(folder, f"--job.dump_folder={folder.out}", f"--training.steps={STEPS}", "--metrics.log_freq=1",
                                "--training.local_batch_size=1", "--training.seq_len=64", "--training.device=cpu",
                                "--training.dataset=text", f"--training.dataset_path={folder.text}",
                                "--training.mixed_precision_param=bfloat16", *words, timeout=900)
        return statistics.mean(line["loss"] for line in lines[-STEPS // 10:])

    def test_every_recipe(self):
        plain = self.end_of()
        self.assertLess(plain, 3.5)  # it has learned something: chance is ln 256 = 5.5
        for recipe in RECIPES:
            with self.subTest(recipe):
                loss = self.end_of("--model.converters=float8", "--float8.emulate=true", "--float8.exclude=output",
                                   f"--float8.recipe={recipe}")
                print(f"{recipe}: {loss:.4f}, bfloat16: {plain:.4f}, {100 * (loss / plain - 1):+.2f} %", flush=True)
                self.assertLess(abs(loss / plain - 1), BAND)


if __name__ == "__main__":
    titan_run.PROGRAM, CONFIG, TEXTS = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
