#!/usr/bin/env python3
"""A Python trainer to measure titan against: torchtitan 0.2.2's Llama 3 on a CPU, in a single process.

Model, loss and gradient clipping are torchtitan's own (`torchtitan.models.llama3`, `components.loss`,
`distributed.utils`); AdamW, the schedule, autocast, compilation and the float8 conversion follow its trainer
(`train.py`, `components/{lr_scheduler,optimizer}.py`, `components/quantization/float8.py`), which itself does not start
without a GPU. It needs torch 2.11.0, torchao 0.18.0 and torchtitan 0.2.2: `./dev bench train` makes the environment.

    python peer_train.py --init-seed 0 --save-weights w.safetensors --steps 0
    python peer_train.py --weights w.safetensors --tokens t.bin --dtype fp32 --steps 20 --out log.jsonl

Output: JSON lines on --out (stdout): one a step {"step", "loss", "grad_norm", "lr", "step_seconds", "time"} and a last
{"summary": ..}. Numbers have 9 significant digits; `time` is in seconds since 1970.
"""
import argparse
import contextlib
import dataclasses
import functools
import gc
import importlib.metadata
import json
import math
import os
import sys
import time


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    g = p.add_argument_group("model")
    g.add_argument("--flavor", default="debugmodel", help="torchtitan flavor, or 'custom'")
    g.add_argument("--config", help="JSON file or string overriding TransformerModelArgs fields")
    g.add_argument("--weights", help="safetensors, native or Hugging Face names")
    g.add_argument("--init-seed", type=int, help="torchtitan init_weights with this seed")
    g.add_argument("--save-weights")
    g = p.add_argument_group("data")
    g.add_argument("--tokens", help=".bin of little-endian tokens")
    g.add_argument("--token-dtype", default="uint16", choices=["uint16", "uint32"])
    g.add_argument("--seq-len", type=int, default=512)
    g.add_argument("--batch-size", type=int, default=2)
    g = p.add_argument_group("training")
    g.add_argument("--steps", type=int, default=20)
    g.add_argument("--dtype", default="fp32", choices=["fp32", "bf16", "bf16-autocast"],
                   help="bf16: parameters, gradients and optimizer state in bfloat16 (torchtitan's training.dtype); "
                        "bf16-autocast: float32 parameters, torch.autocast (torchtitan's default)")
    g.add_argument("--lr", type=float, default=8e-4)
    g.add_argument("--beta1", type=float, default=0.9)
    g.add_argument("--beta2", type=float, default=0.95)
    g.add_argument("--eps", type=float, default=1e-8)
    g.add_argument("--weight-decay", type=float, default=0.1)
    g.add_argument("--adam-impl", default="fused", choices=["fused", "foreach", "for-loop"])
    g.add_argument("--max-norm", type=float, default=1.0)
    g.add_argument("--warmup-steps", type=int, default=200)
    g.add_argument("--total-steps", type=int, help="length of the schedule (--steps)")
    g.add_argument("--decay-ratio", type=float)
    g.add_argument("--decay-type", default="linear", choices=["linear", "sqrt", "cosine"])
    g.add_argument("--min-lr-factor", type=float, default=0.0)
    g.add_argument("--float8", choices=["tensorwise", "rowwise", "rowwise_with_gw_hp"], help="emulated")
    g.add_argument("--float8-filter", default="output", help="parts of names, with commas, left unconverted")
    g.add_argument("--compile", default="none", choices=["none", "block", "full"],
                   help="block: torchtitan's apply_compile (each TransformerBlock) and the loss; "
                        "full: model and loss in one graph")
    g.add_argument("--compile-mode")
    g.add_argument("--matmul-precision", choices=["highest", "high", "medium"],
                   help="torch.set_float32_matmul_precision")
    g = p.add_argument_group("run")
    g.add_argument("--seed", type=int, default=0)
    g.add_argument("--threads", type=int)
    g.add_argument("--out", default="-")
    return p.parse_args()


args = parse()
if args.threads:  # before torch is imported: OpenMP and MKL read them once
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ["MKL_NUM_THREADS"] = str(args.threads)

# pylint: disable=wrong-import-position
import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torchtitan.components.loss import cross_entropy_loss  # noqa: E402
from torchtitan.distributed.utils import clip_grad_norm_  # noqa: E402
from torchtitan.models.llama3 import llama3_args  # noqa: E402
from torchtitan.models.llama3.model.args import RoPEScalingArgs, TransformerModelArgs  # noqa: E402
from torchtitan.models.llama3.model.model import Transformer  # noqa: E402
from torchtitan.models.llama3.model.state_dict_adapter import Llama3StateDictAdapter  # noqa: E402


def model_args():
    """The flavor with --config's fields, for sequences of --seq-len."""
    base = TransformerModelArgs() if args.flavor == "custom" else llama3_args[args.flavor]
    given = {}
    if args.config:
        if os.path.exists(args.config):
            with open(args.config, encoding="utf-8") as file:
                given = json.load(file)
        else:
            given = json.loads(args.config)
        unknown = set(given) - {field.name for field in dataclasses.fields(base)}
        if unknown:
            sys.exit(f"--config: TransformerModelArgs has no {', '.join(sorted(unknown))}")
        if isinstance(given.get("rope_scaling_args"), dict):
            given["rope_scaling_args"] = RoPEScalingArgs(**given["rope_scaling_args"])
    # torchtitan's update_from_config sets max_seq_len so, too.
    return dataclasses.replace(base, **{**given, "max_seq_len": args.seq_len})


def make_model(sizes):
    """The model in --dtype, with weights that are loaded or drawn, and saved where that is asked for."""
    torch.manual_seed(args.seed if args.init_seed is None else args.init_seed)
    model = Transformer(sizes)
    with torch.no_grad():
        if args.weights:
            state = load_file(args.weights)
            if "model.embed_tokens.weight" in state:
                state = Llama3StateDictAdapter(sizes, None).from_hf(state)
            model.load_state_dict(state, strict=True)
        else:
            model.init_weights()
    if args.save_weights:
        save_file({name: value.contiguous() for name, value in model.state_dict().items()}, args.save_weights)
    if args.dtype == "bf16":
        frequencies = model.freqs_cis  # complex: a cast to bfloat16 would drop its imaginary part
        model.to(torch.bfloat16)
        model.freqs_cis = frequencies
    if args.float8:
        convert_to_float8(model)
    return model.train()


def convert_to_float8(model):
    """torchao's conversion with torchtitan's filter. Its own converter does not emulate once a recipe is named."""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    from torchtitan.components.quantization.utils import module_filter_fn
    config = dataclasses.replace(Float8LinearConfig.from_recipe_name(args.float8), emulate=True)
    left_out = [part for part in args.float8_filter.split(",") if part]
    convert_to_float8_training(model, config=config,
                               module_filter_fn=functools.partial(module_filter_fn, filter_fqns=left_out))


def learning_rate_factor():
    """A function of the 0-based step: torchtitan.components.lr_scheduler's linear_warmup_stable_decay."""
    total = args.steps if args.total_steps is None else args.total_steps
    warm_up = min(args.warmup_steps, total)
    decay = total - warm_up
    if args.decay_ratio is not None:
        decay = min(round(total * args.decay_ratio), decay)
    stable_end = total + 1 - decay

    def factor(step):
        if step < warm_up:
            return (step + 1) / warm_up
        if step < stable_end:
            return 1.0
        progress = (step + 1 - stable_end) / decay
        shape = {"linear": 1 - progress, "sqrt": 1 - math.sqrt(progress),
                 "cosine": 0.5 * (1.0 + math.cos(math.pi * progress))}[args.decay_type]
        return args.min_lr_factor + (1 - args.min_lr_factor) * shape

    return factor


def batches():
    """(inputs, labels) for ever, both [batch, seq] int64: samples of seq + 1 tokens that share none, as torchtitan's
    dataset cuts them; from the start again when a whole batch does not fit any more."""
    tokens = np.memmap(args.tokens, dtype="<u2" if args.token_dtype == "uint16" else "<u4", mode="r")
    length = args.seq_len + 1
    samples = len(tokens) // length
    if samples < args.batch_size:
        sys.exit(f"{args.tokens}: {samples} samples of {length} tokens, a batch needs {args.batch_size}")
    while True:
        for first in range(0, samples - args.batch_size + 1, args.batch_size):
            rows = tokens[first * length:(first + args.batch_size) * length].astype(np.int64)
            rows = torch.from_numpy(rows.reshape(args.batch_size, length))
            yield rows[:, :-1], rows[:, 1:]


def make_loss(model):
    """A function of (inputs, labels) that gives the sum of the losses of all tokens, compiled as --compile says."""
    if args.compile == "full":
        return torch.compile(lambda x, y: cross_entropy_loss(model(x), y), mode=args.compile_mode)
    loss = cross_entropy_loss
    if args.compile == "block":
        for name, block in model.layers.named_children():
            model.layers.register_module(name, torch.compile(block, fullgraph=True, mode=args.compile_mode))
        loss = torch.compile(loss)
    return lambda x, y: loss(model(x), y)


def nine(value):
    """Rounded to nine significant digits."""
    return float(f"{value:.9g}")


def train(model, out):
    """--steps steps; a line of JSON for each on `out`."""
    parameters = list(model.parameters())
    loss_of = make_loss(model)
    optimizer = torch.optim.AdamW(parameters, lr=args.lr, betas=(args.beta1, args.beta2), eps=args.eps,
                                  weight_decay=args.weight_decay, fused=args.adam_impl == "fused",
                                  foreach=args.adam_impl == "foreach")
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate_factor())
    autocast = functools.partial(torch.autocast, "cpu", dtype=torch.bfloat16)
    data = batches()
    gc.disable()  # as torchtitan's GarbageCollection, which collects every 50 steps
    gc.collect(1)
    for step in range(1, args.steps + 1):
        if step > 1 and step % 50 == 0:
            gc.collect(1)
        start = time.perf_counter()
        optimizer.zero_grad()
        rate = schedule.get_last_lr()[0]
        x, y = next(data)
        valid = (y != -100).sum().float()
        with autocast() if args.dtype == "bf16-autocast" else contextlib.nullcontext():
            loss = loss_of(x, y) / valid
        loss.backward()
        norm = clip_grad_norm_(parameters, args.max_norm, foreach=True)
        optimizer.step()
        schedule.step()
        value = loss.detach().item()
        seconds = time.perf_counter() - start
        line = {"step": step, "loss": nine(value), "grad_norm": nine(norm.item()), "lr": nine(rate),
                "step_seconds": nine(seconds), "time": time.time()}
        print(json.dumps(line), file=out, flush=True)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "torchao", "torchtitan", "numpy")}
    print(json.dumps({"summary": {"parameters": sum(p.numel() for p in parameters), "threads": torch.get_num_threads(),
                                  "versions": versions}}), file=out, flush=True)


def main():
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.matmul_precision:
        torch.set_float32_matmul_precision(args.matmul_precision)
    model = make_model(model_args())
    if args.steps == 0:
        return
    if not args.tokens:
        sys.exit("--tokens FILE is needed for --steps above 0")
    with contextlib.nullcontext(sys.stdout) if args.out == "-" else open(args.out, "w", encoding="utf-8") as out:
        train(model, out)


if __name__ == "__main__":
    main()
