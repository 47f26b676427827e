#!/usr/bin/env python3
"""Tokens per second of the debug model: plain against float8 in emulation, in turns, as ratios.

Emulation computes float8's numbers on the CPU: it is slower by nature, and this says by how much.
Options: --rounds N (5), --steps N (12), and overrides of the config.
"""
from support import ratio

if __name__ == "__main__":
    ratio.main(__doc__, "float8", ["--model.converters=float8", "--float8.emulate=true"])
