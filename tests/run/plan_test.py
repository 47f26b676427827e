#!/usr/bin/env python3
"""titan plan: what converters would change, against numbers worked out here.

Usage: plan_test.py TITAN_PROGRAM CONFIGS_FOLDER EXAMPLES_FOLDER HAVE_DEVICE_CODE
"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import titan_run

CONFIGS, EXAMPLES = None, None
# A float8 without device code refuses every GPU; what it would replace is the same under emulation.
FLOAT8 = ["--model.converters=float8", "--device=sm_90"]
DEVICE_CODE = True


class Plan(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def plan(self, config, *arguments, status=0):
        done = titan_run.run("plan", config, *arguments,
                             plugins=[EXAMPLES / name for name in ("lora", "sparse24", "fused_projections", "c_scale")])
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def plan_json(self, config, *arguments):
        return json.loads(self.plan(config, "--json", *arguments).stdout)

    def test_float8_on_405b(self):
        plan = self.plan_json(CONFIGS / "llama3_405b.yaml", *FLOAT8)
        self.assertEqual(plan["parameters"], 405_853_388_800)
        self.assertEqual(plan["device"]["capability"], "9.0" if DEVICE_CODE else "0.0")
        modules = {module["fqn"]: module for module in plan["modules"]}
        linears = [module for module in plan["modules"] if module["kind"] == "linear"]
        self.assertEqual(len(linears), 126 * 7 + 1)
        for module in linears:
            if module["fqn"] == "output":
                self.assertEqual(module["changes"], [])
                self.assertEqual(module["stays"], [{"instance": "float8", "reason": "excluded by output"}])
            else:
                [change] = module["changes"]
                self.assertEqual((change["instance"], change["action"]), ("float8", "replace"))
                self.assertEqual("prediction" in change, DEVICE_CODE)  # nothing is predicted for emulation
        self.assertEqual(modules["layers.0.attention.wk"]["own_parameters"], 16384 * 1024)
        totals = plan["totals"]
        self.assertEqual((totals["modules_replaced"], totals["modules_kept"]), (126 * 7, 1))
        self.assertEqual(totals["parameters_added"], 0)
        # Products of every linear layer but the head.
        inside = sum(module["own_parameters"] for module in linears if module["fqn"] != "output")
        self.assertEqual(totals["flops_in_replaced_linears"], 6 * inside)

    @staticmethod
    def tensorwise_time(tokens, dims):
        """Seconds of the three bf16 products, and of those in fp8 with their casts."""
        out, inner = dims
        product = 2 * tokens * out * inner / 790e12
        casts = 6 * (tokens * inner + out * inner + tokens * out) / 4.4e12 + 6 * 2e-6
        return 3 * product, 3 * product / 1.9 + casts

    def test_float8_predicts_speed_on_an_h200(self):
        if not DEVICE_CODE:
            return self.assertNotIn("predicted", self.plan(CONFIGS / "llama3_8b.yaml", *FLOAT8).stdout)
        tokens, dim, kv, hidden = 8192, 4096, 1024, 14336
        plan = self.plan_json(CONFIGS / "llama3_8b.yaml", *FLOAT8, "--training.local_batch_size=1", "--training.seq_len=8192")
        block = {"attention.wq": (dim, dim), "attention.wk": (kv, dim), "attention.wv": (kv, dim), "attention.wo": (dim, dim),
                 "feed_forward.w1": (hidden, dim), "feed_forward.w3": (hidden, dim), "feed_forward.w2": (dim, hidden)}
        changes = {module["fqn"]: module["changes"] for module in plan["modules"]}
        stock = changed = 0
        for name, dims in block.items():
            before, after = self.tensorwise_time(tokens, dims)
            stock, changed = stock + before, changed + after
            prediction = changes["layers.31." + name][0]["prediction"]
            self.assertAlmostEqual(prediction["speedup"], before / after, places=9)
            self.assertEqual(prediction["tokens"], tokens)
            self.assertIn("H200", prediction["basis"])
        together = plan["converters"][0]["prediction"]
        self.assertAlmostEqual(together["speedup"], stock / changed, places=9)
        self.assertEqual(together["flops_per_token"], plan["totals"]["flops_in_replaced_linears"])
        text = self.plan(CONFIGS / "llama3_8b.yaml", *FLOAT8, "--training.local_batch_size=1", "--training.seq_len=8192").stdout
        self.assertRegex(text, r"layers\.\*\.feed_forward\.w1 +32 +linear +float8: replace \(1\.6\dx\)\n")
        self.assertRegex(text, r"float8: linears together predicted to be 1\.6\dx as fast, at 8,192 tokens a call \(modelled: H200")
        # Another architecture has other numbers, which the model does not know.
        self.assertNotIn("predicted", self.plan(CONFIGS / "llama3_8b.yaml", FLOAT8[0], "--device=sm_100").stdout)

    def test_float8_warns_where_it_is_not_worth_it(self):
        arguments = (CONFIGS / "llama3_debug.yaml", *FLOAT8, "--training.mixed_precision_param=bfloat16")
        done = self.plan(*arguments)
        warned = [line for line in (done.stdout + done.stderr).splitlines() if "predicted to run" in line]
        self.assertEqual(len(warned), 1 if DEVICE_CODE else 0, done.stdout + done.stderr)
        if warned:
            self.assertRegex(warned[0], r"its 42 layers together are predicted to run 0\.\d\d times as fast as in bfloat16")
            self.assertIn("raise training.local_batch_size", warned[0])
        self.assertNotIn("predicted to run", self.plan(CONFIGS / "llama3_405b.yaml", *FLOAT8).stderr)

    def test_405b_fits_into_a_laptop(self):
        command = [titan_run.PROGRAM, "plan", CONFIGS / "llama3_405b.yaml", *FLOAT8, "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss * 1024, 1e9)

    def test_devices(self):
        config = CONFIGS / "llama3_debug.yaml"
        enough = 0 if DEVICE_CODE else 2
        for device, status in (("sm_80", 2), ("sm_86", 2), ("sm_89", enough), ("sm_90a", enough), ("9.0", enough),
                               ("sm_100", enough), ("cpu", 2)):
            with self.subTest(device=device):
                self.plan(config, "--model.converters=float8", f"--device={device}", status=status)
        if DEVICE_CODE:
            self.assertIn("8.9", self.plan(config, "--model.converters=float8", "--device=sm_80", status=2).stderr)
        unknown = self.plan(config, "--device=sm_9", status=2).stderr
        self.assertIn("did you mean", unknown)

    def test_text_groups_layers_and_says_why_modules_stay(self):
        text = self.plan(CONFIGS / "llama3_debug.yaml", *FLOAT8,
                         "--float8.exclude=output,layers.[01].attention.wq,layers.3").stdout
        self.assertRegex(text, r"layers\.\*\.attention\.wk|layers\.\{0-2,4-5\}\.attention\.wk")
        self.assertRegex(text, r"layers\.\{2,4-5\}\.attention\.wq +3 +linear +float8: replace")
        self.assertRegex(text, r"layers\.\{0-1\}\.attention\.wq +2 +linear +float8: stays \(excluded by layers\.\[01\]")
        self.assertRegex(text, r"layers\.\{3\}\.attention\.wk +1 +linear +float8: stays \(excluded by layers\.3\)")

    def test_lora_adds_and_freezes(self):
        plan = self.plan_json(self.folder.config, "--model.converters=lora", "--lora.rank=4", "--lora.targets=wq,w2")
        dim, hidden, layers = 32, 96, 2
        added = layers * (4 * (dim + dim) + 4 * (hidden + dim))
        stock = plan["parameters"]
        totals = plan["totals"]
        self.assertEqual(totals["parameters_added"], added)
        self.assertEqual(totals["parameters_frozen"], stock)
        self.assertEqual(totals["weight_bytes"], 4 * added)
        self.assertEqual(totals["gradient_bytes"], 4 * (added - stock))
        self.assertEqual(totals["optimizer_bytes"], 8 * (added - stock))
        # The embedding is a lookup and norms multiply elementwise: neither saves a product.
        products = stock - 320 * dim - dim * (2 * layers + 1)
        self.assertEqual(totals["flops_per_token"], 6 * added - 2 * products)

    def test_buffers_and_layouts(self):
        plan = self.plan_json(self.folder.config, "--model.converters=sparse24,fused_projections",
                              "--sparse24.include=layers.0.attention.wo,output", "--fused_projections.attention=false")
        self.assertEqual(plan["totals"]["buffer_bytes"], 32 * 32 + 320 * 32)
        modules = {module["fqn"]: module for module in plan["modules"]}
        actions = [change["action"] for change in modules["layers.1.feed_forward"]["changes"]]
        self.assertEqual(actions, ["lay out w1.weight, w3.weight as w13", "replace"])
        self.assertEqual(plan["totals"]["weight_bytes"], 0)

    def test_conflicts_are_found_without_a_weight(self):
        done = self.plan(CONFIGS / "llama3_405b.yaml", "--model.converters=float8,fused_projections",
                         *FLOAT8[1:], status=2)
        self.assertIn("'layers.0.attention'", done.stderr)
        self.assertIn("it would never run", done.stderr)

    def test_nothing_to_do_and_no_config(self):
        self.assertIn("no converters are applied", self.plan(self.folder.config).stdout)
        self.assertEqual(titan_run.run("plan").returncode, 2)


if __name__ == "__main__":
    titan_run.PROGRAM, CONFIGS, EXAMPLES = map(Path, sys.argv[1:4])
    if sys.argv[4] not in ("TRUE", "ON", "1"):
        DEVICE_CODE = False
        FLOAT8[1:] = ["--device=cpu", "--float8.emulate=true"]
    unittest.main(argv=sys.argv[:1])
