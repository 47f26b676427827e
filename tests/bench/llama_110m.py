#!/usr/bin/env python3
"""Training a Llama of 110 M parameters: titan against the eager Python trainer, in float32 and bfloat16.

Width 768, 12 layers of 12 heads (64 wide), vocabulary 16384; 2048 tokens a step, AdamW, two pinned threads, the same
weights and tokens. A step takes seconds, so there are few.
"""
from support import contest

SIZES = {"dim": 768, "n_layers": 12, "n_heads": 12, "vocab_size": 16384, "rope_theta": 500000}


def main():
    parser = contest.parser(__doc__, number_of_rounds=2, steps=4)
    parser.add_argument("--shape", choices=["2x1024", "1x2048"], default="2x1024", help="sequences x tokens (2x1024)")
    options = parser.parse_args()
    batch, seq_len = map(int, options.shape.split("x"))
    if options.quick:
        options.rounds, options.steps = 1, 2
    what = contest.Contest(SIZES, batch, seq_len, steps=options.steps, warm_up=1, types=options.types)
    contest.main("llama_110m", f"Llama of 110 M parameters, {batch} x {seq_len} tokens a step.", what, options)


if __name__ == "__main__":
    main()
