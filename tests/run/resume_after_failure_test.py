#!/usr/bin/env python3
"""Kills, full disks and losses that are not finite: nothing that was saved is lost.

Usage: resume_after_failure_test.py TITAN_PROGRAM
"""
import os
import sys
import time
import unittest
from pathlib import Path

import titan_run
from background_runs import BackgroundRuns
from saved_steps import digest, manifest, numbers, schedule, steps_of


class AfterFailure(BackgroundRuns):
    def test_kills_at_any_moment(self):
        whole = self.new_folder()
        steps = 60
        options = [*schedule(steps), f"--training.steps={steps}", "--checkpoint.interval=1",
                   "--checkpoint.async_mode=async", "--checkpoint.keep_latest_k=3"]
        expected = numbers(titan_run.train(whole, *options))
        for kill in range(1, 5):
            process = self.start(*options)
            self.wait_for_step(process, 12 * kill)
            time.sleep(0.003 * kill)  # anywhere in a step or a save
            process.kill()
            process.wait()
        titan_run.train(self.folder, *options)
        self.assertEqual(numbers(self.lines()), expected)
        self.assertEqual(digest(self.folder, steps), digest(whole, steps))
        self.assertEqual(steps_of(self.folder), [58, 59, 60])  # and no half ones

    def test_a_full_disk_costs_no_earlier_step(self):
        # A limit on the size of files stands for it.
        for mode in ("disabled", "async"):
            with self.subTest(mode):
                self.folder = self.new_folder()
                options = [*schedule(9), f"--checkpoint.async_mode={mode}", "--checkpoint.interval=3",
                           "--checkpoint.keep_latest_k=2"]
                expected = numbers(titan_run.train(self.folder, "--training.steps=6", *options))
                before = [digest(self.folder, step) for step in (3, 6)]
                process = self.start("--training.steps=9", *options, limit=100_000)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 3, errors)
                for part in ("step-9", "cannot be written", "fix: free space"):
                    self.assertIn(part, errors)
                self.assertNotIn("Training completed", errors)
                self.assertEqual(steps_of(self.folder), [3, 6])  # and nothing half written
                self.assertEqual([digest(self.folder, step) for step in (3, 6)], before)
                lines = numbers(titan_run.train(self.folder, "--training.steps=9", *options))
                self.assertEqual(lines[:6], expected)
                self.assertEqual(steps_of(self.folder), [6, 9])

    def test_a_folder_that_cannot_be_written(self):
        titan_run.train(self.folder, "--training.steps=1", *schedule())
        before = digest(self.folder, 1)
        saved = self.folder.out / "checkpoint"
        if os.geteuid() == 0:  # root may write anywhere but here
            saved.rename(self.folder.out / "kept")
            saved.symlink_to("/proc")
        else:
            saved.chmod(0o555)
        done = titan_run.run("train", self.folder.config, "--training.steps=2", *schedule())
        self.assertEqual(done.returncode, 3, done.stderr)
        for part in (str(saved), "cannot be written", "fix: "):
            self.assertIn(part, done.stderr)
        if os.geteuid() == 0:
            saved.unlink()
            (self.folder.out / "kept").rename(saved)
        else:
            saved.chmod(0o755)
        self.assertEqual(digest(self.folder, 1), before)
        self.assertEqual(len(self.lines()), 1)  # nor was it begun anew

    def test_divergence_saves_nothing(self):
        options = [*schedule(20), "--training.steps=20", "--checkpoint.interval=1"]
        done = titan_run.run("train", self.folder.config, *options, "--optimizer.lr=1e6")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("not finite in step", done.stderr)
        bad = len(self.lines()) + 1
        self.assertEqual(steps_of(self.folder), list(range(1, bad)))

    def test_bad_steps_are_skipped_until_there_are_too_many(self):
        options = [*schedule(20), "--training.steps=20", "--optimizer.lr=1e6", "--training.on_nonfinite=skip",
                   "--training.max_skipped_steps=3", "--checkpoint.interval=1"]
        done = titan_run.run("train", self.folder.config, *options)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("after 3 skipped steps in a row", done.stderr)
        self.assertEqual(done.stderr.count("the step is skipped"), 3)
        self.assertEqual(self.lines()[-1]["skipped_steps"], 3)
        last = steps_of(self.folder)[-1]
        self.assertEqual(manifest(self.folder, last)["skipped_in_a_row"], 3)
        # A skipped step leaves the weights alone.
        files = [manifest(self.folder, step)["files"] for step in (last - 3, last)]
        self.assertEqual(files[0], files[1])


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
