#!/usr/bin/env python3
"""Runs that go on from another point, with other parts, converters or data, lose nothing and mix nothing.

Usage: resume_branches_test.py TITAN_PROGRAM EXAMPLES_FOLDER
"""
import array
import json
import struct
import sys
import unittest
from pathlib import Path

import titan_run
from saved_steps import folder_of, model, numbers, schedule, steps_of

EXAMPLES = None


class Branches(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def run_with(self, *options, plugins=()):
        done = titan_run.run("train", self.folder.config, *schedule(), *options, plugins=plugins)
        return done.returncode, done.stdout + done.stderr

    def train(self, *options, plugins=()):
        return titan_run.train(self.folder, *schedule(), *options, plugins=plugins)

    def kept(self):
        return sorted(path.name for path in (self.folder.out / "checkpoint").iterdir() if ".kept-" in path.name)

    def test_another_branch_does_not_mix_with_the_old_one(self):
        whole = self.train("--training.steps=6", "--checkpoint.interval=2")
        self.train("--training.steps=4", "--checkpoint.interval=1", "--checkpoint.keep_latest_k=2", "--checkpoint.load_step=2")
        self.assertEqual(steps_of(self.folder), [3, 4])
        self.assertEqual(self.kept(), ["step-4.kept-1", "step-6.kept-1"])
        # Without load_step the new branch is the latest; no step is missing in the metrics.
        lines = self.train("--training.steps=6")
        self.assertEqual(numbers(lines), numbers(whole))

    def test_a_run_that_counts_anew_sets_the_old_one_aside(self):
        self.train("--training.steps=4", "--checkpoint.interval=2")
        status, text = self.run_with("--training.steps=2", "--checkpoint.interval=1",
                                     "--checkpoint.exclude_from_loading=[train_state,lr_scheduler,dataloader]")
        self.assertEqual(status, 0, text)
        self.assertIn("goes on from step 0", text)
        self.assertEqual(steps_of(self.folder), [1, 2])
        self.assertEqual(self.kept(), ["step-2.kept-1", "step-4.kept-1"])

    def test_without_the_model_weights_begin_as_those_of_a_new_run(self):
        base = titan_run.Folder()
        self.addCleanup(base.close)
        titan_run.train(base, "--training.steps=3", "--checkpoint.enable=true", "--optimizer.lr=0.01")
        path = f"--checkpoint.initial_load_path={folder_of(base, 3)}"
        expected = titan_run.train(self.folder, "--training.steps=1", path)[0]["loss"]
        self.train("--training.steps=2")
        lines = self.train("--training.steps=3", path, "--checkpoint.exclude_from_loading=[model,optimizer,dataloader]")
        self.assertEqual(lines[-1]["loss"], expected)

    def test_an_adapter_alone_says_how_to_go_on(self):
        lora = ["--model.converters=lora", "--checkpoint.last_save_model_only=true", "--checkpoint.adapter_only=true"]
        self.train("--training.steps=2", *lora, plugins=[EXAMPLES / "lora"])
        for more in ((), ("--checkpoint.exclude_from_loading=[optimizer]",)):
            status, text = self.run_with("--training.steps=3", *lora, *more, plugins=[EXAMPLES / "lora"])
            self.assertEqual(status, 4, text)
            self.assertIn("checkpoint.adapter_load_path=", text)

    def test_the_hook_of_a_new_converter_counts_from_its_first_step(self):
        self.train("--training.steps=2")
        sparse = ["--model.converters=sparse24"]
        path = f"--checkpoint.initial_load_path={folder_of(self.folder, 2)}"
        other = titan_run.Folder()
        self.addCleanup(other.close)
        expected = titan_run.train(other, "--training.steps=1", path, *sparse, plugins=[EXAMPLES / "sparse24"])
        lines = self.train("--training.steps=3", *sparse, "--checkpoint.exclude_from_loading=[dataloader,optimizer]",
                           plugins=[EXAMPLES / "sparse24"])
        self.assertEqual(lines[-1]["loss"], expected[0]["loss"])

    def test_other_data_of_the_same_size_is_noticed(self):
        self.train("--training.steps=2")
        text = self.folder.text.read_text()
        self.folder.text.write_text(text[:10].upper() + text[10:])
        status, output = self.run_with("--training.steps=3")
        self.assertEqual(status, 4, output)
        self.assertIn("same size, but other tokens", output)
        status, output = self.run_with("--training.steps=3", "--checkpoint.exclude_from_loading=[dataloader]")
        self.assertEqual(status, 0, output)

    def test_values_that_the_export_type_cannot_hold_stay_as_they_are(self):
        self.train("--training.steps=1", "--checkpoint.last_save_model_only=true")
        file = folder_of(self.folder, 1) / "model.safetensors"
        data = bytearray(file.read_bytes())
        size = struct.unpack("<Q", data[:8])[0]
        begin = json.loads(data[8:8 + size])["tok_embeddings.weight"]["data_offsets"][0] + 8 + size
        # A token that the text never has.
        data[begin + 4 * 32 * 319:begin + 4 * 32 * 320] = array.array("f", [3e38] * 32).tobytes()
        edited = self.folder.path / "edited.safetensors"
        edited.write_bytes(data)
        out = self.folder.path / "narrow"
        status, text = self.run_with("--training.steps=1", f"--job.dump_folder={out}", f"--checkpoint.initial_load_path={edited}",
                                     "--checkpoint.last_save_model_only=true", "--checkpoint.export_dtype=float16")
        self.assertEqual(status, 0, text)
        self.assertIn("'tok_embeddings.weight' has values that Half cannot hold", text)
        self.folder.out = out
        types = {name: value[0] for name, value in model(self.folder, 1).items()}
        self.assertEqual(types.pop("tok_embeddings.weight"), "F32")
        self.assertEqual(set(types.values()), {"F16"})

    def test_a_step_of_another_format_stays(self):
        self.train("--training.steps=4", "--checkpoint.interval=2")
        state = folder_of(self.folder, 4) / "state.json"
        text = json.loads(state.read_text())
        text["format"] = 2
        state.write_text(json.dumps(text))
        status, output = self.run_with("--training.steps=4", "--checkpoint.interval=2")
        self.assertEqual(status, 4, output)
        self.assertIn("titan that made it", output)
        status, output = self.run_with("--training.steps=4", "--checkpoint.interval=2", "--checkpoint.load_step=2")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.kept(), ["step-4.kept-1"])

    def test_forgotten_checkpoints_are_mentioned_and_metrics_kept(self):
        lines = self.train("--training.steps=2")
        done = titan_run.run("train", self.folder.config, "--training.steps=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("step-2 is there, but checkpoints are not enabled", done.stderr)
        kept = (self.folder.out / "metrics.previous.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line) for line in kept], lines)

    def test_fewer_steps_than_done(self):
        self.train("--training.steps=2")
        status, text = self.run_with("--training.steps=1")
        self.assertEqual(status, 0, text)
        self.assertIn("nothing is left to train", text)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES = Path(sys.argv[1]), Path(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
