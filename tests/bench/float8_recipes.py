#!/usr/bin/env python3
"""Every float8 recipe on the debug corpus, emulated: what it loses and what it costs the loss, beside bfloat16.

The same seed and data for all, in batches of 64 tokens: without bfloat16 in hardware its products take their time.
SQNR and underflow are medians over layers at the last step, of the input, the
weight and the gradient of the output; the loss is the mean of the last tenth of the steps.
Options: --steps N (60), --recipes A,B, --json FILE, and overrides of the config.
"""
import argparse
import json
import statistics
from pathlib import Path

from support import debug_run

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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--recipes", default=RECIPES)
    parser.add_argument("--json", type=Path)
    options, overrides = parser.parse_known_args()
    bfloat16 = ["--training.local_batch_size=1", "--training.seq_len=64", "--training.mixed_precision_param=bfloat16", *overrides]
    rows = {"bfloat16": row_of(debug_run.metrics_of(options.steps, bfloat16), options.steps)}
    for recipe in options.recipes.split(","):
        words = [*bfloat16, "--model.converters=float8", "--float8.emulate=true", f"--float8.recipe={recipe}",
                 f"--float8.metrics_freq={options.steps}"]
        rows[recipe] = row_of(debug_run.metrics_of(options.steps, words), options.steps)
    base = rows["bfloat16"]["loss"]
    print(f"{options.steps} steps of configs/llama3_debug.yaml in mixed precision with bfloat16, the same seed for all")
    print(f"{'recipe':<20} {'SQNR in dB: x':>13} {'w':>6} {'dy':>6}   {'underflow in %: x':>17} {'w':>6} {'dy':>6} {'loss':>10} {'against bf16':>13}")
    for name, row in rows.items():
        sqnr = [shown(row[f"{operand}.sqnr_db"], 1) for operand in OPERANDS]
        lost = [shown(None if row[f"{operand}.underflow"] is None else 100 * row[f"{operand}.underflow"], 2) for operand in OPERANDS]
        print(f"{name:<20} {sqnr[0]:>13} {sqnr[1]:>6} {sqnr[2]:>6}   {lost[0]:>17} {lost[1]:>6} {lost[2]:>6} {row['loss']:>10.4f}"
              f" {100 * (row['loss'] / base - 1):>+12.2f}%")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
