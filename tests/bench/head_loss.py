#!/usr/bin/env python3
"""Head and loss at Llama 3's vocabulary of 128256: titan against the eager Python trainer.

One layer of width 256 under a head of 128256 columns: nearly all of a step is the head, the loss and the update of
the two tables. 1024 tokens a step, AdamW, two pinned threads, the same weights and tokens.
"""
from support import contest

SIZES = {"dim": 256, "n_layers": 1, "n_heads": 4, "vocab_size": 128256, "rope_theta": 500000}


def main():
    options = contest.parser(__doc__, number_of_rounds=3, steps=6).parse_args()
    if options.quick:
        options.rounds, options.steps = 1, 3
    what = contest.Contest(SIZES, batch=1, seq_len=1024, steps=options.steps, warm_up=2, types=options.types)
    contest.main("head_loss", "One layer of width 256, vocabulary 128256, 1 x 1024 tokens a step.", what, options)


if __name__ == "__main__":
    main()
