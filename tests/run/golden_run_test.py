#!/usr/bin/env python3
"""The program itself, from given weights and tokens, follows the reference trainer's curves.

Every size and hyper-parameter comes from the folder's config.json; TITAN_GOLDEN_DIR names another
folder of the same form. Usage: golden_run_test.py TITAN_PROGRAM DEFAULT_GOLDEN_FOLDER
"""
import json
import os
import sys
import unittest
from pathlib import Path

import titan_run

GOLDEN = None


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class GoldenRun(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        config = json.loads((GOLDEN / "config.json").read_text())
        model, training = config["model"], config["training"]
        scaling = model["rope_scaling_args"]
        args = {key: model[key] for key in ("dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "multiple_of",
                                            "ffn_dim_multiplier", "norm_eps", "rope_theta")}
        args.update(rope_scaling_factor=scaling["scaling_factor"], rope_low_freq_factor=scaling["low_freq_factor"],
                    rope_high_freq_factor=scaling["high_freq_factor"],
                    rope_original_max_position_embeddings=scaling["original_max_position_embeddings"])
        self.batch = training["batch_size"]
        # JSON is YAML.
        self.folder.config.write_text(json.dumps({
            "job": {"dump_folder": str(self.folder.out)},
            "model": {"args": {key: value for key, value in args.items() if value is not None}},
            "training": {"dataset": "tokens", "dataset_path": str(GOLDEN / "tokens.bin"),
                         "token_dtype": training["token_dtype"], "local_batch_size": self.batch,
                         "seq_len": training["seq_len"], "steps": training["steps"], "device": "cpu",
                         "dtype": "float32", "mixed_precision_param": "float32",
                         "max_norm": training["max_norm"]},
            "optimizer": {key: training[key] for key in ("lr", "beta1", "beta2", "eps", "weight_decay")},
            "lr_scheduler": {key: training[key] for key in ("warmup_steps", "decay_ratio", "decay_type",
                                                            "min_lr_factor")},
            "metrics": {"log_freq": 1},
        }))

    def compare(self, lines, curve, loss_tolerance, norm_tolerance):
        expected = read_lines(GOLDEN / f"{curve}.jsonl")
        self.assertEqual(len(lines), len(expected))
        for line, want in zip(lines, expected):
            self.assertEqual(line["step"], want["step"])
            self.assertLessEqual(abs(line["lr"] - want["lr"]), 1e-8 * want["lr"], (line, want))
            self.assertLessEqual(abs(line["loss"] - want["loss"]), loss_tolerance * want["loss"], (line, want))
            self.assertLessEqual(abs(line["grad_norm"] - want["grad_norm"]), norm_tolerance * want["grad_norm"],
                                 (line, want))

    def load(self, name):
        return f"--checkpoint.initial_load_path={GOLDEN / name}"

    def test_float32_from_native_weights(self):
        self.compare(titan_run.train(self.folder, self.load("weights_native.safetensors")), "fp32", 2e-6, 1e-5)

    def test_float32_from_hugging_face_weights(self):
        self.compare(titan_run.train(self.folder, self.load("weights_hf.safetensors")), "fp32", 2e-6, 1e-5)

    def test_accumulation_gives_the_same_curve(self):
        lines = titan_run.train(self.folder, self.load("weights_native.safetensors"),
                                "--training.local_batch_size=1", f"--training.global_batch_size={self.batch}")
        self.compare(lines, "fp32", 4e-6, 2e-5)

    def test_mixed_precision_is_torchs_autocast(self):
        lines = titan_run.train(self.folder, self.load("weights_native.safetensors"),
                                "--training.mixed_precision_param=bfloat16")
        self.compare(lines, "bf16-autocast", 2e-4, 5e-4)
        # Step 1 has no diverged history: there the numbers are bfloat16's and not float32's. Not to
        # the bit: processors add up products of bfloat16 in different orders.
        want, plain = (read_lines(GOLDEN / f"{name}.jsonl")[0]["loss"] for name in ("bf16-autocast", "fp32"))
        self.assertLess(abs(lines[0]["loss"] - want), abs(lines[0]["loss"] - plain))

    def test_parameters_in_bfloat16(self):
        lines = titan_run.train(self.folder, self.load("weights_native.safetensors"), "--training.dtype=bfloat16",
                                "--training.mixed_precision_param=bfloat16")
        # The reference rounds the norm itself to bfloat16: up to 2^-8 of it. Losses are within a
        # quarter of what lies between bfloat16 and float32.
        noise = json.loads((GOLDEN / "noise.json").read_text())["bf16 vs fp32"]
        self.compare(lines, "bf16", noise["loss"] / 4, 2**-7)

    def test_float8_tensorwise_stays_in_its_band(self):
        lines = titan_run.train(self.folder, self.load("weights_native.safetensors"), "--model.converters=float8",
                                "--float8.emulate=true", "--float8.filter_fqns=output")
        self.compare(lines, "float8_tensorwise", 2e-3, 6e-3)
        # Step 1 has no diverged history: there the numbers are float8's and not float32's.
        want, plain = (read_lines(GOLDEN / f"{name}.jsonl")[0] for name in ("float8_tensorwise", "fp32"))
        self.assertLessEqual(abs(lines[0]["loss"] - want["loss"]), 2e-6 * want["loss"])
        self.assertGreater(abs(plain["loss"] - want["loss"]), 1e-5 * want["loss"])


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    GOLDEN = Path(os.environ["TITAN_GOLDEN_DIR"]) / "llama" if os.environ.get("TITAN_GOLDEN_DIR") else Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
