#!/usr/bin/env python3
"""Tokens per second of the debug model: plain against float8 in emulation, in turns, as ratios.

Emulation computes float8's numbers on the CPU: it is slower by nature, and this says by how much.
Overrides of the config are taken too, as --section.key=value.
"""
from support import ratio

if __name__ == "__main__":
    ratio.main("float8_ratio", __doc__, "float8", ["--model.converters=float8", "--float8.emulate=true"])
