#!/usr/bin/env python3
"""Which steps are saved, kept, found and resumed from, and with which parts.

Usage: resume_steps_test.py TITAN_PROGRAM
"""
import fcntl
import json
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import digest, folder_of, model, numbers, schedule, steps_of


class Steps(unittest.TestCase):
    """Which step is saved, kept, found."""

    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, steps, *options):
        return titan_run.train(self.folder, f"--training.steps={steps}", *schedule(), *options)

    def output(self, *options):
        done = titan_run.run("train", self.folder.config, *schedule(), *options)
        return done.returncode, done.stdout + done.stderr

    def test_interval_and_first_step(self):
        self.train(5, "--checkpoint.interval=2", "--checkpoint.enable_first_step_checkpoint=true",
                   "--checkpoint.folder=saved/here")
        self.folder.out.joinpath("saved/here").rename(self.folder.out / "checkpoint")
        self.assertEqual(steps_of(self.folder), [1, 2, 4, 5])

    def test_older_ones_are_deleted(self):
        self.train(5, "--checkpoint.interval=1", "--checkpoint.keep_latest_k=2")
        self.assertEqual(steps_of(self.folder), [4, 5])
        self.train(7, "--checkpoint.interval=1", "--checkpoint.keep_latest_k=0")
        self.assertEqual(steps_of(self.folder), [4, 5, 6, 7])

    def test_load_step(self):
        lines = self.train(4, "--checkpoint.interval=2")
        again = self.train(4, "--checkpoint.interval=2", "--checkpoint.load_step=2")
        self.assertEqual(numbers(again), numbers(lines))
        status, text = self.output("--checkpoint.load_step=3")
        self.assertEqual(status, 4)
        for part in ("no checkpoint of step 3", "step-2, step-4", "fix: "):
            self.assertIn(part, text)

    def test_a_finished_run_has_nothing_to_do(self):
        lines = self.train(2)
        before = digest(self.folder, 2)
        self.assertEqual(self.train(2), lines)
        self.assertEqual(digest(self.folder, 2), before)

    def test_a_damaged_latest_one_is_passed_over(self):
        lines = self.train(4, "--checkpoint.interval=2")
        path = folder_of(self.folder, 4) / "optimizer.safetensors"
        path.write_bytes(path.read_bytes()[:-100])
        status, text = self.output("--training.steps=4", "--checkpoint.interval=2")
        self.assertEqual(status, 0, text)
        self.assertIn("passed over", text)
        self.assertIn("step-4", text)
        self.assertIn("resumed from", text)
        again = (self.folder.out / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(numbers(map(json.loads, again)), numbers(lines))
        self.assertEqual(steps_of(self.folder), [2, 4])

    def test_half_a_checkpoint_is_removed(self):
        self.train(2)
        half = self.folder.out / "checkpoint" / ".titan-step-3.saving-77"
        half.mkdir()
        (half / "model.safetensors").write_bytes(b"half")
        self.train(3)
        self.assertEqual(steps_of(self.folder), [2, 3])

    def test_parts_that_start_anew(self):
        lines = self.train(4, "--checkpoint.interval=3")

        def fourth(part):
            """The first step after resuming from step 3 without a part."""
            return self.train(4, "--checkpoint.interval=3", "--checkpoint.load_step=3",
                              f"--checkpoint.exclude_from_loading=[{part}]")[-1]

        exact = fourth("")
        self.assertEqual(numbers([exact]), numbers(lines[3:]))
        self.assertEqual(fourth("lr_scheduler")["lr"], lines[0]["lr"])
        for part in ("model", "dataloader"):
            self.assertNotEqual(fourth(part)["loss"], exact["loss"], part)
        anew = fourth("optimizer")
        self.assertEqual(anew["loss"], exact["loss"])  # of before the step
        self.assertNotEqual(model(self.folder, 4), {})
        # Without its state the run counts from 1: 4 steps, not 1.
        counted = self.train(4, "--checkpoint.interval=3", "--checkpoint.load_step=3",
                             "--checkpoint.exclude_from_loading=[train_state]")
        self.assertEqual([line["step"] for line in counted], [1, 2, 3, 4])
        self.assertEqual(counted[0]["loss"], exact["loss"])

    def test_a_run_in_the_same_folder_is_refused(self):
        self.train(1)
        with open(self.folder.out / "checkpoint" / ".lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            status, text = self.output("--training.steps=2")
        self.assertEqual(status, 3)
        self.assertIn("another process", text)

    def test_seeds(self):
        def final(seed):
            folder = titan_run.Folder()
            self.addCleanup(folder.close)
            titan_run.train(folder, "--training.steps=2", f"--training.seed={seed}", *schedule(2))
            return model(folder, 2)

        self.assertEqual(final(3), final(3))
        self.assertNotEqual(final(3), final(4))


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
