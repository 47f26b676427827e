"""One run of the debug config: what all benchmarks measure."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("TITAN_PROGRAM", str(ROOT / "build/release/bin/titan"))


def metrics_of(steps, overrides):
    """The lines of metrics.jsonl, one a step. A run that fails ends the benchmark with its output."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "train", "configs/llama3_debug.yaml", f"--training.steps={steps}", "--metrics.log_freq=1",
                   f"--job.dump_folder={folder}", *overrides]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
        return [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
