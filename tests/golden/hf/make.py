#!/usr/bin/env python3
"""Makes the folders beside this file: tiny random models that transformers saved, and their logits.

Needs torch and transformers. Usage: make.py [OUTPUT_FOLDER [POSITIONS]]; the numbers depend on the seed below
and on the version of torch, so a new run replaces all folders at once.
"""
import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             vocab_size=64, intermediate_size=48, max_position_embeddings=8192, bos_token_id=1,
             eos_token_id=2, pad_token_id=None, attn_implementation="eager")
# Positions far beyond the original context, so that every band of the scaling counts.
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
PLAIN = {"rope_type": "default", "rope_theta": 1e6}


def models():
    """Folder, model, and the size at which its weights are cut into several files."""
    llama, qwen3 = transformers.LlamaConfig, transformers.Qwen3Config
    yield "llama_scaled", llama(**SIZES, rope_parameters=LLAMA3, rms_norm_eps=1e-5, tie_word_embeddings=False), "20KB"
    yield "llama_tied", llama(**SIZES, rope_parameters=LINEAR, rms_norm_eps=1e-6, tie_word_embeddings=True), "1GB"
    # Heads of their own width, not 32 / 4.
    yield "qwen3", qwen3(**SIZES, head_dim=16, rope_parameters=PLAIN, rms_norm_eps=1e-6, tie_word_embeddings=True), "1GB"
    yield "qwen3_untied", qwen3(**SIZES, head_dim=24, rope_parameters=PLAIN, rms_norm_eps=1e-6, tie_word_embeddings=False), "20KB"


def main(root, positions):
    for number, (name, config, shard) in enumerate(models()):
        torch.manual_seed(number)
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        with torch.no_grad():
            for parameter in model.parameters():  # larger than fresh ones, and norms that are not 1
                parameter.copy_(torch.randn_like(parameter) * 0.15 + (parameter.dim() == 1))
        tokens = torch.randint(0, config.vocab_size, (1, positions))
        folder = root / name
        model.save_pretrained(folder, max_shard_size=shard)
        with torch.no_grad():
            single = model(tokens).logits
            logits = model.double()(tokens).logits
        rounding = (single - logits).abs().max() / logits.abs().max()
        save_file({"tokens": tokens, "logits": logits.float(), "rounding": rounding.view(1)}, folder / "expected.safetensors")
        versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
        (folder / "made_with.json").write_text(json.dumps(versions) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent, int(sys.argv[2]) if len(sys.argv) > 2 else 96)
