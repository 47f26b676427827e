"""Two runs of titan side by side: tokens per second in turns, and what counts, the ratio of each round."""
import statistics

from support import debug_run, report, rounds


def tokens_per_second(run):
    """The median over the steps after the warm-up."""
    return statistics.median(line["tps"] for line in run.lines[debug_run.WARM_UP:])


def main(benchmark, text, name, with_overrides, number_of_rounds=5, steps=12, shared=()):
    """The command line of a comparison: report.parser's options, and overrides of the config for both runs."""
    options, overrides = report.parser(text, number_of_rounds, steps).parse_known_args()
    if options.quick:
        options.rounds, options.steps = 1, debug_run.WARM_UP + 2
    debug_run.needs_steps(options.steps)
    both = [*shared, *overrides]
    results, warnings = rounds.interleaved({
        "plain": lambda: debug_run.run(options.steps, both),
        name: lambda: debug_run.run(options.steps, [*both, *with_overrides])}, options.rounds)
    speeds = {variant: [tokens_per_second(run) for run in runs] for variant, runs in results.items()}
    ratios = [changed / plain for changed, plain in zip(speeds[name], speeds["plain"])]
    rows = [[variant, rounds.spread(values)] for variant, values in speeds.items()]
    rows.append([f"{name} / plain", rounds.spread(ratios)])
    about = f"{options.rounds} rounds of {options.steps} steps; median [least-largest]; the ratio is taken round by round."
    report.finish(options, benchmark, report.table(["", "tokens/s"], rows) + f"\n\n{about}",
                  {"tokens_per_second": speeds, "ratios": ratios, "ratio": statistics.median(ratios)}, warnings=warnings)
