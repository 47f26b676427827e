#!/usr/bin/env python3
"""titan estimate: what it says of states against numbers worked out here, and how fast it says so.

Peaks of real runs are compared in tests/commands/estimate_test.cpp.

Usage: estimate_test.py TITAN_PROGRAM CONFIGS_FOLDER EXAMPLES_FOLDER
"""
import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run

CONFIGS, EXAMPLES = None, None
GB = 10**9


class Estimate(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def text(self, config, *arguments, status=0, plugins=("lora", "c_scale")):
        done = titan_run.run("estimate", config, *arguments, plugins=[EXAMPLES / name for name in plugins])
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def json(self, config, *arguments, **options):
        return json.loads(self.text(config, "--json", *arguments, **options))

    def test_405b_is_estimated_in_seconds_without_memory(self):
        command = [titan_run.PROGRAM, "estimate", CONFIGS / "llama3_405b.yaml", "--device=sm_90", "--json"]
        start = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
            made = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        # Processor time: others may be at work on this machine.
        self.assertLess(usage.ru_utime + usage.ru_stime, 5, f"{time.monotonic() - start:.1f} s passed")
        self.assertLess(usage.ru_maxrss * 1024, 1e9)
        parameters = 405_853_388_800
        self.assertEqual(made["parameters"], parameters)
        during = made["during_step"]
        self.assertEqual((during["parameters"], during["gradients"]), (4 * parameters, 4 * parameters))
        self.assertEqual(during["optimizer"], 8 * parameters + 4 * 1137)
        self.assertEqual([(one["device"], one["memory_bytes"], one["fits"]) for one in made["fits"]],
                         [("H100", 80 * GB, False), ("H200", 141 * GB, False)])
        # Mode full: 16384 tokens of each block's input, and what the last blocks need on the way.
        inputs = 126 * 16384 * 16384 * 4
        self.assertGreater(during["activations"], inputs)
        # By torchtitan's definition, and the blocks' forward once more.
        self.assertAlmostEqual(made["least_seconds"] * 989e12, made["flops"] + made["recomputed_flops"], delta=1e12)
        self.assertAlmostEqual(made["recomputed_flops"] / made["flops"], 1 / 3, delta=0.02)

    def test_shards_divide_states(self):
        config = CONFIGS / "llama3_8b.yaml"
        whole = self.json(config, "--device=sm_90")
        shared = self.json(config, "--device=sm_90", "--parallelism.data_parallel_shard_degree=8",
                           "--parallelism.data_parallel_replicate_degree=2")
        self.assertEqual((shared["devices"], shared["shard_degree"]), (16, 8))
        self.assertEqual(shared["tokens"], 16 * whole["tokens"])
        for part in ("parameters", "gradients", "optimizer"):
            self.assertLessEqual(abs(shared["during_step"][part] * 8 - whole["during_step"][part]), 8, part)
        # Two units in bfloat16, but for norms and the embedding, and the largest unit's gradients.
        dim, vocabulary = 4096, 128256
        block = 4 * dim * dim - 2 * dim * 3072 + 3 * dim * 14336
        rest = 4 * vocabulary * dim + 2 * vocabulary * dim + 4 * dim
        gradients = 4 * (2 * vocabulary * dim + dim)
        self.assertEqual(shared["at_peak"]["gathered"], 2 * block + 4 * 2 * dim + rest + gradients)
        self.assertEqual(shared["at_peak"]["compute_copies"], 0)
        self.assertGreater(whole["during_step"]["compute_copies"], 2 * 32 * block)
        text = self.text(config, "--device=sm_90", "--parallelism.data_parallel_shard_degree=8")
        self.assertIn("all 8, during a step", text)
        self.assertIn("assumed sharded as FSDP2 does it", text)

    def test_knobs_are_estimated_anew(self):
        config = self.folder.config
        made = self.json(config, "--training.local_batch_size=8", "--activation_checkpoint.mode=none")
        knobs = {knob["set"]: knob for knob in made["knobs"]}
        for key, setting in (("activation_checkpoint.mode: full", ["--activation_checkpoint.mode=full"]),
                             ("training.dtype: bfloat16", ["--activation_checkpoint.mode=none", "--training.dtype=bfloat16",
                                                           "--training.mixed_precision_param=bfloat16"]),
                             ("model.converters: lora", ["--activation_checkpoint.mode=none", "--model.converters=lora"])):
            with self.subTest(key=key):
                other = self.json(config, "--training.local_batch_size=8", *setting)
                self.assertEqual(knobs[key]["peak_bytes"], other["at_peak"]["total"])
                self.assertEqual(knobs[key]["saved_bytes"], made["at_peak"]["total"] - other["at_peak"]["total"])
                self.assertGreater(knobs[key]["saved_bytes"], 0)
        accumulated = knobs["training.local_batch_size: 1, training.global_batch_size: 8"]
        self.assertEqual(accumulated["tokens"], made["tokens"])
        self.assertLess(accumulated["peak_bytes"], made["at_peak"]["total"])
        self.assertEqual(knobs["training.local_batch_size: 1"]["tokens"] * 8, made["tokens"])
        self.assertNotIn("activation_checkpoint.mode: none", knobs)
        self.assertNotIn("lora", self.text(config, plugins=()))

    def test_lora_trains_little(self):
        made = self.json(self.folder.config, "--model.converters=lora", "--lora.rank=4", "--lora.targets=wq")
        self.assertEqual(made["trainable_parameters"], 2 * 4 * (32 + 32))
        self.assertEqual(made["during_step"]["gradients"], 4 * made["trainable_parameters"])
        self.assertGreater(made["during_step"]["converters"], 0)
        self.assertNotIn("does not say", " ".join(made["assumptions"]))

    def test_says_what_is_assumed_and_what_is_not_known(self):
        self.assertIn("converter c_scale does not say what its code holds in 15 modules",
                      self.text(self.folder.config, "--model.converters=c_scale", "--device=cpu"))
        text = self.text(self.folder.config, "--device=sm_120")
        self.assertIn("time    not known", text)
        self.assertIn("fits on RTX 5090", text)
        cpu = self.text(self.folder.config, "--device=cpu")
        self.assertRegex(cpu, r"verdict fits on .* \(\d+\.\d\d GiB\)")

    def test_errors(self):
        self.assertIn("titan estimate configs/", self.text("--json", status=2))
        self.assertIn("did you mean", self.text(self.folder.config, "--device=sm_9", status=2))
        self.assertIn("on 4 devices", self.text(self.folder.config, "--training.global_batch_size=6",
                                                "--parallelism.data_parallel_shard_degree=4", status=2))


if __name__ == "__main__":
    titan_run.PROGRAM, CONFIGS, EXAMPLES = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
