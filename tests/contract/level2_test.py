#!/usr/bin/env python3
"""A plugin of level 2 in the real program: gradients added up in float32 and in place, facts about the run, and
predictions in `titan plan`.

Usage: level2_test.py TITAN_PROGRAM PLUGINS_FOLDER SDK_INCLUDE EXAMPLES_FOLDER
"""
import json
import sys
import unittest
from pathlib import Path

import titan_run

PLUGINS = None
MIXED = "--training.mixed_precision_param=bfloat16"
# Three micro-batches a step; one; three, with every block computed twice.
WAYS = (("--training.global_batch_size=6",), (), ("--training.global_batch_size=6", "--activation_checkpoint.mode=full"))


class Level2(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, *overrides):
        return titan_run.train(self.folder, "--model.converters=summed_linear", *overrides, plugins=[PLUGINS])

    def test_in_place_and_set_give_the_same_run(self):
        place = "summed_linear/layers.0.attention.wq.in_place"
        for extra in WAYS:
            for types in ((), (MIXED,)):
                with self.subTest(extra=extra, types=types):
                    added = self.train(*extra, *types)
                    given = self.train(*extra, *types, "--summed_linear.in_place=false")
                    for one, two in zip(added, given, strict=True):
                        self.assertEqual((one["loss"], one["grad_norm"]), (two["loss"], two["grad_norm"]))
                        # The last micro-batch finds a sum only if there was one before it.
                        self.assertEqual((one[place], two[place]), (1 if extra else 0, 0))

    def test_it_is_the_stock_layer(self):
        plain = titan_run.train(self.folder, WAYS[0][0])
        for one, two in zip(plain, self.train(WAYS[0][0]), strict=True):
            self.assertLessEqual(abs(one["loss"] - two["loss"]), 1e-5 * one["loss"])
            self.assertLessEqual(abs(one["grad_norm"] - two["grad_norm"]), 1e-4 * one["grad_norm"])

    def test_hooks_are_told_of_the_device(self):
        for line in self.train():
            self.assertEqual((line["summed_linear/device"], line["summed_linear/has_stream"]), (1, 0))

    def test_plan_shows_predictions(self):
        arguments = ("plan", self.folder.config, "--model.converters=summed_linear", "--summed_linear.speedup=1.25",
                     "--summed_linear.exclude=output")
        done = titan_run.run(*arguments, plugins=[PLUGINS])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"layers\.\*\.attention\.wq +2 +linear +summed_linear: replace \(1\.25x\)\n")
        self.assertRegex(done.stdout, r"output +1 +linear +summed_linear: stays \(excluded by output\)\n")
        # 2 sequences of 32 tokens, linears in float32: what the converter was told at create().
        self.assertIn("\nsummed_linear: linears together predicted to be 1.25x as fast, at 64 tokens a call (made up, for 32 bits)\n",
                      done.stdout)
        plan = json.loads(titan_run.run(*arguments, "--json", MIXED, plugins=[PLUGINS]).stdout)
        prediction = plan["converters"][0]["prediction"]
        self.assertAlmostEqual(prediction.pop("speedup"), 1.25, places=12)
        self.assertEqual(prediction, {"tokens": 64, "flops_per_token": plan["totals"]["flops_in_replaced_linears"],
                                      "bases": ["made up, for 16 bits"]})
        changes = {module["fqn"]: module["changes"] for module in plan["modules"]}
        self.assertEqual(changes["layers.1.feed_forward.w2"], [{
            "instance": "summed_linear", "action": "replace",
            "prediction": {"speedup": 1.25, "tokens": 64, "basis": "made up, for 16 bits"}}])

    def test_plan_without_predictions_shows_none(self):
        arguments = ("plan", self.folder.config, "--model.converters=summed_linear")
        self.assertNotIn("predicted", titan_run.run(*arguments, plugins=[PLUGINS]).stdout)
        plan = json.loads(titan_run.run(*arguments, "--json", plugins=[PLUGINS]).stdout)
        self.assertIsNone(plan["converters"][0]["prediction"])


if __name__ == "__main__":
    titan_run.PROGRAM, PLUGINS = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
