#!/usr/bin/env python3
"""Checkpoints that are damaged or do not fit the run are refused in words, and nothing changes.

Usage: resume_errors_test.py TITAN_PROGRAM EXAMPLES_FOLDER DRIFT_FOLDER
"""
import json
import shutil
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import flip_last_byte, folder_of, manifest, model, schedule

EXAMPLES = DRIFT = None


class Refused(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, steps, *options, plugins=()):
        return titan_run.train(self.folder, f"--training.steps={steps}", *schedule(), *options, plugins=plugins)

    def run_on(self, *options, plugins=()):
        done = titan_run.run("train", self.folder.config, "--training.steps=3", *schedule(), *options,
                             plugins=plugins)
        return done.returncode, done.stdout + done.stderr

    def refused(self, status, *texts, options=(), plugins=()):
        metrics = (self.folder.out / "metrics.jsonl").read_bytes()
        returned, text = self.run_on(*options, plugins=plugins)
        self.assertEqual(returned, status, text)
        for part in (*texts, "error: ", "fix: "):
            self.assertIn(part, text)
        self.assertNotIn("frame #", text)
        self.assertEqual((self.folder.out / "metrics.jsonl").read_bytes(), metrics, "a refused run changes nothing")

    def test_another_model(self):
        self.train(2)
        self.refused(4, "of another shape", "tok_embeddings.weight: found [320, 32], needed [320, 64]",
                     options=["--model.args.dim=64"])
        self.refused(4, "missing in the file", "layers.2.attention.wq.weight", options=["--model.args.n_layers=3"])
        self.refused(4, "unknown to the model", "layers.1.attention.wq.weight", options=["--model.args.n_layers=1"])

    def test_damage(self):
        self.train(2)
        step = folder_of(self.folder, 2)
        intact = self.folder.path / "intact"
        shutil.copytree(step, intact)

        def restore():
            shutil.rmtree(step)
            shutil.copytree(intact, step)

        for name in ("model.safetensors", "optimizer.safetensors"):
            with self.subTest(name):
                flip_last_byte(step / name)
                self.refused(4, f"step-2/{name}", "the file is damaged", "checksum")
                data = (intact / name).read_bytes()
                (step / name).write_bytes(data[:len(data) // 2])
                self.refused(4, "no checkpoint is complete", f"{name} has {len(data) // 2} bytes", str(len(data)))
                (step / name).unlink()
                self.refused(4, "no checkpoint is complete", f"{name} is missing")
                restore()
        # Every key of it is tested in tests/checkpoint.
        state = manifest(self.folder, 2)
        for text, says in (("{}", "there is no 'kind'"), (json.dumps({**state, "step": 3}), "belongs to step 3")):
            with self.subTest(says):
                (step / "state.json").write_text(text)
                self.refused(4, "no checkpoint is complete", says)
        for key, value, says in (("generators", {"cpu": "12"}, "random number generator 'cpu' is damaged"),
                                 ("loader", {**state["loader"], "document": 99}, "fix: ")):
            with self.subTest(key):
                (step / "state.json").write_text(json.dumps({**state, key: value}))
                self.refused(4, says)
        restore()
        self.assertEqual(self.run_on()[0], 0)

    def test_other_data(self):
        self.train(2)
        other = self.folder.path / "other.txt"
        other.write_text("other data\n" * 200)
        self.refused(4, "made with data of", options=[f"--training.dataset_path={other}"])

    def test_state_of_a_plugin_that_is_not_applied(self):
        self.train(2, "--model.converters=drift", plugins=[DRIFT])
        self.refused(4, "'drift/layers.0.attention.wk.hooks'", "plugin drift 1.2.3", str(DRIFT / "drift.so"), "sha256",
                     "model.converters")
        # Under another name it is another converter's state.
        self.refused(4, "'drift' (plugin drift 1.2.3", plugins=[DRIFT],
                     options=["--model.converters=[{use: drift, as: other}]"])

    def test_a_plugin_that_is_gone(self):
        self.train(2, "--model.converters=drift", plugins=[DRIFT])
        self.refused(2, "drift", "step-2 was made with 'drift' (plugin drift 1.2.3, " + str(DRIFT / "drift.so"),
                     options=["--model.converters=drift"])

    def test_what_makes_a_resume_inexact_is_said(self):
        plugins = [EXAMPLES / "c_scale"]
        self.train(2, "--model.converters=c_scale", "--c_scale.factor=1.0", plugins=plugins)
        changed = self.folder.path / "changed"
        changed.mkdir()
        data = (EXAMPLES / "c_scale" / "c_scale.so").read_bytes()
        (changed / "c_scale.so").write_bytes(data + b"\0")
        status, text = self.run_on("--model.converters=c_scale", "--c_scale.factor=2.0", "--optimizer.lr=1e-3",
                                   plugins=[changed])
        self.assertEqual(status, 0, text)
        for part in ("goes on differently", "c_scale.factor was 1.0, is 2.0", "optimizer.lr was 0.0008, is 0.001",
                     str(plugins[0]), f"is now 'c_scale' (plugin c_scale 1.0.0, {changed}"):
            self.assertIn(part, text)

    def test_state_that_the_checkpoint_lacks_starts_fresh(self):
        self.train(2)
        status, text = self.run_on("--model.converters=drift", plugins=[DRIFT])
        self.assertEqual(status, 0, text)
        self.assertIn("lacks 'drift/layers.0.attention.wq.hooks' and 14 others", text)
        self.assertIn("was not applied, is now", text)

    def test_weights_alone(self):
        self.train(2, "--checkpoint.last_save_model_only=true", "--checkpoint.export_dtype=bfloat16")
        files = sorted(path.name for path in folder_of(self.folder, 2).iterdir())
        self.assertEqual(files, ["model.safetensors", "state.json"])
        self.assertEqual({kind for kind, _, _ in model(self.folder, 2).values()}, {"BF16"})
        self.refused(4, "holds the weights alone", "checkpoint.exclude_from_loading: [optimizer]")
        status, text = self.run_on("--checkpoint.exclude_from_loading=[optimizer]")
        self.assertEqual(status, 0, text)
        self.assertIn("not loaded: optimizer", text)

    def test_a_key_without_effect(self):
        self.train(1)
        done = titan_run.run("train", self.folder.config, "--checkpoint.interval=2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("checkpoint.interval has no effect", done.stderr)

    def test_unknown_part(self):
        self.train(1)
        self.refused(2, "optimiser", "optimizer", options=["--checkpoint.exclude_from_loading=[optimiser]"])


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, DRIFT = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
