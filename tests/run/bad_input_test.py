#!/usr/bin/env python3
"""Whatever is wrong is named, with its place and its cure, and gives the documented exit status.

Usage: bad_input_test.py TITAN_PROGRAM NASTY_FOLDER EXAMPLES_FOLDER
"""
import os
import shutil
import struct
import sys
import time
import unittest
from pathlib import Path

import titan_run

NASTY = EXAMPLES = None


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plugins = self.folder.path / "plugins"
        self.plugins.mkdir()

    def refused(self, status, *texts, arguments=None, overrides=()):
        """Runs `train` (or `arguments`) and checks status, texts, and that a fix is offered."""
        arguments = arguments if arguments is not None else ["train", self.folder.config, *overrides]
        done = titan_run.run(*arguments, plugins=[self.plugins])
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, status, output)
        for text in (*texts, "error: ", "fix: "):
            self.assertIn(text, output)
        self.assertNotIn("frame #", output)
        return output

    def write(self, text):
        self.folder.config.write_text(text)

    def drop(self, name, content=None):
        """Puts a fixture into the plugin folder: a file of the nasty ones, or given bytes."""
        target = self.plugins / f"{name}.so"
        if content is None:
            shutil.copy(NASTY / f"{name}.so", target)
        else:
            target.write_bytes(content)
        return target

    def wanted(self, name):
        return [f"--model.converters={name}"]

    # --- the command line and the config ---
    def test_no_config(self):
        self.refused(2, "no config file was given", "titan train configs/llama3_debug.yaml", arguments=["train"])

    def test_config_missing(self):
        self.refused(2, "nowhere.yaml", arguments=["train", "nowhere.yaml"])

    def test_unknown_command(self):
        self.refused(2, "unknown command 'trian'", "did you mean 'train'", arguments=["trian"])

    def test_unknown_single_dash_option(self):
        self.refused(2, "unknown option '-x'", overrides=["-x"])

    def test_two_configs(self):
        self.refused(2, "two config files", overrides=[self.folder.config])

    def test_broken_yaml(self):
        self.write("training:\n  steps: [1, 2\nmodel: }\n")
        self.refused(2, "small.yaml:")

    def test_unknown_key(self):
        self.write("optimizer:\n  lrr: 1\n")
        self.refused(2, "small.yaml:2:3", "lrr", "did you mean 'lr'")

    def test_unknown_section(self):
        self.write("optimiser:\n  lr: 1\n")
        self.refused(2, "small.yaml:1:1", "optimiser", "optimizer")

    def test_duplicate_key(self):
        self.write("training:\n  steps: 1\n  steps: 2\n")
        self.refused(2, "small.yaml:3:3", "steps")

    def test_wrong_type(self):
        self.refused(2, "training.steps", overrides=["--training.steps=many"])

    def test_out_of_range(self):
        self.refused(2, "training.steps", overrides=["--training.steps=-1"])

    def test_unknown_flavor(self):
        self.refused(2, "7B", "8B", overrides=["--model.flavor=7B"])

    # --- data and output ---
    def test_dataset_missing(self):
        self.refused(4, "nothing.txt", overrides=[f"--training.dataset_path={self.folder.path}/nothing.txt"])

    def test_dataset_empty(self):
        empty = self.folder.path / "empty.txt"
        empty.touch()
        self.refused(4, "empty.txt", overrides=[f"--training.dataset_path={empty}"])

    def test_dataset_is_a_fifo(self):
        fifo = self.folder.path / "fifo"
        os.mkfifo(fifo)
        self.refused(4, "fifo", overrides=[f"--training.dataset_path={fifo}"])

    def test_built_in_text_not_fetched(self):
        done = titan_run.run("train", self.folder.config, "--training.dataset=pride_and_prejudice",
                             "--training.dataset_path=", env={"TITAN_DATA_DIR": "/nowhere"})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("./dev", done.stderr)

    def test_token_beyond_the_vocabulary(self):
        tokens = self.folder.path / "tokens.bin"
        tokens.write_bytes(struct.pack("<100H", *([1] * 99 + [500])))
        self.refused(4, "500", "319", overrides=["--training.dataset=tokens", f"--training.dataset_path={tokens}"])

    def test_weights_missing(self):
        self.refused(4, "w.safetensors", overrides=["--checkpoint.initial_load_path=w.safetensors"])

    def test_output_folder_is_a_file(self):
        # A plain read-only folder would not stop root.
        self.refused(3, "job.dump_folder", overrides=[f"--job.dump_folder={self.folder.text}/out"])

    def test_divergence_names_the_step(self):
        self.refused(5, "not finite in step", overrides=["--optimizer.lr=1e30", "--training.steps=8"])

    # --- converters and plugins ---
    def test_unknown_converter(self):
        self.drop("good")
        self.refused(2, "floot8", str(self.plugins), "found: ", overrides=self.wanted("floot8"))

    def test_converter_list_with_an_empty_item(self):
        self.refused(2, "model.converters", overrides=["--model.converters=a,,b"])

    def test_text_file(self):
        path = self.drop("text", b"GROUP ( libfoo.so.1 )\n")
        self.refused(2, str(path), "ELF", overrides=self.wanted("text"))

    def test_truncated(self):
        whole = (NASTY / "good.so").read_bytes()
        path = self.drop("short", whole[:2000])  # inside a loaded segment
        self.refused(2, str(path), "cut", overrides=self.wanted("nasty"))

    def test_other_architecture(self):
        whole = bytearray((NASTY / "good.so").read_bytes())
        whole[18:20] = struct.pack("<H", 183)  # e_machine: AArch64
        path = self.drop("arm", bytes(whole))
        self.refused(2, str(path), "AArch64", overrides=self.wanted("nasty"))

    def test_entry_fails(self):
        for name in ("throws", "returns_error", "nothing"):
            with self.subTest(name):
                path = self.drop(name)
                listed = titan_run.run("plugins", "list", plugins=[self.plugins])
                self.assertEqual(listed.returncode, 0)
                converter = listed.stdout.splitlines()[1].split()[0]
                self.refused(2, str(path), overrides=self.wanted(converter))
                path.unlink()

    def test_a_bad_plugin_that_is_not_asked_for_costs_nothing(self):
        self.drop("throws")
        self.drop("short", (NASTY / "good.so").read_bytes()[:5000])
        titan_run.train(self.folder, "--training.steps=1", plugins=[self.plugins])

    def test_listing_survives_everything(self):
        for path in NASTY.glob("*.so"):
            shutil.copy(path, self.plugins)
        self.drop("text", b"text")
        os.mkfifo(self.plugins / "fifo.so")
        (self.plugins / "folder.so").mkdir()
        (self.plugins / "loop.so").symlink_to("loop.so")
        (self.plugins / "dangling.so").symlink_to("gone")
        begin = time.monotonic()
        done = titan_run.run("plugins", "list", plugins=[self.plugins])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, 30)
        for name in ("fifo.so", "folder.so", "loop.so", "dangling.so", "text.so"):
            self.assertIn(name, done.stdout)

    # --- options of converters ---
    def example(self, name):
        shutil.copy(EXAMPLES / name / f"{name}.so", self.plugins)
        return self.wanted(name)

    def test_option_out_of_range(self):
        wanted = self.example("c_scale")
        self.refused(2, "c_scale.factor", "16", overrides=[*wanted, "--c_scale.factor=17"])

    def test_option_of_the_wrong_type(self):
        wanted = self.example("c_scale")
        self.refused(2, "c_scale.factor", overrides=[*wanted, "--c_scale.factor=big"])

    def test_unknown_option(self):
        wanted = self.example("c_scale")
        self.refused(2, "facter", "did you mean 'factor'", overrides=[*wanted, "--c_scale.facter=1"])

    def test_option_of_a_converter_that_is_not_applied(self):
        self.example("c_scale")
        self.refused(2, "c_scale", "model.converters", overrides=["--c_scale.factor=1"])

    def test_selector_without_match(self):
        wanted = self.example("c_scale")
        self.refused(2, "layers.0.attention.wz", "did you mean 'layers.0.attention.w",
                     overrides=[*wanted, "--c_scale.include=layers.0.attention.wz"])

    def test_nothing_left_to_convert(self):
        wanted = self.example("c_scale")
        self.refused(2, "changes nothing", overrides=[*wanted, "--c_scale.include=norm"])

    def test_conflicts_and_double_application(self):
        wanted = self.example("c_scale")
        self.refused(2, "c_scale", "as", overrides=[f"{wanted[0]},c_scale"])

    def test_float8_on_a_machine_without_a_gpu(self):
        # Found where the installation keeps it.
        output = self.refused(2, "float8", "8.9", "float8.emulate", overrides=self.wanted("float8"))
        self.assertNotIn("step:", output)


if __name__ == "__main__":
    titan_run.PROGRAM, NASTY, EXAMPLES = map(Path, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
