#!/usr/bin/env python3
"""Tokens per second of the debug model: plain against float8 in emulation, in turns, as ratios.

The rounds alternate, so that a busy or throttled machine slows both alike; the ratio of each round is
what counts. Emulation computes float8's numbers on the CPU: it is slower by nature, and this says by
how much. Options: --rounds N (5), --steps N (12), and overrides of the config.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARM_UP = 3  # steps at the start that are not counted
VARIANTS = {"plain": [], "float8": ["--model.converters=float8", "--float8.emulate=true"]}


def tokens_per_second(program, steps, variant, overrides):
    """The median over the steps of one short run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "configs/llama3_debug.yaml", f"--training.steps={steps}",
                   "--metrics.log_freq=1", f"--job.dump_folder={folder}", *overrides, *VARIANTS[variant]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                              env={**os.environ, "NO_COLOR": "1"})
    speeds = [float(found.replace(",", "")) for found in
              re.findall(r"step:\s*\d+ .*?tps:\s*([\d,.]+)", done.stdout + done.stderr)]
    if done.returncode != 0 or len(speeds) <= WARM_UP:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return statistics.median(speeds[WARM_UP:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    options, overrides = parser.parse_known_args()
    program = os.environ.get("TITAN_PROGRAM", str(ROOT / "build/release/bin/titan"))
    ratios = []
    print(f"{'round':>5}  {'plain':>10}  {'float8':>10}  float8 / plain   (tokens per second)")
    for number in range(1, options.rounds + 1):
        order = list(VARIANTS) if number % 2 else list(VARIANTS)[::-1]
        speed = {variant: tokens_per_second(program, options.steps, variant, overrides)
                 for variant in order}
        ratios.append(speed["float8"] / speed["plain"])
        print(f"{number:>5}  {speed['plain']:>10,.0f}  {speed['float8']:>10,.0f}  {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
