#!/usr/bin/env python3
"""Training a Llama of 110 M parameters: titan against the eager Python trainer, in float32 and bfloat16.

Width 768, 12 layers of 12 heads (64 wide), vocabulary 16384; 2 x 1024 tokens a step, AdamW, two pinned threads, the same
weights and tokens. A step takes seconds, so there are few.
"""
from support import contest, report

SIZES = {"dim": 768, "n_layers": 12, "n_heads": 12, "vocab_size": 16384, "rope_theta": 500000}


def main():
    options = report.parser(__doc__, rounds=2, steps=4).parse_args()
    if options.quick:
        options.rounds, options.steps = 1, 2
    contest.main("llama_110m", "Llama of 110 M parameters, 2 x 1024 tokens a step.",
                 contest.Contest(SIZES, batch=2, seq_len=1024, steps=options.steps, warm_up=1), options)


if __name__ == "__main__":
    main()
