#!/usr/bin/env python3
"""The driver of scripts/device_check.sh where a CPU plays the GPU: every part runs, finds what it should and says so.

Usage: driver_test.py DRIVER_ON_DOUBLE DRIVER FLOAT8_SO FLOAT8_ON_DOUBLE_SO
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVER = REAL_DRIVER = PLUGIN = DEVICE_PLUGIN = None
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
HOPPER = ["tensorwise", "delayed", "rowwise", "rowwise_with_gw_hp", "blockwise"]


def run_driver(folder, *options, capability=90, **environment):
    """The finished process, and its report."""
    report = Path(folder) / "report.json"
    result = subprocess.run(
        [DRIVER, "--plugin", DEVICE_PLUGIN, "--emulation", PLUGIN, "--json", report, *options], capture_output=True, text=True,
        env={**os.environ, "FLOAT8_DOUBLE_CAPABILITY": str(capability), **environment})
    return result, json.loads(report.read_text()) if report.exists() else None


def named(entries, beginning):
    return [entry for entry in entries if entry["what"].startswith(beginning)]


def flip_a_bit(path, tensor, index):
    """In one byte of a tensor of a safetensors file."""
    data = bytearray(path.read_bytes())
    header = int.from_bytes(data[:8], "little")
    first = json.loads(data[8:8 + header])[tensor]["data_offsets"][0]
    data[8 + header + first + index] ^= 1
    path.write_bytes(data)


class WholeRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.result, cls.report = run_driver(folder)

    def test_everything_holds(self):
        failed = [check for check in self.report["checks"] if not check["held"]]
        self.assertEqual(failed, [])
        self.assertEqual(self.result.returncode, 0, self.result.stdout + self.result.stderr)
        self.assertEqual(self.report["status"], "held")
        self.assertIn(f"{len(self.report['checks'])} held, 0 did not hold", self.result.stdout)

    def test_every_part_ran(self):
        self.assertEqual(self.report["parts"],
                         dict.fromkeys(["device", "casts", "layers", "training", "recording", "kernels", "speed"], "done"))

    def test_the_device_is_described(self):
        device = self.report["device"]
        self.assertEqual(device["capability"], "9.0")
        self.assertGreater(device["copy_bytes_per_s"], 0)
        self.assertGreater(device["bfloat16_tflops"], 0)
        self.assertEqual(len(device["copy_ms"]), 2)

    def test_casts_are_compared(self):
        checks = self.report["checks"]
        compared = [int(check["found"].split()[0]) for check in checks if "compared, the same bits" in check["found"]]
        self.assertGreaterEqual(len(compared), 24)  # six of references, two for each of nine kinds
        self.assertGreater(min(compared), 0)
        self.assertGreater(sum(compared), 500)
        self.assertEqual(len(named(checks, "reference casts")) + len(named(checks, "reference codes")), 6)

    def test_layers_of_every_recipe_are_compared(self):
        for recipe in HOPPER:
            checks = [check for check in named(self.report["checks"], recipe) if check["part"] == "layers"]
            self.assertGreaterEqual(len(checks), 2, recipe)
        walk = named(self.report["checks"], "delayed, reference walk")
        self.assertGreaterEqual(int(walk[0]["found"].split()[0]), 100)

    def test_recipes_of_other_devices_are_left_out_with_the_reason(self):
        left_out = named(self.report["left_out"], "mxfp8")
        self.assertTrue(left_out)
        for entry in left_out:
            self.assertIn("needs compute capability 10.0", entry["why"])

    def test_training_curves_are_there(self):
        training = self.report["measured"]["training"]
        self.assertEqual(list(training), ["bfloat16", *HOPPER])
        curves = [tuple(training[recipe]["device"]) for recipe in training]
        self.assertEqual({len(curve) for curve in curves}, {16})
        self.assertEqual(len(set(curves)), len(curves), "two recipes gave the same losses")
        self.assertNotEqual(training["delayed"]["device"], training["delayed"]["emulated"])
        self.assertTrue(named(self.report["checks"], "delayed, first state of the weights"))

    def test_recordings_are_made(self):
        for recipe in HOPPER:
            made = [check for check in self.report["checks"]
                    if check["what"].startswith(recipe + ",") and check["part"].startswith("nothing waits")]
            self.assertEqual(len(made), 2, recipe)

    def test_kernels_are_measured(self):
        measured = self.report["measured"]
        self.assertGreaterEqual(len(measured["products"]), 7)
        self.assertEqual(len(measured["casts"]), 9)
        self.assertEqual(len(measured["maxima"]), 2)
        for entry in [*measured["products"], *measured["maxima"]]:
            self.assertEqual(len(entry["ms"]), 2)
        # A CPU has no target to reach.
        self.assertTrue(named(self.report["not_judged"], "fp8 with fast accumulation over bfloat16"))

    def test_layers_are_measured_beside_the_prediction(self):
        layers = self.report["measured"]["layers"]
        for recipe in HOPPER:
            rows = [row for row in layers if row["how"] == recipe]
            self.assertEqual(len(rows), 2, recipe)
            for row in rows:
                self.assertEqual(len(row["recorded_ms"]), 2)
                self.assertGreater(row["predicted_speedup"], 0)
                self.assertAlmostEqual(row["measured_over_predicted"], row["speedup"] / row["predicted_speedup"], places=9)
        self.assertEqual(len([row for row in layers if row["how"] == "bfloat16"]), 2)


class Parts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_device_of_another_kind_gets_its_recipes(self):
        result, report = run_driver(self.folder.name, "--only", "layers", capability=100)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertTrue(named(report["checks"], "mxfp8, reference layers"))
        self.assertTrue(named(report["left_out"], "blockwise"))

    def test_what_no_longer_fits_is_said_to_be_left_out(self):
        result, report = run_driver(self.folder.name, "--seconds", "0.001", "--only", "casts,speed")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(report["status"], "incomplete")
        self.assertEqual({entry["why"] for entry in report["left_out"]}, {"time"})
        self.assertIn("left out (time)", result.stdout)
        self.assertNotIn("casts", report["measured"])

    def test_wrong_bits_are_found(self):
        golden = Path(self.folder.name) / "golden"
        shutil.copytree(GOLDEN, golden)
        flip_a_bit(golden / "float8/blockwise.safetensors", "lin/torchao/xT_1x128/fp8", 777)
        result, report = run_driver(self.folder.name, "--only", "casts", TITAN_GOLDEN_DIR=str(golden))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(report["status"], "failed")
        failed = [check for check in report["checks"] if not check["held"]]
        self.assertEqual([check["what"][:32] for check in failed], ["reference casts of blocks of 128"])
        self.assertIn("1 of 14 differ; the first: lin/torchao/xT_1x128: element 777", failed[0]["found"])
        self.assertIn("DID NOT HOLD", result.stdout)

    def test_a_run_that_died_is_gone_on_with(self):
        _, first = run_driver(self.folder.name, "--only", "kernels")
        first["parts"]["casts"] = "begun"
        (Path(self.folder.name) / "report.json").write_text(json.dumps(first))
        result, report = run_driver(self.folder.name, "--only", "casts,kernels,recording", "--resume", "yes")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(report["parts"], {"device": "done", "kernels": "done", "casts": "died", "recording": "done"})
        self.assertEqual(report["measured"]["products"], first["measured"]["products"])
        failed = [check for check in report["checks"] if not check["held"]]
        self.assertEqual([(check["part"], check["what"]) for check in failed], [("casts", "the part as a whole")])

    def test_mistakes_on_the_command_line(self):
        for options, said in {("--only", "cast"): "--only knows no part 'cast'", ("--seconds", "soon"): "takes a number of seconds",
                              ("--speed", "1"): "there is no option '--speed'", ("--json",): "lacks its value"}.items():
            result = subprocess.run([DRIVER, *options], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, options)
            self.assertIn(said, result.stderr)
            self.assertIn("fix:", result.stderr)

    def test_without_a_gpu_the_driver_says_so(self):
        result = subprocess.run([REAL_DRIVER, "--plugin", PLUGIN, "--json", Path(self.folder.name) / "none.json"], capture_output=True, text=True,
                                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn("no CUDA device was found", result.stderr)


if __name__ == "__main__":
    DRIVER, REAL_DRIVER, PLUGIN, DEVICE_PLUGIN = sys.argv[1:5]
    del sys.argv[1:5]
    unittest.main()
