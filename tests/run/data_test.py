#!/usr/bin/env python3
"""Data by the program: token files, JSON lines, mixtures and conversations, trained on and resumed.

Usage: data_test.py TITAN_PROGRAM GOLDEN_FOLDER
"""
import array
import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

import titan_run
from saved_steps import LONG, manifest, numbers, schedule

GOLDEN = None
VOCAB = "--model.args.vocab_size=1024"


class Data(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.path = self.folder.path
        self.tokenizer = GOLDEN / "qwen.json"

    def lines(self, name, values):
        path = self.path / name
        path.write_text("".join(json.dumps(value) + "\n" for value in values))
        return path

    def tokenize(self, *arguments):
        return titan_run.run("data", "tokenize", *arguments)

    def refused(self, status, *texts, arguments):
        done = titan_run.run(*arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for text in (*texts, "error: ", "fix: "):
            self.assertIn(text, done.stderr)

    # --- titan data tokenize ---
    def test_token_files_hold_the_ids_of_the_original(self):
        cases = json.loads((GOLDEN / "cases.json").read_text())
        texts = [text for text in cases["texts"] if text]
        expected = [ids for text, ids in zip(cases["texts"], cases["qwen.json specials are text"]) if text]
        source, out = self.lines("texts.jsonl", [{"body": text} for text in texts]), self.path / "out.bin"
        done = self.tokenize(source, "--tokenizer", self.tokenizer, "--key", "body", "--eos", "--output", out, "--threads", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        note = json.loads(Path(f"{out}.json").read_text())
        ids = array.array("H", out.read_bytes()).tolist()
        self.assertEqual(ids, [token for document in expected for token in (*document, note["eos"])])
        self.assertEqual((note["token_dtype"], note["tokens"], note["documents"], note["bos"]),
                         ("uint16", len(ids), len(texts), None))
        self.assertEqual(note["text_bytes"], sum(len(text.encode()) for text in texts))
        self.assertIn(f"{len(ids):,} tokens (uint16) of {len(texts)} documents", done.stdout)

    def test_threads_types_and_inputs(self):
        folder = self.path / "texts"
        folder.mkdir()
        for i in range(30):
            (folder / f"{i:02}.txt").write_text(f"text number {i} " * (i + 1))
        (folder / "last.jsonl").write_text('{"text": "a line"}\n')
        results = []
        for name, *options in (("a", "--threads", "1"), ("b", "--threads", "4"), ("c", "--dtype", "uint32")):
            done = self.tokenize(folder, *options, "--bos", "--output", self.path / name)
            self.assertEqual(done.returncode, 0, done.stderr)
            results.append(array.array("I" if name == "c" else "H", (self.path / name).read_bytes()).tolist())
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        self.assertEqual(results[0].count(256), 31)
        text = "".join(f"text number {i} " * (i + 1) for i in range(30)) + "a line"
        self.assertEqual(bytes(token for token in results[0] if token < 256).decode(), text)

    def test_failures_leave_nothing_behind(self):
        good, bad = self.lines("a.jsonl", [{"text": "x"}] * 5), self.lines("b.jsonl", [{"text": "x"}, {"txt": "y"}])
        command = ["data", "tokenize", "--output", self.path / "out.bin"]
        before = sorted(self.path.iterdir())
        self.refused(4, "b.jsonl:2", "no key 'text'", "set --key to", arguments=[*command, good, bad])
        self.refused(4, "none.txt", "does not exist", arguments=[*command, self.path / "none.txt"])
        self.refused(2, "no input", arguments=command)
        self.refused(2, "no output", arguments=["data", "tokenize", good])
        self.refused(2, "--dtype", "uint16 or uint32", arguments=[*command, good, "--dtype", "uint8"])
        self.refused(2, "no BOS", "--bos", arguments=[*command, good, "--tokenizer", self.tokenizer, "--bos"])
        self.refused(4, "no.json", "set --tokenizer to", arguments=[*command, good, "--tokenizer", self.path / "no.json"])
        self.refused(3, "cannot be written", arguments=["data", "tokenize", good, "--output", self.path / "no/out.bin"])
        self.refused(2, "unknown command 'tokenise'", "'tokenize'", arguments=["data", "tokenise"])
        self.assertEqual(sorted(self.path.iterdir()), before)

    def test_what_is_read_is_never_overwritten(self):
        folder, tokenizer = self.path / "texts", self.path / "tokenizer.json"
        folder.mkdir()
        text, note = folder / "a.txt", folder / "b.bin.json"
        text.write_text("x" * 50)
        note.write_text('{"kind": "titan token ids"}')
        shutil.copy(self.tokenizer, tokenizer)
        link, hard = self.path / "link", self.path / "hard"
        link.symlink_to(text)
        hard.hardlink_to(text)
        before = {path: path.read_bytes() for path in (text, note, tokenizer)}
        for inputs, output in (([text], text), ([folder], folder / "../texts/a.txt"), ([folder / "*"], text), ([text], link),
                               ([link], text), ([text], hard), ([text], tokenizer), ([text, note], folder / "b.bin")):
            self.refused(2, "would be overwritten", "--output",
                         arguments=["data", "tokenize", *inputs, "--tokenizer", tokenizer, "--output", output])
        self.assertEqual({path: path.read_bytes() for path in before}, before)

    def test_only_regular_files_and_notes_are_replaced(self):
        text, out = self.path / "a.txt", self.path / "out.bin"
        text.write_text("x")
        note = Path(f"{out}.json")
        tokenize = ["data", "tokenize", text, "--output"]
        for content in ("", "{}", "[1]", '{"kind": "recipe"}', '{"kind": "titan tok'):
            note.write_text(content)
            self.refused(2, str(note), "is no note of titan", arguments=[*tokenize, out])
            self.assertEqual(note.read_text(), content)
            self.assertFalse(out.exists())
        note.write_text('{"kind": "titan token ids"}')
        for _ in range(2):
            done = titan_run.run(*tokenize, out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(" 1 token (uint16)", done.stdout)
        self.assertEqual(json.loads(note.read_text())["tokens"], 1)
        pipe, dangling, server = self.path / "pipe", self.path / "dangling", socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        os.mkfifo(pipe)
        dangling.symlink_to(self.path / "nothing")
        server.bind(str(self.path / "socket"))
        before = sorted(self.path.iterdir())
        for name, kind in ((pipe, "a pipe"), (dangling, "a link to a file"), (self.path / "socket", "a socket"),
                           (self.path, "a folder"), ("/dev/null", "a device")):
            self.refused(2, kind, arguments=[*tokenize, name])
        self.assertEqual(sorted(self.path.iterdir()), before)

    def test_a_limit_on_file_sizes_is_an_error(self):
        text = self.path / "a.txt"
        text.write_text("x" * 100_000)
        done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", titan_run.PROGRAM, "data", "tokenize", text,
                               "--output", self.path / "out.bin"], capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("limit on file sizes", done.stderr)
        self.assertEqual([path.name for path in self.path.iterdir() if "out.bin" in path.name], [])

    def test_a_hang_up_leaves_nothing(self):
        text = self.lines("a.jsonl", [{"text": "some words to read " * 40}] * 100_000)
        running = subprocess.Popen([titan_run.PROGRAM, "data", "tokenize", text, "--tokenizer", self.tokenizer, "--threads", "1",
                                    "--output", self.path / "out.bin"], stderr=subprocess.PIPE, text=True)
        while running.poll() is None and not any(".tmp-" in path.name for path in self.path.iterdir()):
            time.sleep(0.01)
        running.send_signal(signal.SIGHUP)
        error = running.communicate(timeout=100)[1]
        self.assertEqual(running.returncode, 128 + signal.SIGHUP, error)
        self.assertEqual([path.name for path in self.path.iterdir() if "out.bin" in path.name], [])

    def test_other_formats_are_no_text(self):
        words = b'{"text": "the quick brown fox"}\n' * 20
        cases = {"gzip": gzip.compress(words), "bzip2": bz2.compress(words), "xz": lzma.compress(words),
                 "zip": b"PK\x03\x04" + words, "Parquet": b"PAR1\x15\x04", "Zstandard": b"\x28\xb5\x2f\xfd" + words,
                 "UTF-16": words.decode().encode("utf-16")}
        for name, content in cases.items():
            for ending, dataset in (("txt", "text"), ("jsonl", "jsonl"), ("jsonl", "chat")):
                path = self.path / f"a.{ending}"
                path.write_bytes(content)
                with self.subTest(name, dataset=dataset):
                    self.refused(4, str(path), "holds ", name, arguments=["data", "tokenize", path, "--output", self.path / "o"])
                    self.refused(4, str(path), "holds ", name, arguments=[
                        "train", self.folder.config, f"--training.dataset={dataset}", f"--training.dataset_path={path}"])

    def test_a_byte_order_mark_is_no_text(self):
        for name, begin, content in (("a.txt", b"\xef\xbb\xbf", b"BZh text"), ("b.jsonl", b"\xef\xbb\xbf", b'{"text": "BZh text"}')):
            (self.path / name).write_bytes(begin + content)
            done = self.tokenize(self.path / name, self.path / name, "--output", self.path / "out.bin")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(bytes(array.array("H", (self.path / "out.bin").read_bytes()).tolist()), b"BZh text" * 2)
            self.assertEqual(done.stderr.count("more than once"), 1)

    def test_tokenizers_that_are_not_supported(self):
        text, path = self.lines("a.jsonl", [{"text": "x"}]), self.path / "t.json"
        whole = json.loads(self.tokenizer.read_text())
        command = ["data", "tokenize", text, "--tokenizer", path, "--output", self.path / "out.bin"]
        for change, fix in (({"byte_fallback": True}, "byte-level BPE alone"), ({"dropout": 0.1}, "no dropout"),
                            ({"end_of_word_suffix": "</w>"}, "byte-level BPE alone")):
            path.write_text(json.dumps({**whole, "model": {**whole["model"], **change}}))
            self.refused(4, "is not supported", fix, arguments=command)
        path.write_text(json.dumps({"version": "1.0"}))
        self.refused(4, "there is no 'model'", "byte-level BPE alone", arguments=command)
        path.write_bytes(b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x0c")
        self.refused(4, "SentencePiece", "byte-level BPE", arguments=command)

    def test_training_checks_the_note(self):
        source = self.lines("a.jsonl", [{"text": f"the trainer read line {i} and said {i * i}"} for i in range(200)])
        out = self.path / "out.bin"
        done = self.tokenize(source, "--tokenizer", self.tokenizer, "--eos", "--output", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        use = ["--training.dataset=tokens", f"--training.dataset_path={out}"]
        train = ["train", self.folder.config, *use]
        lines = titan_run.train(self.folder, *use, VOCAB, f"--model.tokenizer_path={self.tokenizer}")
        self.assertEqual(len(lines), 3)
        self.refused(2, "training.token_dtype is uint32", "set training.token_dtype: uint16",
                     arguments=[*train, VOCAB, "--training.token_dtype=uint32"])
        self.refused(2, "vocabulary of", "vocab_size is 320", arguments=train)
        self.refused(2, "another tokenizer", arguments=[*train, VOCAB, f"--model.tokenizer_path={GOLDEN / 'gpt2.json'}"])
        out.write_bytes(out.read_bytes()[:-2])
        self.refused(4, "its note says", arguments=[*train, VOCAB])
        note = Path(f"{out}.json")
        note.write_text('{"kind": "titan token ids", "format": 1}')
        self.refused(4, "damaged", "made_by", arguments=[*train, VOCAB])
        for damaged in ("", "{}", "[]", '{"kind": "titan tok', '{"tokenizer_sha256": "bytes"}'):
            note.write_text(damaged)
            self.refused(4, str(note), "damaged", "remove the note", arguments=[*train, VOCAB])
        note.write_text('{"something": "else"}')
        done = titan_run.run(*train, VOCAB)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{note} is no note of titan", done.stderr)

    # --- sources ---
    def test_the_same_text_by_every_way_trains_alike(self):
        texts = [f"the trainer read line {i} and said {i * i}" for i in range(200)]
        lines = self.lines("a.jsonl", [{"text": text} for text in texts])
        out = self.path / "out.bin"
        done = self.tokenize(lines, "--tokenizer", self.tokenizer, "--eos", "--output", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        common = [VOCAB, f"--model.tokenizer_path={self.tokenizer}"]
        by_lines = titan_run.train(self.folder, "--training.dataset=jsonl", f"--training.dataset_path={lines}", *common)
        by_ids = titan_run.train(self.folder, "--training.dataset=tokens", f"--training.dataset_path={out}", *common)
        self.assertEqual(numbers(by_lines), numbers(by_ids))

    def test_vocabularies_are_compared(self):
        self.refused(2, "qwen.json", "ids, the model's vocab_size is 320", "model.args.vocab_size",
                     arguments=["train", self.folder.config, f"--model.tokenizer_path={self.tokenizer}"])
        done = titan_run.run("train", self.folder.config, VOCAB, f"--model.tokenizer_path={self.tokenizer}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"the model's vocab_size is 1024: the ids from \d+ on are never seen")

    def test_a_hugging_face_folder_brings_its_tokenizer(self):
        model = self.path / "model"
        shutil.copytree(GOLDEN.parent / "hf/qwen3", model)
        shutil.copy(self.tokenizer, model / "tokenizer.json")
        options = ["--model.name=qwen3", "--model.flavor=from_hf", VOCAB]
        folder = f"--model.hf_assets_path={model}"
        by_folder = titan_run.train(self.folder, *options, folder)
        by_path = titan_run.train(self.folder, *options, folder, f"--model.tokenizer_path={self.tokenizer}")
        by_bytes = titan_run.train(self.folder, *options, folder, "--model.tokenizer_format=bytes")
        self.assertEqual(numbers(by_folder), numbers(by_path))
        self.assertNotEqual(numbers(by_folder), numbers(by_bytes))
        self.refused(2, f"the tokenizer '{model}' has", "vocab_size is 320",
                     arguments=["train", self.folder.config, *options[:2], folder])
        (model / "tokenizer.json").unlink()
        self.assertEqual(numbers(titan_run.train(self.folder, *options, folder)), numbers(by_bytes))

    def test_errors_name_the_source_of_a_mixture(self):
        lines = self.lines("a.jsonl", [{"body": "x"}])
        mixture = ["train", self.folder.config, "--training.dataset_path=", "--training.dataset=mixture"]
        self.refused(4, "source 'web' of the mixture", "no key 'text'", "a.jsonl:1",
                     arguments=[*mixture, f"--training.mixture=book:1:text:{self.folder.text},web:2:jsonl:{lines}"])
        self.refused(4, "source 'web' of the mixture", "does not exist", "set the path in training.mixture to a text file",
                     arguments=[*mixture, f"--training.mixture=web:1:text:{self.path / 'none.txt'}"])

    def test_keys_that_do_nothing_are_refused(self):
        train = ["train", self.folder.config]
        self.refused(2, "training.dataset_key has no effect", arguments=[*train, "--training.dataset_key=body"])
        self.refused(2, "training.shuffle_buffer has no effect", arguments=[*train, "--training.shuffle_buffer=5"])
        self.refused(2, "training.chat_template has no effect", arguments=[*train, "--training.chat_template=llama3"])
        self.refused(2, "training.mixture has no effect", arguments=[*train, "--training.mixture=a:1:text:x"])
        self.refused(2, "training.dataset_path has no effect", "paths of their own",
                     arguments=[*train, "--training.dataset=mixture", "--training.mixture=a:1:text:x"])
        mixture = [*train, "--training.dataset_path=", "--training.dataset=mixture"]
        self.refused(2, "the mixture has no source", "NAME:WEIGHT:DATASET:PATH", arguments=mixture)
        self.refused(2, "a number above 0", arguments=[*mixture, "--training.mixture=a:-1:text:x"])
        self.refused(2, "has the dataset 'txt'", "did you mean 'text'", arguments=[*mixture, "--training.mixture=a:1:txt:x"])
        self.refused(2, "named 'a'", arguments=[*mixture, "--training.mixture=a:1:text:x,a:1:text:y"])

    # --- resuming ---
    def assert_resumes(self, *options):
        whole, pieces = titan_run.Folder(), titan_run.Folder()
        self.addCleanup(whole.close)
        self.addCleanup(pieces.close)
        lines = titan_run.train(whole, f"--training.steps={LONG}", *schedule(), *options)
        for steps in (3, 5, LONG):
            resumed = titan_run.train(pieces, f"--training.steps={steps}", *schedule(), *options)
            self.assertEqual(numbers(resumed), numbers(lines)[:steps])
        self.assertEqual(manifest(whole, LONG)["loader"], manifest(pieces, LONG)["loader"])
        return whole

    def test_shuffled_lines_resume_exactly(self):
        lines = self.lines("a.jsonl", [{"text": f"{i} is a number, {i * i} its square"} for i in range(12)])
        run = self.assert_resumes("--training.dataset=jsonl", f"--training.dataset_path={lines}", "--training.shuffle",
                                  "--training.shuffle_buffer=5")
        self.assertGreaterEqual(manifest(run, LONG)["loader"]["epoch"], 1)

    def test_mixtures_resume_exactly(self):
        lines = self.lines("a.jsonl", [{"text": f"{i} is a number, {i * i} its square"} for i in range(12)])
        run = self.assert_resumes("--training.dataset=mixture", "--training.dataset_path=",
                                  f"--training.mixture=lines:1:jsonl:{lines},text:2:text:{self.folder.text}")
        self.assertEqual(len(manifest(run, LONG)["loader"]["parts"]), 2)

    def test_conversations_resume_exactly(self):
        self.assert_resumes(*self.chat(self.conversations(40)), "--training.shuffle")

    def test_checkpoints_of_before_these_keys_still_load(self):
        titan_run.train(self.folder, "--training.steps=3", *schedule())
        state = self.folder.out / "checkpoint/step-3/state.json"
        saved = json.loads(state.read_text())
        for key in ("file", "offset", "ordinal"):
            self.assertEqual(saved["loader"].pop(key), 0)
        new = re.compile(r"model\.tokenizer_|training\.(dataset_key|mixture|shuffle|chat|add_|parse_)")
        dropped = [key for key in saved["settings"] if new.match(key)]
        self.assertGreater(len(dropped), 5)
        for key in dropped:
            del saved["settings"][key]
        state.write_text(json.dumps(saved))
        done = titan_run.run("train", self.folder.config, "--training.steps=5", *schedule())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("differs from the one", done.stderr)
        self.assertIn("resumed from", done.stderr)

    def test_another_tokenizer_is_other_data(self):
        options = [VOCAB, "--training.steps=3", *schedule()]
        titan_run.train(self.folder, *options, f"--model.tokenizer_path={self.tokenizer}")
        self.refused(4, "other tokens at its beginning", "tokenizer",
                     arguments=["train", self.folder.config, *options[:1], "--training.steps=5", *schedule(),
                                f"--model.tokenizer_path={GOLDEN / 'deepseek.json'}"])

    # --- conversations ---
    def conversations(self, count):
        """Some short, some long, so that batches hold very different numbers of labels."""
        values = []
        for i in range(count):
            if i % 2:
                values.append({"prompt": "the " * (i % 7), "response": f"{i}"})
            else:
                values.append({"messages": [{"role": "system", "content": "read"}, {"role": "user", "content": f"what is {i}?"},
                                            {"role": "assistant", "content": f"the trainer said that {i} is {i}, " * (1 + i % 3)}]})
        return self.lines("chat.jsonl", values)

    def chat(self, path):
        return ["--training.dataset=chat", f"--training.dataset_path={path}", f"--model.tokenizer_path={self.tokenizer}", VOCAB,
                "--training.seq_len=64"]

    def test_micro_batches_weigh_by_their_labels(self):
        # Two samples at once, or one after the other: one mean over all labels, not a mean of means.
        options = [*self.chat(self.conversations(40)), "--training.chat_packing=false", "--training.global_batch_size=2"]
        together = titan_run.train(self.folder, *options, "--training.local_batch_size=2")
        apart = titan_run.train(self.folder, *options, "--training.local_batch_size=1")
        for one, other in zip(together, apart):
            for key in ("loss", "grad_norm"):
                self.assertAlmostEqual(one[key], other[key], delta=2e-5 * abs(one[key]), msg=key)

    def test_wrong_conversations_are_named(self):
        def refused(value, *texts):
            path = self.lines("wrong.jsonl", [{"prompt": "a", "response": "b"}, value])
            self.refused(4, "wrong.jsonl:2", *texts, arguments=["train", self.folder.config, *self.chat(path)])

        refused({"messages": [{"role": "robot", "content": "x"}]}, "'robot'", "system, user, assistant")
        refused({"messages": [{"role": "user"}]}, "no 'content'")
        refused({"messages": [{"role": "user", "content": "x"}]}, "nothing to learn")
        refused({"text": "x"}, "neither 'messages' nor 'prompt'")
        path = self.conversations(4)
        self.refused(2, "<|im_start|>", "tokenizer lacks", arguments=["train", self.folder.config, "--training.dataset=chat",
                                                                      f"--training.dataset_path={path}"])


if __name__ == "__main__":
    titan_run.PROGRAM, GOLDEN = map(Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
