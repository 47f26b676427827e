#!/usr/bin/env python3
"""Tokens per second of the debug model: plain against the fused_projections example, in turns, as ratios.

Small batches, where calls and passes over memory count: with --training.local_batch_size=4
--training.seq_len=256 matrix products take nearly all of the time, and they are the same work in both.
Overrides of the config are taken too, as --section.key=value.
"""
from pathlib import Path

from support import debug_run, ratio

PLUGIN = Path(debug_run.PROGRAM).resolve().parents[1] / "plugins/examples/fused_projections"

if __name__ == "__main__":
    ratio.main("fused_projections_ratio", __doc__, "fused",
               ["--model.converters=fused_projections", f"--plugins.paths={PLUGIN}"], number_of_rounds=9, steps=60,
               shared=["--training.local_batch_size=1", "--training.seq_len=64"])
