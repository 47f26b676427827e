#!/usr/bin/env python3
"""The model's CPU kernels by themselves: speed, and the share of what this machine's roofs allow.

`roof` is the share of the higher time of the two: the operations at the speed of torch's best float32 product, or the
bytes at that of a copy, both measured in the same process; float8 and bfloat16 products in hardware may pass 1.
`SCALAR` is plain C++, the oracle of the vector kernels. By torch: the same from torch's operators.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

from support import report
from support.debug_run import PROGRAM

BENCHMARK = Path(PROGRAM).resolve().parent / "kernels_bench"


def measured(options):
    """The JSON of Google Benchmark: one repetition with --quick, else the median of three."""
    words = ["--benchmark_min_time=0.05"] if options.quick else ["--benchmark_repetitions=3", "--benchmark_report_aggregates_only=true"]
    env = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
    done = subprocess.run([BENCHMARK, "--benchmark_format=json", *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{BENCHMARK} ended with status {done.returncode}:\n{done.stderr}")
    found = json.loads(done.stdout)["benchmarks"]
    return [one for one in found if one.get("aggregate_name", "median") == "median"]


def row_of(one):
    name = one["run_name"].replace("/real_time", "").replace("/iterations:2", "").replace("scalar:0/", "").replace("scalar:1/", "")
    extra = f"{one['extra MiB']:,.0f}" if "extra MiB" in one else ""
    return [name, one.get("label", ""), f"{one['real_time']:,.2f}", f"{one['GFLOP/s']:,.1f}", f"{one['GB/s']:,.1f}", f"{one['roof']:.2f}", extra]


def main():
    options = report.parser(__doc__).parse_args()
    found = measured(options)
    columns = ["kernel", "instructions", "ms", "GFLOP/s", "GB/s", "roof", "extra MiB"]
    text = "Two pinned threads.\n\n" + report.table(columns, [row_of(one) for one in found])
    report.finish(options, "kernels", text, {"kernels": found})


if __name__ == "__main__":
    main()
