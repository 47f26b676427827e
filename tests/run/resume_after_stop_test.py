#!/usr/bin/env python3
"""Signals, kills and full disks: nothing that was saved is lost, and the run can go on exactly.

Usage: resume_after_stop_test.py TITAN_PROGRAM
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import titan_run
from saved_steps import digest, manifest, numbers, schedule, steps_of

STEPS = 300


class AfterStop(unittest.TestCase):
    def setUp(self):
        self.folder = self.new_folder()

    def new_folder(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        return folder

    def start(self, *options, limit=None):
        """A process in the background whose standard error can be read line by line."""
        def prepare():
            # A shell in the background may hand down signals that are ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        environment.pop("TITAN_PLUGIN_PATH", None)
        process = subprocess.Popen([str(titan_run.PROGRAM), "train", str(self.folder.config), *options],
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=prepare)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_step(self, process, step):
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        try:
            for line in process.stderr:
                if re.search(rf"step: +{step} ", line):
                    return
        finally:
            watchdog.cancel()
        self.fail(f"the run ended (status {process.wait()}) before it reported step {step}")

    def stop(self, *numbers_of_signals, options=(), after=5):
        process = self.start(f"--training.steps={STEPS}", *options)
        self.wait_for_step(process, after)
        for number in numbers_of_signals:
            process.send_signal(number)
            time.sleep(0.05)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output, errors

    def lines(self, folder=None):
        text = ((folder or self.folder).out / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def test_signals_save_and_say_how_to_go_on(self):
        whole = self.new_folder()
        expected = numbers(titan_run.train(whole, f"--training.steps={STEPS}", *schedule(STEPS)))
        options = schedule(STEPS)
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            after = 5 if number == signal.SIGINT else steps_of(self.folder)[-1] + 5
            returned, command, errors = self.stop(number, options=options, after=after)
            self.assertEqual(returned, status, errors)
            self.assertIn(f"stopped by {number.name} after step", errors)
            saved = steps_of(self.folder)[-1]
            self.assertIn(f"the command that goes on with step {saved + 1}:", errors)
            self.assertLess(saved, STEPS)
            self.assertEqual(numbers(self.lines()), expected[:saved])
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"resumed from {self.folder.out}/checkpoint/step-{saved}", done.stderr)
        self.assertEqual(numbers(self.lines()), expected)
        self.assertEqual(digest(self.folder, STEPS), digest(whole, STEPS))

    def test_the_command_undoes_what_would_not_resume(self):
        titan_run.train(self.folder, "--training.steps=2", *schedule(STEPS))
        status, command, errors = self.stop(
            signal.SIGINT, after=4,
            options=[*schedule(STEPS), "--checkpoint.load_step=2", "--checkpoint.exclude_from_loading=[optimizer]"])
        self.assertEqual(status, 130, errors)
        saved = steps_of(self.folder)[-1]
        self.assertIn(f"--checkpoint.load_step={saved} '--checkpoint.exclude_from_loading=[]'", command)
        done = subprocess.run(["sh", "-c", command.strip() + " --training.steps=" + str(saved + 1)],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("not loaded", done.stderr)

    def test_a_signal_without_checkpoints(self):
        status, output, errors = self.stop(signal.SIGTERM)
        self.assertEqual((status, output), (143, ""), errors)
        self.assertIn("checkpoint.enable", errors)
        self.assertFalse((self.folder.out / "checkpoint").exists())

    def test_a_second_signal_ends_at_once(self):
        # A step takes seconds, so the second signal arrives within it.
        slow = ["--model.args.dim=256", "--training.local_batch_size=8", "--training.seq_len=512",
                "--training.dataset_path=" + str(self.long_text()), *schedule(STEPS)]
        status, _, errors = self.stop(signal.SIGINT, signal.SIGINT, options=slow, after=1)
        self.assertEqual(status, 130, errors)
        self.assertNotIn("stopped by", errors)
        self.assertEqual(steps_of(self.folder), [])

    def long_text(self):
        path = self.folder.path / "long.txt"
        path.write_text("".join(f"{i} and {i * i} and {i * i * i}\n" for i in range(20000)))
        return path

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
        done = titan_run.run("train", self.folder.config, *options, "--optimizer.lr=1e30")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("not finite in step", done.stderr)
        bad = len(self.lines()) + 1
        self.assertEqual(steps_of(self.folder), list(range(1, bad)))

    def test_bad_steps_are_skipped_until_there_are_too_many(self):
        options = [*schedule(20), "--training.steps=20", "--optimizer.lr=1e30", "--training.on_nonfinite=skip",
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
