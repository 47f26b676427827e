"""One run of titan: of the debug config unless another is named. It is what all benchmarks measure."""
import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path

from support import measured

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("TITAN_PROGRAM", str(ROOT / "build/release/bin/titan"))
CONFIG = "configs/llama3_debug.yaml"
WARM_UP = 3  # steps at the start that are not counted


@dataclasses.dataclass
class Run:
    """The lines of metrics.jsonl, one a step, and what the process used."""
    lines: list
    outcome: measured.Outcome

    def step_seconds(self, warm_up=WARM_UP):
        """Of every step after the first `warm_up`."""
        return [line["step_seconds"] for line in self.lines[warm_up:]]

    def start_s(self):
        """From the start of the process to the end of step 1."""
        return self.lines[0]["time"] - self.outcome.started


def run(steps, overrides, config=CONFIG, env=None):
    """Trains for `steps` steps, pinned as measured.pinned() says. A run that fails ends the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "train", config, f"--training.steps={steps}", "--metrics.log_freq=1",
                   f"--job.dump_folder={folder}", *overrides]
        outcome = measured.run(command, measured.pinned(env), ROOT)
        lines = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
    return Run(lines, outcome)


def metrics_of(steps, overrides):
    """The lines of metrics.jsonl, one a step."""
    return run(steps, overrides).lines


def needs_steps(steps):
    """Ends the benchmark where nothing is left after the warm-up."""
    if steps <= WARM_UP:
        sys.exit(f"--steps must be more than the {WARM_UP} of warming up, and is {steps}")
