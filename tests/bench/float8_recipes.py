#!/usr/bin/env python3
"""Every float8 recipe on the debug corpus, emulated: what it loses and what it costs the loss, beside bfloat16.

The same seed and data for all, in batches of 64 tokens: without bfloat16 in hardware its products take their time.
SQNR and underflow are medians over layers at the last step, of the input, the
weight and the gradient of the output; the loss is the mean of the last tenth of the steps.
Overrides of the config are taken too, as --section.key=value.
"""
import statistics

from support import debug_run, report

RECIPES = "tensorwise,delayed,rowwise,rowwise_with_gw_hp,blockwise,mxfp8"
OPERANDS = ("input", "weight", "grad_output")


def row_of(lines, steps):
    last = lines[-1]
    row = {"loss": statistics.mean(line["loss"] for line in lines[-max(1, steps // 10):])}
    for operand in OPERANDS:
        for figure in ("sqnr_db", "underflow"):
            values = [value for key, value in last.items() if key.startswith("float8/") and key.endswith(f".{operand}.{figure}")]
            row[f"{operand}.{figure}"] = statistics.median(values) if values else None
    return row


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def main():
    parser = report.parser(__doc__, steps=60)
    parser.add_argument("--recipes", default=RECIPES, help="names with commas between them (all)")
    options, overrides = parser.parse_known_args()
    if options.quick:
        options.steps = debug_run.WARM_UP + 2
    bfloat16 = ["--training.local_batch_size=1", "--training.seq_len=64", "--training.mixed_precision_param=bfloat16", *overrides]
    rows = {"bfloat16": row_of(debug_run.metrics_of(options.steps, bfloat16), options.steps)}
    for recipe in options.recipes.split(","):
        words = [*bfloat16, "--model.converters=float8", "--float8.emulate=true", f"--float8.recipe={recipe}",
                 f"--float8.metrics_freq={options.steps}"]
        rows[recipe] = row_of(debug_run.metrics_of(options.steps, words), options.steps)
    base = rows["bfloat16"]["loss"]
    shown_rows = []
    for name, row in rows.items():
        sqnr = [shown(row[f"{operand}.sqnr_db"], 1) for operand in OPERANDS]
        lost = [shown(None if row[f"{operand}.underflow"] is None else 100 * row[f"{operand}.underflow"], 2) for operand in OPERANDS]
        shown_rows.append([name, *sqnr, *lost, f"{row['loss']:.4f}", f"{100 * (row['loss'] / base - 1):+.2f} %"])
    columns = ["recipe", "SQNR in dB: x", "w", "dy", "underflow in %: x", "w", "dy", "loss", "against bfloat16"]
    about = f"{options.steps} steps of configs/llama3_debug.yaml in mixed precision with bfloat16, the same seed for all."
    report.finish(options, "float8_recipes", report.table(columns, shown_rows) + f"\n\n{about}", {"recipes": rows})


if __name__ == "__main__":
    main()
