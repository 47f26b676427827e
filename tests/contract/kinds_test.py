#!/usr/bin/env python3
"""Every kind of module, replaced by plugin code that writes its formula out again, gives the run it gave
before; with gradient accumulation and with activation checkpointing too.

Usage: kinds_test.py TITAN_PROGRAM PLUGINS_FOLDER
"""
import math
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = None
KINDS = ("linear", "rms_norm", "embedding", "attention", "feed_forward", "block")
# Two micro-batches a step, every block computed twice.
HEAVY = ("--training.global_batch_size=4", "--activation_checkpoint.mode=full")


class Kinds(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, *overrides):
        return titan_run.train(self.folder, *overrides, plugins=[PLUGINS])

    def assert_same_run(self, expected, lines, tolerance):
        for one, other in zip(expected, lines, strict=True):
            for key in ("loss", "grad_norm"):
                self.assertLessEqual(abs(one[key] - other[key]), tolerance * one[key], (key, one, other))

    def test_formulas_written_out_again(self):
        for extra in ((), HEAVY):
            plain = self.train(*extra)
            for kind in KINDS:
                with self.subTest(kind=kind, extra=extra):
                    lines = self.train("--model.converters=by_hand", f"--by_hand.kind={kind}", *extra)
                    self.assert_same_run(plain, lines, 2e-6)

    def test_a_wrong_formula_would_be_seen(self):
        plain = self.train()
        lines = self.train("--model.converters=by_hand", "--by_hand.kind=rms_norm", "--by_hand.include=norm",
                           "--model.args.norm_eps=1e-2")
        self.assertGreater(abs(plain[0]["loss"] - lines[0]["loss"]), 1e-5 * plain[0]["loss"])

    def test_two_kinds_at_once(self):
        both = "--model.converters=[{use: by_hand, as: a, kind: attention}, {use: by_hand, as: n, kind: rms_norm}]"
        self.assert_same_run(self.train(*HEAVY), self.train(both, *HEAVY), 2e-6)

    def test_own_backward_in_c(self):
        for extra in ((), HEAVY):
            with self.subTest(extra=extra):
                # A gain of 1 that learns changes the run from step 2 on; without learning it must not.
                fixed = ("--optimizer.lr=0", *extra)
                plain = self.train(*fixed)
                lines = self.train("--model.converters=own_linear", *fixed)
                self.assertLessEqual(abs(plain[0]["loss"] - lines[0]["loss"]), 2e-6 * plain[0]["loss"])
                # The norm has the gain's gradients too.
                self.assertGreater(lines[0]["grad_norm"], plain[0]["grad_norm"])

    def test_state_changes_once_for_each_micro_batch(self):
        for micro_batches, extra in ((1, ()), (2, HEAVY)):
            lines = self.train("--model.converters=own_linear", "--own_linear.include=layers.0.attention.wq", *extra)
            counts = [line["own_linear/layers.0.attention.wq.calls"] for line in lines]
            self.assertEqual(counts, [micro_batches * step for step in (1, 2, 3)])

    def test_versions_rise_with_every_step(self):
        lines = self.train("--model.converters=own_linear", "--own_linear.include=layers.0.attention.wq")
        versions = [line["own_linear/layers.0.attention.wq.version"] for line in lines]
        self.assertEqual(versions, [versions[0], versions[0] + 1, versions[0] + 2])

    def test_frozen_parameters_do_not_move_and_ties_share(self):
        plain = self.train()
        everything = ("tok_embeddings,output,norm," + ",".join(
            f"layers.{i}.{name}" for i in range(2) for name in (
                "attention.wq", "attention.wk", "attention.wv", "attention.wo", "attention_norm", "ffn_norm",
                "feed_forward.w1", "feed_forward.w2", "feed_forward.w3")).replace("norm,", "norm,"))
        names = everything.split(",")
        # All frozen but one: the gradient norm is that one's.
        kept = "layers.1.feed_forward.w2"
        lines = self.train("--model.converters=values",
                           "--values.freeze=" + ",".join(name for name in names if name != kept))
        self.assertAlmostEqual(lines[0]["loss"], plain[0]["loss"], places=6)
        self.assertLess(lines[0]["grad_norm"], plain[0]["grad_norm"])
        # Nothing left to train is an error.
        done = titan_run.run("train", self.folder.config, "--model.converters=values",
                             f"--values.freeze={everything}", plugins=[PLUGINS])
        self.assertEqual(done.returncode, 2, done.stderr)
        tied = self.train("--model.converters=values", "--values.tie=true")
        self.assertNotEqual(tied[0]["loss"], plain[0]["loss"])

    def test_rules_of_initial_values(self):
        run = self.train("--model.converters=inits", "--training.steps=1")[0]
        seen = lambda name: run[f"inits/layers.0.attention.wq.{name}"]  # noqa: E731
        for name, mean, std in (("constant", 0.25, 0), ("normal", 1.0, 0.5), ("uniform", 0.5, 5 / math.sqrt(12)),
                                ("kaiming", 0.0, (1 / 16) / math.sqrt(3))):
            self.assertAlmostEqual(seen(f"{name}.mean"), mean, delta=0.02)
            self.assertAlmostEqual(seen(f"{name}.std"), std, delta=0.02)
        self.assertTrue(-2 <= seen("uniform.min") < -1.99 and 2.99 < seen("uniform.max") < 3)
        self.assertTrue(-1 / 16 <= seen("kaiming.min") < -0.062 and 0.062 < seen("kaiming.max") <= 1 / 16)
        self.assertEqual(seen("copy.different"), 0)
        # What was added changes nothing in the rest, and another seed gives other values.
        self.assertEqual(run["loss"], self.train("--training.steps=1")[0]["loss"])
        other = self.train("--model.converters=inits", "--training.steps=1", "--training.seed=1")[0]
        self.assertNotEqual(other["inits/layers.0.attention.wq.normal.mean"], seen("normal.mean"))

    def test_caches_are_dropped_when_weights_are_loaded(self):
        one = ("--model.converters=own_linear", "--own_linear.include=layers.0.attention.wq", "--training.steps=1")
        drops = "own_linear/layers.0.attention.wq.drops"
        fresh = self.train(*one, "--checkpoint.enable=true", "--checkpoint.last_save_model_only=true")
        self.assertEqual(fresh[0][drops], 0)
        saved = self.folder.out / "checkpoint/step-1"
        self.assertEqual(self.train(*one, f"--checkpoint.initial_load_path={saved}")[0][drops], 1)

    def test_tier_exact(self):
        plain = self.train()
        lines = self.train("--model.converters=exact_cap")
        self.assert_same_run(plain, lines, 0)
        lines = self.train("--model.converters=exact_cap", "--exact_cap.cap=-1000.0")
        self.assertAlmostEqual(lines[0]["loss"], 5.7683, places=3)  # all logits -1000: ln(320)


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
