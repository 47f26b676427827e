"""Contestants in turns: interleaved rounds, so that a busy or throttled machine slows all alike; and their spread."""
import dataclasses
import statistics
import sys
import time

TRIES = 4  # of one contestant in one round, until the machine was quiet
PAUSE_S = 3.0  # before another try


@dataclasses.dataclass
class Spread:
    """Of one figure over the rounds."""
    median: float
    low: float
    high: float

    def __str__(self):
        return f"{digits(self.median)} [{digits(self.low)}-{digits(self.high)}]"


def digits(value):
    """A number with three significant digits or, from 100 on, without decimals."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(values):
    """Median, least and largest of one or more numbers."""
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values))


def say(text):
    """A line of progress: on stderr, so that stdout has the result alone."""
    print(text, file=sys.stderr, flush=True)


def interleaved(contestants, rounds, tries=TRIES, pause_s=PAUSE_S):
    """Runs every contestant once a round. Returns ({name: [result, ..]}, warnings), in the order of the rounds.

    `contestants` maps a name to a function without arguments; its result has an attribute `outcome` (measured.Outcome)
    or is one. A run beside which others used too much of the machine is rejected and repeated; after `tries` runs
    the least disturbed one is kept with a warning. Every other round goes backwards: none is always the first.
    """
    results, warnings = {name: [] for name in contestants}, []
    for number in range(1, rounds + 1):
        names = list(contestants) if number % 2 else list(reversed(contestants))
        for name in names:
            best = _quiet_run(f"round {number}/{rounds} {name}", contestants[name], tries, pause_s)
            results[name].append(best)
            outcome = _outcome(best)
            if not outcome.quiet:
                warnings.append(f"{name}, round {number}: other processes used {outcome.foreign_cores:.2f} cores")
                say(f"warning: {warnings[-1]}; kept after {tries} tries")
    return results, warnings


def _quiet_run(label, contestant, tries, pause_s):
    best = None
    for attempt in range(1, tries + 1):
        result = contestant()
        outcome = _outcome(result)
        say(f"{label}: {outcome.wall_s:.1f} s, others used {outcome.foreign_cores:.2f} cores"
            + ("" if outcome.quiet else ", rejected"))
        if best is None or outcome.foreign_cores < _outcome(best).foreign_cores:
            best = result
        if outcome.quiet or attempt == tries:
            break
        time.sleep(pause_s)
    return best


def _outcome(result):
    return getattr(result, "outcome", result)
