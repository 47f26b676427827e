#!/usr/bin/env python3
"""Each example plugin, dropped into a fresh folder, changes a run by what its formula says.

Usage: examples_test.py TITAN_PROGRAM EXAMPLES_FOLDER
"""
import array
import math
import shutil
import sys
import unittest
from pathlib import Path

import saved_steps
import titan_run

EXAMPLES = None


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plain = titan_run.train(self.folder)

    def dropped(self, *names):
        """A fresh folder that holds just these plugins."""
        fresh = self.folder.path / "plugins"
        fresh.mkdir()
        for name in names:
            shutil.copy(EXAMPLES / name / f"{name}.so", fresh)
        return [fresh]

    def assert_same_run(self, lines, tolerance):
        for plain, other in zip(self.plain, lines, strict=True):
            self.assertLessEqual(abs(plain["loss"] - other["loss"]), tolerance * plain["loss"], (plain, other))
            self.assertLessEqual(abs(plain["grad_norm"] - other["grad_norm"]), tolerance * plain["grad_norm"])

    def test_present_but_not_listed_changes_nothing(self):
        plugins = self.dropped("c_scale", "soft_cap", "weight_norm_cap")
        self.assert_same_run(titan_run.train(self.folder, plugins=plugins), 0)

    def test_c_scale(self):
        plugins = self.dropped("c_scale")
        # Factor 1 is the identity, forward and backward.
        self.assert_same_run(titan_run.train(self.folder, "--model.converters=c_scale", "--c_scale.factor=1",
                                             plugins=plugins), 1e-6)
        # Factor 0 on the head makes every logit 0: the loss is ln(vocab) and nothing can learn.
        lines = titan_run.train(self.folder, "--model.converters=c_scale", "--c_scale.factor=0",
                                "--c_scale.include=output", plugins=plugins)
        for line in lines:
            self.assertAlmostEqual(line["loss"], math.log(320), places=5)
            self.assertEqual(line["grad_norm"], 0)
        # Twice on the head undoes half of it: the two instances compose.
        both = ("--model.converters=[{use: c_scale, as: up, include: [output], factor: 2.0},"
                " {use: c_scale, as: down, include: [output], factor: 0.5}]")
        self.assert_same_run(titan_run.train(self.folder, both, plugins=plugins), 1e-6)

    def test_soft_cap(self):
        plugins = self.dropped("soft_cap")
        # tanh is the identity for |y| << cap.
        self.assert_same_run(titan_run.train(self.folder, "--model.converters=soft_cap", "--soft_cap.cap=1e5",
                                             plugins=plugins), 1e-4)
        # |logit| < cap, so the loss is within 2 cap of ln(vocab).
        lines = titan_run.train(self.folder, "--model.converters=soft_cap", "--soft_cap.cap=0.01", plugins=plugins)
        self.assertLessEqual(abs(lines[0]["loss"] - math.log(320)), 0.02)
        self.assertNotAlmostEqual(lines[0]["loss"], self.plain[0]["loss"], places=3)
        self.assertGreater(lines[0]["grad_norm"], 0)  # torch's autograd goes through it

    def test_weight_norm_cap(self):
        plugins = self.dropped("weight_norm_cap")
        # A bound that no row reaches.
        lines = titan_run.train(self.folder, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e6",
                                plugins=plugins)
        self.assert_same_run(lines, 0)
        self.assertEqual([line["weight_norm_cap/capped_rows"] for line in lines], [0, 0, 0])
        # Rows of the head of norm 1e-5 give logits of about 1e-4: the loss is ln(vocab), also in step 1,
        # because the hook runs once after initialisation; each AdamW step makes every row too long again.
        lines = titan_run.train(self.folder, "--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e-5",
                                "--weight_norm_cap.include=output", plugins=plugins)
        self.assertAlmostEqual(lines[0]["loss"], math.log(320), places=2)
        self.assertGreater(lines[0]["weight_norm_cap/capped_rows"], 0)

    def test_lora(self):
        plugins = self.dropped("lora")
        # B starts at zero: the first step computes what the base computes.
        lines = titan_run.train(self.folder, "--model.converters=lora", plugins=plugins)
        self.assertEqual(lines[0]["loss"], self.plain[0]["loss"])
        # The base is frozen: only A and B have gradients, and A's are zero while B is.
        self.assertLess(lines[0]["grad_norm"], self.plain[0]["grad_norm"])
        # alpha 0 switches adapters off: the loss never moves but for the data.
        off = titan_run.train(self.folder, "--model.converters=lora", "--lora.alpha=0", plugins=plugins)
        still = titan_run.train(self.folder, "--optimizer.lr=0")
        self.assertEqual([line["loss"] for line in off], [line["loss"] for line in still])
        self.assertEqual([line["grad_norm"] for line in off], [0, 0, 0])
        # Every layer adapted with a full rank learns.
        full = titan_run.train(self.folder, "--model.converters=lora", "--lora.rank=32", "--training.steps=30",
                               "--lora.targets=wq,wk,wv,wo,w1,w2,w3,output", "--optimizer.lr=0.01", plugins=plugins)
        self.assertLess(full[-1]["loss"], 0.9 * full[0]["loss"])

    def test_lora_over_float8_in_either_order(self):
        plugins = self.dropped("lora")
        one, other = (titan_run.train(self.folder, f"--model.converters={names}", "--float8.emulate=true",
                                      "--training.steps=50", "--metrics.log_freq=1", plugins=plugins)
                      for names in ("float8,lora", "lora,float8"))
        self.assertEqual(len(one), 50)
        self.assertEqual([line["loss"] for line in one], [line["loss"] for line in other])
        self.assertNotEqual(one[0]["loss"], self.plain[0]["loss"])  # float8's rounding is there

    def saved(self, *overrides, plugins):
        """A run with a checkpoint of its last step, in a folder of its own."""
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        lines = titan_run.train(folder, "--checkpoint.enable=true", *overrides, plugins=plugins)
        return folder, lines

    def test_lora_adapter_alone(self):
        plugins = self.dropped("lora")
        model_only = "--checkpoint.last_save_model_only=true"
        lora = ("--model.converters=lora", "--optimizer.lr=0.01")
        base, _ = self.saved("--training.steps=1", "--optimizer.lr=0", model_only, plugins=[])
        whole, _ = self.saved(*lora, model_only, plugins=plugins)
        alone, _ = self.saved(*lora, model_only, "--checkpoint.adapter_only=true", plugins=plugins)
        names = saved_steps.model(alone, 3)
        self.assertEqual(sorted(names), sorted(f"lora/layers.{i}.attention.{w}.lora_{m}"
                                               for i in range(2) for w in ("wq", "wv") for m in "ab"))
        self.assertEqual(names, {name: value for name, value in saved_steps.model(whole, 3).items() if name in names})
        # The frozen base is what it was, so base + adapter is the whole.
        once = ("--model.converters=lora", "--training.steps=1", "--optimizer.lr=0")
        loaded = [titan_run.train(self.folder, *once, *paths, plugins=plugins)[0]["loss"] for paths in (
            [f"--checkpoint.initial_load_path={saved_steps.folder_of(whole, 3)}"],
            [f"--checkpoint.initial_load_path={saved_steps.folder_of(base, 1)}",
             f"--checkpoint.adapter_load_path={saved_steps.folder_of(alone, 3)}"],
            [f"--checkpoint.initial_load_path={saved_steps.folder_of(base, 1)}"])]
        self.assertEqual(loaded[0], loaded[1])
        self.assertNotEqual(loaded[0], loaded[2])
        done = titan_run.run("train", self.folder.config, f"--checkpoint.adapter_load_path={saved_steps.folder_of(alone, 3)}")
        self.assertEqual(done.returncode, 4)
        self.assertIn("no applied converter adds", done.stderr)

    def test_sparse24_weights_stay_sparse(self):
        run, _ = self.saved("--model.converters=sparse24", "--sparse24.include=layers.0", plugins=self.dropped("sparse24"))
        tensors = saved_steps.model(run, 3)
        masks = [name for name in tensors if name.endswith(".mask")]
        self.assertEqual(len(masks), 7)
        for name in masks:
            weight = array.array("f", tensors[name.removeprefix("sparse24/").removesuffix("mask") + "weight"][2])
            mask = tensors[name][2]
            for group in range(0, len(mask), 4):
                self.assertEqual(sum(mask[group:group + 4]), 2)
                self.assertEqual([value != 0 for value in weight[group:group + 4]], [bool(m) for m in mask[group:group + 4]])

    def test_sparse24(self):
        plugins = self.dropped("sparse24")
        lines = titan_run.train(self.folder, "--model.converters=sparse24", "--sparse24.include=output", plugins=plugins)
        self.assertNotEqual(lines[0]["loss"], self.plain[0]["loss"])
        self.assertGreater(lines[0]["grad_norm"], 0)

    def test_monitor_looks_on(self):
        plugins = self.dropped("monitor")
        lines = titan_run.train(self.folder, "--model.converters=monitor", "--monitor.kinds=linear,rms_norm,decoder",
                                "--monitor.freq=2", plugins=plugins)
        self.assert_same_run(lines, 0)
        # RMSNorm with weights of 1 puts out rows of root mean square 1.
        self.assertAlmostEqual(lines[0]["monitor/layers.0.attention_norm.output_rms"], 1, places=3)
        self.assertIn("monitor/.output_max" if "monitor/.output_max" in lines[0] else "monitor/output_max", lines[0])
        self.assertAlmostEqual(lines[1]["monitor/layers.1.ffn_norm.weight_norm"], math.sqrt(32), places=1)
        self.assertNotIn("monitor/layers.0.attention_norm.output_rms", lines[2])  # step 3 is not measured

    def test_scale_norm(self):
        plugins = self.dropped("scale_norm")
        # With gains of 1 and g = sqrt(dim) both norms are the same but for RMSNorm's eps.
        lines = titan_run.train(self.folder, "--model.converters=scale_norm", "--optimizer.lr=0", plugins=plugins)
        still = titan_run.train(self.folder, "--optimizer.lr=0")
        for plain, other in zip(still, lines, strict=True):
            self.assertLessEqual(abs(plain["loss"] - other["loss"]), 1e-4 * plain["loss"])
        # One gradient for all channels is another gradient norm; recomputing gives the same numbers.
        learning = titan_run.train(self.folder, "--model.converters=scale_norm", plugins=plugins)
        self.assertNotEqual(learning[0]["grad_norm"], self.plain[0]["grad_norm"])
        again = titan_run.train(self.folder, "--model.converters=scale_norm", "--activation_checkpoint.mode=full",
                                plugins=plugins)
        self.assertEqual([line["loss"] for line in again], [line["loss"] for line in learning])

    def test_fused_projections(self):
        plugins = self.dropped("fused_projections")
        lines = titan_run.train(self.folder, "--model.converters=fused_projections", plugins=plugins)
        self.assert_same_run(lines, 2e-6)
        # The mere presence of a layout changes which weights a run starts from by nothing.
        half = titan_run.train(self.folder, "--model.converters=fused_projections",
                               "--fused_projections.attention=false", plugins=plugins)
        self.assert_same_run(half, 2e-6)

    def test_fused_projections_in_bfloat16(self):
        """The feed-forward part has another way for types that its own loops do not cover."""
        plugins = self.dropped("fused_projections")
        narrow = "--training.mixed_precision_param=bfloat16"
        stock = titan_run.train(self.folder, narrow)
        fused = titan_run.train(self.folder, narrow, "--model.converters=fused_projections", plugins=plugins)
        for one, other in zip(stock, fused, strict=True):
            self.assertLessEqual(abs(one["loss"] - other["loss"]), 1e-3 * one["loss"], (one, other))
            self.assertLessEqual(abs(one["grad_norm"] - other["grad_norm"]), 2e-2 * one["grad_norm"], (one, other))

    def test_all_three_over_one_another(self):
        plugins = self.dropped("c_scale", "soft_cap", "weight_norm_cap")
        for names in ("c_scale,soft_cap,weight_norm_cap", "weight_norm_cap,soft_cap,c_scale"):
            lines = titan_run.train(self.folder, f"--model.converters={names}", "--c_scale.factor=1.0",
                                    "--soft_cap.cap=1e5", "--weight_norm_cap.max_norm=1e6", plugins=plugins)
            self.assert_same_run(lines, 1e-4)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
