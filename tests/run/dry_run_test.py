#!/usr/bin/env python3
"""titan train --dry-run: all that a run checks before its first step, and no trace of it.

Usage: dry_run_test.py TITAN_PROGRAM EXAMPLES_FOLDER
"""
import os
import sys
import unittest
from pathlib import Path

import titan_run

EXAMPLES = None


class DryRun(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def dry(self, *arguments, status=0):
        done = titan_run.run("train", self.folder.config, "--dry-run", *arguments, plugins=[EXAMPLES / "lora"])
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_says_what_the_run_would_be(self):
        text = self.dry("--model.converters=lora", "--training.global_batch_size=6", "--checkpoint.enable=true",
                        "--checkpoint.interval=7")
        self.assertRegex(text, r"(?m)^model +llama3 debugmodel: [\d,]+ parameters, [\d,]+ trained$")
        self.assertRegex(text, r"(?m)^converter +lora: wrap 4, add parameter 8, freeze 21")
        self.assertRegex(text, r"(?m)^memory +peak \d+\.\d MiB: fits on ")
        self.assertIn("3 of 192 tokens (3 micro-batches of 2 sequences)", text)
        self.assertIn(f"text in {self.folder.text}", text)
        self.assertIn("fresh weights, seed 0", text)
        self.assertIn(f"{self.folder.out}/checkpoint, every 7 steps and at the end", text)
        self.assertIn("nothing was trained", text)

    def test_leaves_no_trace(self):
        self.dry("--checkpoint.enable=true")
        self.assertFalse(self.folder.out.exists())

    def test_finds_what_a_run_would_go_on_from(self):
        titan_run.train(self.folder, "--checkpoint.enable=true")
        before = sorted(self.folder.out.rglob("*"))
        text = self.dry("--checkpoint.enable=true", "--training.steps=6")
        self.assertIn(f"resumes from {self.folder.out}/checkpoint/step-3", text)
        self.assertEqual(sorted(self.folder.out.rglob("*")), before)
        weights = f"{self.folder.out}/checkpoint/step-3"
        self.assertIn(f"weights from {weights} (21 tensors)", self.dry(f"--checkpoint.initial_load_path={weights}"))

    def test_errors_are_those_of_a_run(self):
        cases = {
            ("--training.dataset_path=/nowhere",): (4, "/nowhere"),
            ("--model.converters=nobody",): (2, "nobody"),
            ("--model.converters=lora", "--lora.targets=wx"): (2, "wx"),
            ("--checkpoint.initial_load_path=/nowhere",): (4, "/nowhere"),
            ("--parallelism.data_parallel_shard_degree=2",): (2, "trains on one"),
            ("--checkpoint.enable=true", "--checkpoint.load_step=7"): (4, "7"),
            (f"--job.dump_folder={self.folder.text}",): (3, "no folder"),
            ("--metrics.enable_tensorboard", f"--metrics.save_tb_folder={self.folder.text}"): (3, "metrics.save_tb_folder"),
            ("--profiling.enable_profiling",): (2, "no step would be traced"),
            ("--profiling.enable_profiling", "--profiling.profile_freq=1", "--profiling.profiler_warmup=0", f"--profiling.save_traces_folder={self.folder.text}"):
                (3, "profiling.save_traces_folder"),
            ("--model.flavor=405B", "--model.args.n_heads=128", "--model.args.dim=16384", "--model.args.n_layers=126"): (3, "the device has"),
        }
        for arguments, (status, text) in cases.items():
            with self.subTest(arguments=arguments):
                error = self.dry(*arguments, status=status)
                self.assertIn(text, error)

    def test_a_start_that_would_fail(self):
        titan_run.train(self.folder, "--checkpoint.enable=true")
        step = self.folder.out / "checkpoint/step-3"
        other = self.folder.path / "other.txt"
        other.write_text("other words\n" * 300)
        resumed = ["--checkpoint.enable=true", "--training.steps=6"]
        for words, status, text in (([*resumed, "--model.args.n_layers=3"], 4, "missing in the file"),
                                    ([*resumed, "--model.args.vocab_size=400"], 4, "of another shape"),
                                    ([*resumed, f"--training.dataset_path={other}"], 4, "data"),
                                    ([f"--checkpoint.initial_load_path={step}", "--model.args.dim=64"], 4, "of another shape")):
            with self.subTest(words=words):
                self.assertIn(text, self.dry(*words, status=status))
                self.assertEqual(titan_run.run("train", self.folder.config, *words).returncode, status)
        model = step / "model.safetensors"
        data = bytearray(model.read_bytes())
        data[-1] ^= 1
        model.write_bytes(data)
        self.assertIn("model.safetensors", self.dry(*resumed, status=4))

    def test_a_folder_that_cannot_be_written(self):
        closed = self.folder.path / "closed"
        closed.mkdir(mode=0o500)
        if os.access(closed, os.W_OK):  # the superuser may write everywhere but where nothing can be made
            closed = Path("/proc/sys")
        self.assertIn("job.dump_folder", self.dry(f"--job.dump_folder={closed}/out", status=3))


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES = map(Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
