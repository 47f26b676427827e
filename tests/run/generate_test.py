#!/usr/bin/env python3
"""titan generate and the samples of a run: the same texts from every source, with and without cache and plugins.

Usage: generate_test.py TITAN_PROGRAM EXAMPLES_FOLDER FLOAT8_FOLDER GOLDEN_HF_FOLDER GOLDEN_TOKENIZERS_FOLDER
"""
import json
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run
from saved_steps import folder_of

EXAMPLES = FLOAT8 = HF = TOKENIZERS = None


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = titan_run.Folder()
        cls.addClassCleanup(cls.folder.close)
        titan_run.train(cls.folder, "--checkpoint.enable=true", "--training.steps=20", "--optimizer.lr=0.02",
                        "--model.args.max_seq_len=128")
        cls.step = folder_of(cls.folder, 20)

    def generate(self, *arguments, plugins=(), status=0):
        done = titan_run.run("generate", *arguments, plugins=plugins)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def texts(self, *arguments, plugins=()):
        return json.loads(self.generate(*arguments, "--json", plugins=plugins).stdout)

    def test_every_source_gives_the_same_text(self):
        wanted = self.texts(self.step, "--prompt=line 1", "--max-new-tokens=20")
        self.assertEqual(len(wanted), 1)
        self.assertEqual(wanted[0]["prompt_tokens"], 1 + len("line 1"))
        self.assertEqual(len(wanted[0]["ids"]), 20)
        for source in (self.folder.out, self.folder.out / "checkpoint"):
            self.assertEqual(self.texts(source, "--prompt=line 1", "--max-new-tokens=20"), wanted)
        self.assertEqual(self.texts(self.folder.config, "--prompt=line 1", "--max-new-tokens=20",
                                    "--model.args.max_seq_len=128"), wanted)
        streamed = self.generate(self.step, "--prompt=line 1", "--max-new-tokens=20")
        self.assertEqual(streamed.stdout, wanted[0]["text"] + "\n")
        self.assertIn("20 tokens in", streamed.stderr)

    def test_training_taught_it_something(self):
        text = self.texts(self.step, "--prompt=line 12: the quick", "--temperature=0", "--max-new-tokens=12")[0]["text"]
        self.assertTrue(set(text) <= set("line 0123456789:thequickbrownfox,\n"), text)

    def test_neither_cache_nor_batch_matters(self):
        prompts = [f"--prompt={text}" for text in ("line", "the quick brown fox", "", "42")]
        options = [self.step, *prompts, "--max-new-tokens=24", "--samples=2"]
        wanted = self.texts(*options)
        self.assertEqual([text["prompt"] for text in wanted], ["line"] * 2 + ["the quick brown fox"] * 2 + [""] * 2 + ["42"] * 2)
        self.assertNotEqual(wanted[0]["ids"], wanted[1]["ids"])
        self.assertEqual(self.texts(*options, "--no-cache"), wanted)
        self.assertEqual(self.texts(*options, "--batch-size=3"), wanted)
        self.assertEqual(self.texts(*options, "--batch-size=1"), wanted)
        self.assertNotEqual(self.texts(*options, "--seed=1")[0]["ids"], wanted[0]["ids"])

    def test_converted_models(self):
        runs = {"lora": (["--model.converters=lora"], [EXAMPLES / "lora"]),
                "float8": (["--model.converters=float8", "--float8.emulate=true", "--float8.recipe=rowwise"], [FLOAT8]),
                # Replaces attention: no code but its own may keep keys and values.
                "soft_cap": (["--model.converters=soft_cap"], [EXAMPLES / "soft_cap"])}
        for name, (options, plugins) in runs.items():
            with self.subTest(converter=name):
                folder = titan_run.Folder()
                self.addCleanup(folder.close)
                titan_run.train(folder, "--checkpoint.enable=true", "--optimizer.lr=0.05", *options, plugins=plugins)
                step = folder_of(folder, 3)
                options = [step, "--prompt=line", "--max-new-tokens=10", "--temperature=0"]
                wanted = self.texts(*options, plugins=plugins)
                self.assertEqual(self.texts(*options, "--no-cache", plugins=plugins), wanted)
                self.assertIn(f"converter {name}", self.generate(*options, plugins=plugins).stderr)
                if name != "float8":  # which is installed with the program
                    refused = self.generate(*options, status=2)
                    self.assertIn(name, refused.stderr)

    def test_hugging_face_folders(self):
        path = Path(self.folder.path)
        wanted = self.texts(self.step, "--prompt=line", "--max-new-tokens=16")
        for arguments in (["export", self.step, "--output", path / "hf", "--dtype=float32"],
                          ["import", path / "hf", "--output", path / "imported"]):
            done = titan_run.run(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
        for folder in (path / "hf", path / "imported"):
            refused = self.generate(folder, "--prompt=line", status=4)
            self.assertIn("holds no tokenizer", refused.stderr)
            self.assertEqual(self.texts(folder, "--prompt=line", "--max-new-tokens=16", "--model.tokenizer_format=bytes",
                                        "--training.mixed_precision_param=float32"), wanted)
        # Its own list of end tokens counts beside the tokenizer's.
        options = [path / "hf", "--prompt=line", "--max-new-tokens=16", "--model.tokenizer_format=bytes", "--temperature=0"]
        free = self.texts(*options)[0]
        (path / "hf/generation_config.json").write_text(json.dumps({"eos_token_id": [319, free["ids"][5]]}))
        ended = self.texts(*options)[0]
        self.assertEqual((ended["finish"], ended["ids"]), ("eos", free["ids"][:free["ids"].index(free["ids"][5]) + 1]))
        small = self.generate(HF / "llama_scaled", "--model.tokenizer_format=bytes", status=2)
        self.assertIn("259", small.stderr)

    def test_ends(self):
        free = self.texts(self.step, "--prompt=line 7", "--max-new-tokens=60", "--ignore-eos")[0]
        self.assertEqual(free["finish"], "length")
        stop = next(part for part in free["text"].split(" ")[1:] if part)
        stopped = self.texts(self.step, "--prompt=line 7", "--max-new-tokens=60", "--ignore-eos", f"--stop={stop}")[0]
        self.assertEqual((stopped["finish"], stopped["text"]), ("stop", free["text"][:free["text"].index(stop)]))
        long = self.texts(self.step, "--prompt=" + "x" * 120, "--max-new-tokens=60", "--ignore-eos")[0]
        self.assertEqual((long["finish"], len(long["ids"])), ("context", 128 - 121 + 1))

    def test_prompt_files_and_standard_input(self):
        path = Path(self.folder.path) / "prompt.txt"
        path.write_text("line 3\n")
        wanted = self.texts(self.step, "--prompt=line 3", "--max-new-tokens=8")
        self.assertEqual(self.texts(self.step, "--prompt-file", path, "--max-new-tokens=8"), wanted)
        done = subprocess.run([titan_run.PROGRAM, "generate", self.step, "--prompt-file", "-", "--max-new-tokens=8", "--json"],
                              input="line 3", capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, json.loads(done.stdout)), (0, wanted), done.stderr)

    def test_chat(self):
        tokenizer = TOKENIZERS / "qwen.json"
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        titan_run.train(folder, "--checkpoint.enable=true", f"--model.tokenizer_path={tokenizer}", "--model.args.vocab_size=2048")
        step = folder_of(folder, 3)
        plain = self.texts(step, "--prompt=hi", "--max-new-tokens=4")[0]
        chat = self.texts(step, "--prompt=hi", "--chat=chatml", "--max-new-tokens=4")[0]
        asked = self.texts(step, "--prompt=<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "--special-tokens",
                           "--max-new-tokens=4")[0]
        self.assertGreater(chat["prompt_tokens"], plain["prompt_tokens"])
        self.assertEqual((chat["prompt_tokens"], chat["ids"]), (asked["prompt_tokens"], asked["ids"]))
        self.assertIn("llama3", self.generate(step, "--chat=llama3", status=2).stderr)
        self.assertIn("--chat", self.generate(step, "--system=x", status=2).stderr)

    def test_bos_of_a_hugging_face_model(self):
        folder = Path(self.folder.path) / "bos"
        folder.mkdir()
        tokenizer = json.loads((TOKENIZERS / "llama3.json").read_text())
        made = titan_run.Folder()
        self.addCleanup(made.close)
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        titan_run.train(made, "--checkpoint.enable=true", "--model.args.vocab_size=2048", "--training.steps=1",
                        f"--model.tokenizer_path={folder}")
        out = Path(self.folder.path) / "bos-hf"
        done = titan_run.run("export", folder_of(made, 1), "--output", out, "--tokenizer-from", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        with_bos = self.texts(out, "--prompt=hi", "--max-new-tokens=1")[0]["prompt_tokens"]
        without = self.texts(out, "--prompt=hi", "--max-new-tokens=1", "--no-bos")[0]["prompt_tokens"]
        bos = next(token["content"] for token in tokenizer["added_tokens"] if "begin_of_text" in token["content"])
        for add in (True, False):
            (out / "tokenizer_config.json").write_text(json.dumps({"bos_token": bos, "add_bos_token": add}))
            self.assertEqual(self.texts(out, "--prompt=hi", "--max-new-tokens=1")[0]["prompt_tokens"], without + add)
        self.assertEqual(with_bos, without + (tokenizer["post_processor"] is not None))
        # A run from the folder as it is knows the folder's tokenizer, and so does what is exported of it.
        direct = titan_run.Folder()
        self.addCleanup(direct.close)
        titan_run.train(direct, "--model.flavor=from_hf", f"--checkpoint.initial_load_path={out}", "--model.args.vocab_size=2048",
                        "--checkpoint.enable=true", "--training.steps=1", "--training.add_bos=false")
        self.assertEqual(self.texts(direct.out, "--prompt=hi", "--max-new-tokens=1")[0]["prompt_tokens"], without)
        done = titan_run.run("export", direct.out, "--output", Path(self.folder.path) / "direct-hf")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((Path(self.folder.path) / "direct-hf/tokenizer.json").read_text(), (out / "tokenizer.json").read_text())
        # A run says itself what it was trained with.
        self.assertEqual(self.texts(folder_of(made, 1), "--prompt=hi", "--max-new-tokens=1")[0]["prompt_tokens"], without + 1)

    def test_refusals(self):
        there = str(self.step)
        for arguments, status, parts in (
                ([], 2, ["no model was given"]),
                ([there + "/nowhere"], 4, ["is not there"]),
                ([self.folder.path], 4, ["holds no model"]),
                ([there, "--temperature=-1"], 2, ["temperature"]),
                ([there, "--top-p=0"], 2, ["top_p"]),
                ([there, "--top-k=-3"], 2, ["top_k"]),
                ([there, "--max-new-tokens=0"], 2, ["max_new_tokens"]),
                ([there, "--batch-size=0"], 2, ["batch_size"]),
                ([there, "--samples=0"], 2, ["--samples"]),
                ([there, "--seed=-1"], 2, ["seed"]),
                ([there, "--stop="], 2, ["--stop"]),
                ([there, "--no-bos"], 2, ["--no-bos"]),
                ([there, "--prompt-file=-", "--prompt-file=-"], 2, ["once"]),
                ([there + "/model.safetensors"], 2, ["the folder that it is in"]),
                ([self.folder.out, "--checkpoint.enable=true", "--checkpoint.load_step=2"], 2, ["step-2"]),
                ([there, "--prompt=" + "y" * 128], 2, ["129", "128"]),
                ([there, "--prompt-file=/nonexistent"], 2, ["/nonexistent"]),
                ([there, f"--tokenizer={TOKENIZERS / 'qwen.json'}"], 2, ["320"]),
                ([there, "--tokenizer=/nonexistent"], 4, ["/nonexistent"]),
                ([there, "--training.dtyp=bfloat16"], 2, ["dtype"]),
                ([self.folder.config, "--job.dump_folder=/nonexistent"], 4, ["no trained weights"])):
            with self.subTest(arguments=arguments):
                done = self.generate(*arguments, status=status)
                for part in parts:
                    self.assertIn(part, done.stderr)
                self.assertIn("fix:", done.stderr)

    def test_a_signal_ends_the_text_and_keeps_it(self):
        process = subprocess.Popen([titan_run.PROGRAM, "generate", self.step, "--max-new-tokens=100000", "--ignore-eos",
                                    "--no-cache", "--model.args.max_seq_len=100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        out, log = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, log)
        self.assertTrue((first + out).endswith("\n"))
        self.assertIn("ended by interrupted", log)

    def test_samples_of_a_run(self):
        losses, written = [], []
        for options in ([], ["--samples.enable=true", "--samples.freq=2", '--samples.prompts=["line 1", "the"]',
                             "--samples.max_new_tokens=9", "--samples.top_k=5"]):
            folder = titan_run.Folder()
            self.addCleanup(folder.close)
            lines = titan_run.train(folder, "--training.steps=5", "--metrics.enable_tensorboard=true", *options)
            losses.append([line["loss"] for line in lines if "loss" in line])
            written = [line for line in lines if "sample" in json.dumps(list(line))]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual([line["step"] for line in written], [1, 1, 2, 2, 4, 4])
        self.assertIn("line 1", json.dumps(written[0]))
        start = time.monotonic()
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        done = titan_run.run("train", folder.config, "--samples.enable=true", f'--samples.prompts=["{"z" * 40}"]')
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("samples.prompts", done.stderr)
        self.assertLess(time.monotonic() - start, 30)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, FLOAT8, HF, TOKENIZERS = map(Path, sys.argv[1:6])
    unittest.main(argv=sys.argv[:1])
