#!/usr/bin/env python3
"""Qwen3: norms of q and k, heads of their own width, a tied head; with converters written for Llama's kinds.

Usage: qwen3_test.py TITAN_PROGRAM CONFIGS_FOLDER EXAMPLES_FOLDER
"""
import json
import math
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import LONG, digest, folder_of, model, numbers, schedule, shapes

CONFIGS = EXAMPLES = None
QWEN3 = ("--model.name=qwen3", "--model.args.head_dim=16")  # 4 heads of 16 over a width of 32
FLOAT8 = ("--model.converters=float8", "--float8.emulate=true")
LAYERS, DIM, VOCABULARY, HEADS, KV_HEADS, HEAD, HIDDEN = 2, 32, 320, 4, 2, 16, 96
ATTENTION = 2 * DIM * HEADS * HEAD + 2 * DIM * KV_HEADS * HEAD + 2 * HEAD
PARAMETERS = LAYERS * (ATTENTION + 3 * DIM * HIDDEN + 2 * DIM) + DIM + VOCABULARY * DIM


class Qwen3(unittest.TestCase):
    def folder(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        return folder

    def train(self, *options, folder=None):
        return numbers(titan_run.train(folder or self.folder(), *QWEN3, *options, plugins=[EXAMPLES.parent, *EXAMPLES.iterdir()]))

    def plan(self, *arguments):
        done = titan_run.run("plan", *arguments, "--json", plugins=list(EXAMPLES.iterdir()))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_tied_head_is_saved_once(self):
        folder = self.folder()
        self.train("--checkpoint.enable=true", folder=folder)
        saved = shapes(folder, 3, "model.safetensors")
        self.assertNotIn("output.weight", saved)
        self.assertEqual(saved["tok_embeddings.weight"], ("F32", [VOCABULARY, DIM]))
        self.assertEqual(saved["layers.1.attention.k_norm.weight"], ("F32", [HEAD]))
        self.assertEqual(saved["layers.0.attention.wq.weight"], ("F32", [HEADS * HEAD, DIM]))
        self.assertEqual(sum(math.prod(shape) for _, shape in saved.values()), PARAMETERS)
        moments = shapes(folder, 3, "optimizer.safetensors")
        self.assertEqual(len(moments), 3 * len(saved))

    def test_a_run_that_resumes_is_one_that_never_stopped(self):
        for options in ((), FLOAT8, ("--model.converters=lora",), ("--model.args.enable_weight_tying=false",)):
            with self.subTest(options):
                whole, pieces = self.folder(), self.folder()
                lines = self.train(f"--training.steps={LONG}", *schedule(), *options, folder=whole)
                for steps in (3, LONG):
                    resumed = self.train(f"--training.steps={steps}", *schedule(), *options, folder=pieces)
                    self.assertEqual(resumed, lines[:steps])
                self.assertEqual(digest(whole, LONG), digest(pieces, LONG))

    def test_recompute_changes_no_number(self):
        plain = self.train()
        for mode in ("full", "selective"):
            for types in ((), ("--training.mixed_precision_param=bfloat16",)):
                want = self.train(*types) if types else plain
                self.assertEqual(self.train(f"--activation_checkpoint.mode={mode}", "--activation_checkpoint.selective_ac_option=op",
                                            *types), want)

    def test_float8(self):
        plain = self.train()
        # The head too, whose weight is looked up elsewhere.
        for options in (("--float8.exclude=output",), ()):
            lines = self.train(*FLOAT8, *options)
            for one, other in zip(lines, plain, strict=True):
                self.assertNotEqual(one["loss"], other["loss"])
                self.assertAlmostEqual(one["loss"], other["loss"], delta=0.02)
                self.assertAlmostEqual(one["grad_norm"], other["grad_norm"], delta=0.05 * other["grad_norm"])

    def test_lora_trains_adapters_alone(self):
        plain, folder = self.train(), self.folder()
        lines = self.train("--model.converters=lora", "--checkpoint.enable=true", "--checkpoint.interval=1", folder=folder)
        self.assertEqual(lines[0]["loss"], plain[0]["loss"])
        first, last = model(folder, 1), model(folder, 3)
        for name, value in first.items():
            self.assertEqual(value == last[name], "/" not in name, name)

    def test_lora_freezes_a_tied_parameter_once(self):
        totals = self.plan(self.folder().config, *QWEN3, "--model.converters=lora")["totals"]
        self.assertEqual(totals["parameters_frozen"], PARAMETERS)

    def test_fused_projections_leave_attention_alone(self):
        plain = self.train()
        lines = self.train("--model.converters=fused_projections")
        for one, other in zip(lines, plain, strict=True):
            self.assertAlmostEqual(one["loss"], other["loss"], delta=2e-6 * other["loss"])
        plan = self.plan(self.folder().config, *QWEN3, "--model.converters=fused_projections")
        stays = {module["fqn"]: module for module in plan["modules"]}["layers.0.attention"]
        self.assertEqual(stays["kind"], "qk_norm_attention")
        self.assertEqual(stays["changes"], [])
        self.assertIn("q and k are normalised", stays["stays"][0]["reason"])
        done = titan_run.run("train", self.folder().config, *QWEN3, "--model.converters=fused_projections",
                             "--fused_projections.feed_forward=false", plugins=[EXAMPLES / "fused_projections"])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("changes nothing in this model", done.stderr)
        self.assertIn("q and k are normalised", done.stderr)

    def test_plan_counts_a_tied_table_once(self):
        debug = self.plan(CONFIGS / "qwen3_debug.yaml", "--model.converters=lora")
        self.assertEqual(debug["parameters"], 6_426_624)
        self.assertEqual(debug["flops_per_token"], 6 * 6_426_624 + 12 * 6 * 8 * 64 * 256)
        large = self.plan(CONFIGS / "qwen3_8b.yaml", *FLOAT8, "--device=cpu")
        self.assertEqual(large["parameters"], 8_190_735_360)
        self.assertEqual(large["totals"]["modules_replaced"], 36 * 7)

    def test_the_shipped_config_learns(self):
        folder = self.folder()
        done = titan_run.run("train", CONFIGS / "qwen3_debug.yaml", "--training.dataset=text", f"--training.dataset_path={folder.text}",
                             f"--job.dump_folder={folder.out}", "--training.steps=6", "--training.local_batch_size=1",
                             "--training.seq_len=64", "--training.device=cpu", *FLOAT8)
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = [json.loads(line)["loss"] for line in (folder.out / "metrics.jsonl").read_text().splitlines()]
        self.assertTrue(math.log(2048) < losses[0] < math.log(2048) + 0.8, losses)
        self.assertLess(losses[-1], losses[0] - 0.5)

    def test_a_flavor_of_another_family_is_named(self):
        done = titan_run.run("train", self.folder().config, "--model.name=qwen3", "--model.flavor=70B")
        self.assertEqual(done.returncode, 2)
        self.assertIn("model 'qwen3' has no flavor '70B'", done.stderr)
        self.assertIn("0.6B", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, CONFIGS, EXAMPLES = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
