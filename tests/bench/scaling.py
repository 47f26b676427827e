#!/usr/bin/env python3
"""How the time of titan's step grows: with layers, vocabulary, micro-batches and the length of a sequence.

Each is varied alone on the debug model, in turns, and a line is fitted by least squares. Of layers, vocabulary and
micro-batches the line is of milliseconds a step; of the length it is of microseconds a token, whose slope is what
attention costs beyond being linear. R^2 is the share of the variance that the line explains.
Overrides of the config are taken too, as --section.key=value.
"""
import dataclasses
import statistics

from support import debug_run, report, rounds

BATCH, LENGTH = 2, 128
SERIES = {"layers": (2, 4, 6, 8, 10), "vocabulary": (2048, 8192, 16384, 24576, 32768), "micro-batches": (1, 2, 3, 4, 6),
          "sequence length": (128, 256, 512, 1024, 2048)}
QUICK = {name: (values[0], values[2], values[-1]) for name, values in SERIES.items()}


@dataclasses.dataclass
class Line:
    """y = intercept + slope x."""
    slope: float
    intercept: float
    r2: float


def fit(xs, ys):
    """The line of least squares through at least two points with different xs."""
    slope, intercept = statistics.linear_regression(xs, ys)
    mean = statistics.fmean(ys)
    total = sum((y - mean) ** 2 for y in ys)
    left = sum((y - intercept - slope * x) ** 2 for x, y in zip(xs, ys))
    return Line(slope, intercept, 1 - left / total if total else 1.0)


def overrides_for(series, value):
    """The config of one point."""
    if series == "sequence length":
        return ["--training.local_batch_size=1", f"--training.seq_len={value}"]
    words = [f"--training.local_batch_size={BATCH}", f"--training.seq_len={LENGTH}"]
    return words + {"layers": [f"--model.args.n_layers={value}"], "vocabulary": [f"--model.args.vocab_size={value}"],
                    "micro-batches": [f"--training.global_batch_size={BATCH * value}"]}[series]


def measure(chosen, options, overrides):
    """({series: {value: seconds of a step, one a round}}, warnings)."""
    runs = {f"{series} {value}": lambda words=(*overrides_for(series, value), *overrides): debug_run.run(options.steps, words)
            for series, values in chosen.items() for value in values}
    results, warnings = rounds.interleaved(runs, options.rounds)
    return {series: {value: [statistics.median(run.step_seconds()) for run in results[f"{series} {value}"]]
                     for value in values} for series, values in chosen.items()}, warnings


def y_of(series, value, seconds):
    """What the line is fitted to: milliseconds a step, or microseconds a token of the sequence."""
    return 1e6 * seconds / value if series == "sequence length" else 1e3 * seconds


def main():
    options, overrides = report.parser(__doc__, rounds=2, steps=9).parse_known_args()
    chosen = QUICK if options.quick else SERIES
    if options.quick:
        options.rounds, options.steps = 1, 5
    debug_run.needs_steps(options.steps)
    seconds, warnings = measure(chosen, options, overrides)
    rows, points, fits = [], [], {}
    for series, values in seconds.items():
        ys = {value: [y_of(series, value, each) for each in taken] for value, taken in values.items()}
        line = fits[series] = fit(list(ys), [statistics.median(taken) for taken in ys.values()])
        unit = "us/token" if series == "sequence length" else "ms/step"
        rows.append([series, f"{min(ys)} to {max(ys)}", unit, f"{line.slope:.4g}", f"{line.intercept:.4g}", f"{line.r2:.4f}"])
        points += [[series, value, unit, rounds.spread(taken)] for value, taken in ys.items()]
    text = "\n\n".join([
        report.table(["what grows", "from, to", "y", "slope", "intercept", "R^2"], rows),
        report.table(["what grows", "value", "y", "measured"], points),
        f"Debug model, {BATCH} x {LENGTH} tokens a micro-batch (1 x the length where that grows); {options.rounds} rounds of "
        f"{options.steps} steps; median [least-largest]."])
    data = {"fits": {name: dataclasses.asdict(line) for name, line in fits.items()}, "step_seconds": seconds}
    report.finish(options, "scaling", text, data, warnings=warnings)


if __name__ == "__main__":
    main()
