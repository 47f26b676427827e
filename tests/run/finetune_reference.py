#!/usr/bin/env python3
"""Makes random Hugging Face models, and fine-tunes them on conversations with transformers and torch alone.

Needs torch, transformers and tokenizers.
Usage: finetune_reference.py make FAMILY FOLDER TOKENIZER_JSON
       finetune_reference.py train JOB.json     (prints a JSON list of losses)
       finetune_reference.py compare FOLDER_A FOLDER_B
"""
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

IGNORED = -100


def make(family, folder, tokenizer):
    sizes = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 vocab_size=Tokenizer.from_file(tokenizer).get_vocab_size() + 8, max_position_embeddings=256,
                 rope_theta=10000.0)
    torch.manual_seed(3)
    model = {"llama": lambda: LlamaForCausalLM(LlamaConfig(**sizes, tie_word_embeddings=False)),
             "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**sizes, head_dim=32, tie_word_embeddings=True))}[family]()
    with torch.no_grad():  # norms that are all 1 would hide a mistake
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.copy_(1 + 0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    shutil.copy(tokenizer, Path(folder) / "tokenizer.json")


def conversations(path, tokenizer, length):
    """Ids and whether each is trained on, in ChatML."""
    for line in Path(path).read_text().splitlines():
        text, spans = "", []
        for message in json.loads(line)["messages"]:
            text += f"<|im_start|>{message['role']}\n"
            begin = len(text)
            text += message["content"] + "<|im_end|>"
            if message["role"] == "assistant":
                spans.append((begin, len(text)))
            text += "\n"
        encoded = tokenizer.encode(text, add_special_tokens=False)
        assert len(encoded.ids) <= length, "the reference cuts nothing off"
        yield encoded.ids, [any(begin <= start < end for begin, end in spans) for start, _ in encoded.offsets]


def samples(job, tokenizer):
    """Token and label lists of seq_len, for ever."""
    def forever():
        while True:
            yield from conversations(job["data"], tokenizer, job["seq_len"])

    length = job["seq_len"]
    source = forever()
    waiting = next(source)
    while True:
        tokens, labels = [0] * length, [IGNORED] * length  # no label sees what fills the end
        at = 0
        while at + len(waiting[0]) <= length:
            ids, trained = waiting
            tokens[at:at + len(ids)] = ids
            for i in range(len(ids) - 1):
                if trained[i + 1]:
                    labels[at + i] = ids[i + 1]
            at += len(ids)
            waiting = next(source)
            if not job["packing"]:
                break
        yield tokens, labels


def add_adapters(model, adapters, scale):
    """LoRA beside frozen projections; returns the trained tensors."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    trained = []
    names = {"wq": "self_attn.q_proj", "wv": "self_attn.v_proj"}
    for name, a in load_file(adapters).items():
        if not name.endswith("lora_a"):
            continue
        _, layer, _, short = name.split("/")[1].removesuffix(".lora_a").split(".")
        linear = model.get_submodule(f"model.layers.{layer}.{names[short]}")
        a = torch.nn.Parameter(a.clone())
        b = torch.nn.Parameter(torch.zeros(linear.out_features, a.shape[0]))
        linear.register_forward_hook(lambda _, inputs, out, a=a, b=b: out + scale * (inputs[0] @ a.T) @ b.T)
        trained.append((linear, a, b))
    return trained


def train(job):
    torch.manual_seed(0)
    tokenizer = Tokenizer.from_file(str(Path(job["model"]) / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=torch.float32)
    adapters = add_adapters(model, job["adapters"], job["scale"]) if job.get("adapters") else []
    parameters = [tensor for _, a, b in adapters for tensor in (a, b)] or list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, betas=(0.9, 0.95), eps=1e-8, weight_decay=job["weight_decay"])
    source, losses = samples(job, tokenizer), []
    for lr in job["lr"]:
        batch = [next(source) for _ in range(job["batch_size"])]
        tokens, labels = (torch.tensor([sample[i] for sample in batch]) for i in (0, 1))
        logits = model(tokens).logits.float()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        for linear, a, b in adapters:
            linear.weight += job["scale"] * b @ a
            linear._forward_hooks.clear()
    model.save_pretrained(job["output"])
    print(json.dumps(losses))


def compare(one, other):
    a, b = (AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval() for path in (one, other))
    tokens = torch.arange(200).mul(37).remainder(a.config.vocab_size).view(1, -1)
    with torch.no_grad():
        x, y = a(tokens).logits, b(tokens).logits
    print(((x - y).abs().max() / y.abs().max()).item())


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(json.loads(Path(sys.argv[2]).read_text()))
    else:
        {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
