"""Two runs of titan side by side: tokens per second in turns, and what counts, the ratio of each round.

The rounds alternate, so that a busy or throttled machine slows both alike.
"""
import argparse
import statistics
import sys

from support import debug_run

WARM_UP = 3  # steps at the start that are not counted


def tokens_per_second(steps, overrides):
    """The median over the steps of one short run of the debug config."""
    lines = debug_run.metrics_of(steps, overrides)
    if len(lines) <= WARM_UP:
        sys.exit(f"--steps must be more than the {WARM_UP} of warming up")
    return statistics.median(line["tps"] for line in lines[WARM_UP:])


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
