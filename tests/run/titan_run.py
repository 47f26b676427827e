"""Runs the titan program on a model small enough for a test, and reads what it wrote."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

# Set by the test's main: the program, the folder of float8.so, folders of example plugins.
PROGRAM = None

SMALL = """\
model:
  name: llama3
  flavor: debugmodel
  args: {dim: 32, n_layers: 2, n_heads: 4, n_kv_heads: 2, vocab_size: 320, multiple_of: 16}
training:
  dataset: text
  dataset_path: %(text)s
  local_batch_size: 2
  seq_len: 32
  steps: 3
  device: cpu
  mixed_precision_param: float32
lr_scheduler: {warmup_steps: 1}
metrics: {log_freq: 1}
job: {dump_folder: %(out)s}
"""


class Folder:
    """A scratch folder with a text, a config and an output folder."""

    def __init__(self):
        self._temporary = tempfile.TemporaryDirectory()
        self.path = Path(self._temporary.name)
        self.text = self.path / "text.txt"
        self.text.write_text("".join(f"line {i}: the quick brown fox, {i * i}\n" for i in range(400)))
        self.out = self.path / "out"
        self.config = self.path / "small.yaml"
        self.config.write_text(SMALL % {"text": self.text, "out": self.out})

    def close(self):
        self._temporary.cleanup()


def run(*arguments, plugins=(), env=None, timeout=100):
    """Runs titan; `plugins` are the folders of TITAN_PLUGIN_PATH. Returns the finished process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive",
                   "TITAN_PLUGIN_PATH": ":".join(map(str, plugins)), **(env or {})}
    if not plugins:
        environment.pop("TITAN_PLUGIN_PATH")
    return subprocess.run([str(PROGRAM), *map(str, arguments)], env=environment, timeout=timeout,
                          capture_output=True, text=True, errors="replace")


def train(folder, *overrides, plugins=(), timeout=100):
    """A run that must succeed; returns the lines of metrics.jsonl."""
    done = run("train", folder.config, *overrides, plugins=plugins, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in (folder.out / "metrics.jsonl").read_text().splitlines()]
