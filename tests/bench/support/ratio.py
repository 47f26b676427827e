"""Two runs of titan side by side: tokens per second in turns, and what counts, the ratio of each round.

The rounds alternate, so that a busy or throttled machine slows both alike.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("TITAN_PROGRAM", str(ROOT / "build/release/bin/titan"))
WARM_UP = 3  # steps at the start that are not counted


def tokens_per_second(steps, overrides):
    """The median over the steps of one short run of the debug config."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "train", "configs/llama3_debug.yaml", f"--training.steps={steps}",
                   "--metrics.log_freq=1", f"--job.dump_folder={folder}", *overrides]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                              env={**os.environ, "NO_COLOR": "1"})
    speeds = [float(found.replace(",", "")) for found in
              re.findall(r"step:\s*\d+ .*?tps:\s*([\d,.]+)", done.stdout + done.stderr)]
    if done.returncode != 0 or len(speeds) <= WARM_UP:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return statistics.median(speeds[WARM_UP:])


def compare(name, with_overrides, shared_overrides, rounds, steps):
    """Prints each round's speeds without and with `with_overrides`, and the median of their ratios."""
    ratios = []
    print(f"{'round':>5}  {'plain':>10}  {name:>16}  {name} / plain   (tokens per second)")
    for number in range(1, rounds + 1):
        speed = {}
        for variant in (("plain", name) if number % 2 else (name, "plain")):
            speed[variant] = tokens_per_second(
                steps, [*shared_overrides, *(with_overrides if variant == name else [])])
        ratios.append(speed[name] / speed["plain"])
        print(f"{number:>5}  {speed['plain']:>10,.0f}  {speed[name]:>16,.0f}  {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


def main(text, name, with_overrides, rounds=5, steps=12):
    """The command line of a comparison: --rounds, --steps, and overrides of the config for both runs."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--steps", type=int, default=steps)
    options, overrides = parser.parse_known_args()
    compare(name, with_overrides, overrides, options.rounds, options.steps)
