#!/usr/bin/env python3
"""SIGINT and SIGTERM save the run and say how to go on; a second one ends it at once.

Usage: resume_after_signal_test.py TITAN_PROGRAM
"""
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run
from background_runs import BackgroundRuns, environment
from saved_steps import digest, numbers, schedule, steps_of

STEPS = 100


class AfterSignal(BackgroundRuns):
    def stop(self, *numbers_of_signals, options=(), after=5, delay=0):
        process = self.start(f"--training.steps={STEPS}", *options)
        self.wait_for_step(process, after)
        time.sleep(delay)
        for number in numbers_of_signals:
            process.send_signal(number)
            time.sleep(0.05)
        output, errors = process.communicate(timeout=60)
        return process.returncode, output, errors

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
        done = subprocess.run(["sh", "-c", command], env=environment(), capture_output=True, text=True,
                              timeout=100)
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
                              env=environment(), capture_output=True, text=True,
                              timeout=100)
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
        status, _, errors = self.stop(signal.SIGINT, signal.SIGINT, options=slow, after=1, delay=0.5)
        self.assertEqual(status, 130, errors)
        self.assertNotIn("stopped by", errors)
        self.assertEqual(steps_of(self.folder), [])

    def long_text(self):
        path = self.folder.path / "long.txt"
        path.write_text("".join(f"{i} and {i * i} and {i * i * i}\n" for i in range(20000)))
        return path


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
