#!/usr/bin/env python3
"""TensorBoard itself reads what a run leaves: the numbers of metrics.jsonl under torchtitan's tags, once
for each step also where a run was killed and resumed, and text samples. Downloads TensorBoard's wheel.

Usage: tensorboard_test.py TITAN_PROGRAM WRITE_SAMPLE_PROGRAM SOURCE_FOLDER
"""
import json
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run

WRITE_SAMPLE = SOURCE = None
WHEEL = "tensorboard==2.21.0"
TAGS = {"loss": "loss_metrics/global_avg_loss", "grad_norm": "grad_norm", "lr": "lr", "tps": "throughput(tps)",
        "tflops": "tflops", "n_tokens_seen": "n_tokens_seen", "step_seconds": "time_metrics/end_to_end(s)",
        "data_seconds": "time_metrics/data_loading(s)", "validation_metrics/loss": "validation_metrics/loss",
        "validation_metrics/tps": "validation_metrics/throughput(tps)"}


def python_with_tensorboard():
    venv = SOURCE / ".titan/tensorboard-venv"
    if not (venv / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([venv / "bin/pip", "--disable-pip-version-check", "install", "-q", WHEEL], check=True)
        (venv / "complete").touch()
    return venv / "bin/python"


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class TensorBoard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = python_with_tensorboard()

    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.options = ["--metrics.enable_tensorboard=true", "--checkpoint.enable=true", "--checkpoint.interval=5",
                        "--lr_scheduler.total_steps=100000", "--validation.enable=true", "--validation.dataset=text",
                        f"--validation.dataset_path={self.folder.text}", "--validation.seq_len=32",
                        "--validation.steps=2", "--validation.freq=4"]

    def read(self, folder):
        done = subprocess.run([self.python, "-W", "error::RuntimeWarning", Path(__file__).with_name("read_events.py"), folder],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def only_run(self):
        [run] = (self.folder.out / "tb").iterdir()
        return run

    def assert_same_numbers(self, content):
        lines = [json.loads(line) for line in (self.folder.out / "metrics.jsonl").read_text().splitlines()]
        for key, tag in TAGS.items():
            expected = [[line["step"], float32(line[key])] for line in lines if key in line]
            self.assertGreater(len(expected), 1, key)
            self.assertEqual([step for step, _ in content["scalars"][tag]], [step for step, _ in expected], tag)
            for (_, found), (_, value) in zip(content["scalars"][tag], expected):
                self.assertAlmostEqual(found, value, delta=1e-6 * abs(value), msg=tag)

    def test_a_run_and_its_continuation(self):
        titan_run.train(self.folder, *self.options, "--training.steps=6")
        titan_run.train(self.folder, *self.options, "--training.steps=9")
        self.assertEqual(len(list(self.only_run().iterdir())), 2)
        content = self.read(self.only_run())
        self.assertEqual(content["version"], 2.0)
        self.assert_same_numbers(content)

    def test_what_a_killed_run_did_too_much_is_dropped(self):
        process = subprocess.Popen([titan_run.PROGRAM, "train", self.folder.config, *self.options,
                                    "--training.steps=100000"], stderr=subprocess.DEVNULL)
        metrics, deadline = self.folder.out / "metrics.jsonl", time.monotonic() + 60
        while not metrics.exists() or len(metrics.read_text().splitlines()) < 25:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        # Nothing that was reported is lost.
        killed = self.read(self.only_run())
        self.assert_same_numbers(killed)
        last = killed["scalars"]["lr"][-1][0]
        titan_run.train(self.folder, *self.options, f"--training.steps={last + 2}")
        resumed = self.read(self.only_run())
        self.assert_same_numbers(resumed)
        self.assertEqual([step for step, _ in resumed["scalars"]["lr"]], list(range(1, last + 3)))

    def test_samples_are_text(self):
        folder = subprocess.run([WRITE_SAMPLE, self.folder.out], capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(self.read(folder)["texts"],
                         {"sample/first": [[7, "prompt:\n\n    It is\n\ntext:\n\n    a truth\ufffd\n    universally\n"]]})


if __name__ == "__main__":
    titan_run.PROGRAM, WRITE_SAMPLE, SOURCE = (Path(argument) for argument in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
