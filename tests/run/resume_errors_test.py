#!/usr/bin/env python3
"""Checkpoints that do not fit or are damaged are refused in words; weights go to any other run.

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
        for text, says in (("", "not the state"), ("{}", "there is no 'kind'"), ("[1]", "not the state"),
                           ((intact / "state.json").read_text()[:300], "not the state")):
            with self.subTest(text[:10]):
                (step / "state.json").write_text(text)
                self.refused(4, "no checkpoint is complete", says)
        restore()
        state = manifest(self.folder, 2)
        for key, value, says in (("step", 3, "belongs to step 3"), ("format", 99, "format 99"),
                                 ("tokens_seen", -1, "tokens_seen"), ("generators", [], "generators"),
                                 ("files", {}, "does not list the model")):
            with self.subTest(key):
                (step / "state.json").write_text(json.dumps({**state, key: value}))
                self.refused(4, "no checkpoint is complete", says)
        for key, value, says in (("generators", {"cpu": "12"}, "random number generator 'cpu' is damaged"),
                                 ("generators", {}, "no state of the random number generator 'cpu'"),
                                 ("loader", {**state["loader"], "total_bytes": 5}, "made with data of 5 bytes"),
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
        self.refused(4, "drift/layers.0.attention.wq.hooks", "plugin drift 1.2.3", str(DRIFT / "drift.so"), "sha256",
                     "model.converters")
        # Under another name it is another converter's state.
        self.refused(4, "'drift' (plugin drift 1.2.3", plugins=[DRIFT],
                     options=["--model.converters=[{use: drift, as: other}]"])

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
        self.assertIn("has no 'drift/layers.0.attention.wq.hooks': it keeps its initial value", text)
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


class Interchange(unittest.TestCase):
    """Weights saved with a converter start a run without it, and the other way round."""

    CONVERTERS = {
        "float8": ["--model.converters=float8", "--float8.emulate=true"],
        "c_scale": ["--model.converters=c_scale", "--c_scale.factor=2"],
        "soft_cap": ["--model.converters=soft_cap"],
        "weight_norm_cap": ["--model.converters=weight_norm_cap", "--weight_norm_cap.max_norm=1e6"],
        "drift": ["--model.converters=drift"],
    }

    def save(self, *options):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        titan_run.train(folder, *options, "--checkpoint.enable=true",
                        plugins=[DRIFT, *EXAMPLES.iterdir()])
        return folder

    def stock(self, folder, step):
        return {name: value for name, value in model(folder, step).items() if "/" not in name}

    def test_each_converter(self):
        still = ["--training.steps=1", "--optimizer.lr=0"]  # saves what it loads
        plain = self.save("--training.steps=2")
        for name, options in self.CONVERTERS.items():
            with self.subTest(name):
                converted = self.save("--training.steps=2", *options)
                self.assertEqual(self.stock(converted, 2).keys(), model(plain, 2).keys())
                without = self.save(*still, f"--checkpoint.initial_load_path={folder_of(converted, 2)}")
                self.assertEqual(model(without, 1), self.stock(converted, 2))
                with_it = self.save(*still, *options, f"--checkpoint.initial_load_path={folder_of(plain, 2)}")
                self.assertEqual(self.stock(with_it, 1), model(plain, 2))

    def test_a_damaged_step_is_no_start(self):
        folder = self.save("--training.steps=1")
        path = folder_of(folder, 1) / "model.safetensors"
        flip_last_byte(path)
        for given in (path, path.parent):
            done = titan_run.run("train", folder.config, f"--checkpoint.initial_load_path={given}")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("the file is damaged", done.stderr)

    def test_state_that_is_left_behind_is_named(self):
        folder = self.save("--training.steps=1", *self.CONVERTERS["drift"])
        done = titan_run.run("train", folder.config, f"--checkpoint.initial_load_path={folder_of(folder, 1)}",
                             "--training.steps=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'drift/layers.0.attention.wq.hooks', which no applied converter uses", done.stderr)
        self.assertIn(f"'drift' (plugin drift 1.2.3, {DRIFT}/drift.so", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, DRIFT = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
