#!/usr/bin/env python3
"""A run that resumes, again and again, equals one that never stopped, bit for bit.

Usage: resume_test.py TITAN_PROGRAM EXAMPLES_FOLDER DRIFT_FOLDER
"""
import json
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import LONG, digest, manifest, model, numbers, schedule, shapes, steps_of

EXAMPLES = DRIFT = None


class Resume(unittest.TestCase):
    def folder(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        # Short, so that the data begins again within a run.
        folder.text.write_text("".join(f"{i} is a number, {i * i} its square\n" for i in range(12)))
        return folder

    def assert_resumes(self, *options, plugins=()):
        """One run of 8 steps against 3, 2 more, and the rest; returns the folders of both."""
        whole, pieces = self.folder(), self.folder()
        lines = titan_run.train(whole, f"--training.steps={LONG}", *schedule(), *options, plugins=plugins)
        for steps in (3, 5, LONG):
            resumed = titan_run.train(pieces, f"--training.steps={steps}", *schedule(), *options, plugins=plugins)
            self.assertEqual(numbers(resumed), numbers(lines)[:steps])
        self.assertEqual(steps_of(whole), [LONG])
        self.assertEqual(steps_of(pieces), [3, 5, LONG])
        first, second = digest(whole, LONG), digest(pieces, LONG)
        for key in first:
            self.assertEqual(first[key], second[key], key)
        return whole, pieces

    def test_plain(self):
        whole, _ = self.assert_resumes()
        loader = manifest(whole, LONG)["loader"]
        self.assertGreaterEqual(loader["epoch"], 1)
        self.assertGreater(loader["token"], 0)

    def test_gradient_accumulation(self):
        self.assert_resumes("--training.global_batch_size=6", "--training.seq_len=16")

    def test_async(self):
        self.assert_resumes("--checkpoint.async_mode=async")

    def test_float8(self):
        self.assert_resumes("--model.converters=float8", "--float8.emulate=true")

    def test_a_hook_that_changes_weights(self):
        # Every row of the head is scaled to norm 0.1 after each step; once more after load.
        self.assert_resumes("--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=0.1",
                            plugins=[EXAMPLES / "weight_norm_cap"])

    def test_state_of_a_converter(self):
        whole, _ = self.assert_resumes("--model.converters=drift", plugins=[DRIFT])
        name = "drift/layers.0.attention.wq.hooks"
        self.assertEqual(model(whole, LONG)[name][:2], ("F32", [1]))
        plain = self.folder()
        lines = titan_run.train(plain, f"--training.steps={LONG}", *schedule())
        drifted = [json.loads(line) for line in (whole.out / "metrics.jsonl").read_text().splitlines()]
        self.assertNotEqual(drifted[-1]["loss"], lines[-1]["loss"], "the state must matter for this test to count")
        record = manifest(whole, LONG)["converters"][0]
        self.assertEqual((record["plugin"], record["version"]), ("drift", "1.2.3"))
        self.assertEqual(record["file"], str(DRIFT / "drift.so"))
        self.assertEqual(len(record["sha256"]), 64)

    def test_another_layout(self):
        fused, lora = EXAMPLES / "fused_projections", EXAMPLES / "lora"
        whole, _ = self.assert_resumes("--model.converters=fused_projections", plugins=[fused])
        plain, mixed_run = self.folder(), self.folder()
        lines = titan_run.train(plain, f"--training.steps={LONG}", *schedule())
        self.assertEqual(manifest(plain, LONG)["files"].keys(), manifest(whole, LONG)["files"].keys())
        for name in manifest(plain, LONG)["files"]:
            self.assertEqual(shapes(whole, LONG, name), shapes(plain, LONG, name))
        # A run goes on with the converter, and without it again, moments included.
        for steps, options in ((3, []), (5, ["--model.converters=fused_projections"]), (LONG, [])):
            mixed = titan_run.train(mixed_run, f"--training.steps={steps}", *schedule(), *options,
                                    plugins=[fused])
        for one, other in zip(lines, mixed, strict=True):
            self.assertAlmostEqual(one["loss"], other["loss"], places=4)
            self.assertAlmostEqual(one["grad_norm"], other["grad_norm"], places=3)
        self.assert_resumes("--model.converters=lora", plugins=[lora])

    def test_float8_over_state_over_hooks(self):
        names = "--model.converters=[{use: float8, include: ['layers.*']}, drift, weight_norm_cap]"
        self.assert_resumes(names, "--float8.emulate=true", "--weight_norm_cap.max_norm=0.5",
                            plugins=[DRIFT, EXAMPLES / "weight_norm_cap"])


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, DRIFT = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
