#!/usr/bin/env python3
"""Training the debug model: titan against the Python trainer, eager and compiled, in float32 and bfloat16.

torchtitan's debugmodel (6.2 M parameters), 2 x 512 tokens a step, AdamW, two pinned threads, the same weights and
tokens. The compiled peers have jemalloc; the better of compiling the whole model and each block counts.
"""
from support import contest

SIZES = {"dim": 256, "n_layers": 6, "n_heads": 16, "vocab_size": 2048, "rope_theta": 500000}


def main():
    options = contest.parser(__doc__, number_of_rounds=3, steps=13).parse_args()
    compiled = ("full", "block")
    if options.quick:
        options.rounds, options.steps, compiled = 1, 5, ("full",)
    what = contest.Contest(SIZES, batch=2, seq_len=512, steps=options.steps, warm_up=3, types=options.types, compiled=compiled)
    contest.main("train", "Debug model, 6.2 M parameters, 2 x 512 tokens a step.", what, options)


if __name__ == "__main__":
    main()
