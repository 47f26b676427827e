#!/usr/bin/env python3
"""Hugging Face folders in and out: titan import, titan export, and loading one directly.

Usage: hf_test.py TITAN_PROGRAM GOLDEN_HF_FOLDER EXAMPLES_FOLDER
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import titan_run
from hf_folders import as_type, config_of, folder_tensors, write_folder, write_safetensors
from saved_steps import folder_of, model, tensors

GOLDEN = EXAMPLES = None
FAMILY = {"llama_scaled": "llama3", "llama_tied": "llama3", "qwen3": "qwen3", "qwen3_untied": "qwen3"}
STILL = ["--training.steps=1", "--optimizer.lr=0", "--checkpoint.enable=true"]  # saves what it loads


class HfTest(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.path = self.folder.path
        # The text needs 257 tokens, the golden models have 64: the first bytes of token files do.
        self.tokens = self.path / "tokens.bin"
        self.tokens.write_bytes(struct.pack("<4000H", *(i * i % 61 for i in range(4000))))
        self.data = ["--training.dataset=tokens", f"--training.dataset_path={self.tokens}"]
        self.config = self.path / "hf.yaml"
        self.config.write_text(
            f"training: {{dataset: tokens, dataset_path: {self.tokens}, local_batch_size: 2, seq_len: 32, steps: 1, device: cpu, "
            f"mixed_precision_param: float32}}\nlr_scheduler: {{warmup_steps: 1}}\nmetrics: {{log_freq: 1}}\n"
            f"job: {{dump_folder: {self.folder.out}}}\nmodel: {{flavor: from_hf}}\n")

    def titan(self, *arguments, status=0, says=()):
        done = titan_run.run(*arguments, plugins=[EXAMPLES / "lora", EXAMPLES / "fused_projections", EXAMPLES.parent])
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)
        return done

    def direct(self, hf, *options):
        """A run that begins from the folder; its step 1 holds what was loaded."""
        self.titan("train", self.config, f"--checkpoint.initial_load_path={hf}", *STILL, *options)
        return folder_of(self.folder, 1)


class RoundTrip(HfTest):
    def test_direct_load_and_export_give_every_bit_back(self):
        for name, family in FAMILY.items():
            with self.subTest(name):
                shutil.rmtree(self.folder.out, ignore_errors=True)
                step = self.direct(GOLDEN / name, f"--model.name={family}")
                out = self.path / f"out-{name}"
                self.titan("export", step, "--output", out, "--dtype", "float32")
                self.assertEqual(folder_tensors(out), folder_tensors(GOLDEN / name))
                theirs, ours = config_of(GOLDEN / name), config_of(out)
                for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
                            "intermediate_size", "rms_norm_eps", "tie_word_embeddings", "architectures", "model_type",
                            "max_position_embeddings", "rope_parameters", "dtype"):
                    self.assertEqual(ours[key], theirs[key], key)

    def test_import_and_export_give_every_bit_back(self):
        for name in FAMILY:
            for kind in ("F32", "F16", "BF16"):
                with self.subTest(name, kind=kind):
                    source, imported, out = (self.path / f"{what}-{name}-{kind}" for what in ("hf", "in", "out"))
                    write_folder(source, GOLDEN / name, kind)
                    self.titan("import", source, "--output", imported)
                    self.assertEqual({value[0] for value in tensors(imported / "model.safetensors").values()}, {kind})
                    dtype = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[kind]
                    self.titan("export", imported, "--output", out, "--dtype", dtype)
                    self.assertEqual(folder_tensors(out), folder_tensors(source))

    def test_both_ways_in_load_the_same(self):
        imported = self.path / "in"
        self.titan("import", GOLDEN / "llama_scaled", "--output", imported)
        step = self.direct(GOLDEN / "llama_scaled")
        self.assertEqual(tensors(imported / "model.safetensors"), tensors(step / "model.safetensors"))
        # The config that import wrote trains from there.
        shutil.rmtree(self.folder.out)
        self.titan("train", imported / "config.yaml", *STILL, *self.data, "--training.seq_len=32", "--training.device=cpu",
                   "--lr_scheduler.warmup_steps=1", f"--job.dump_folder={self.folder.out}")
        self.assertEqual(tensors(folder_of(self.folder, 1) / "model.safetensors"), tensors(imported / "model.safetensors"))
        # And a run that trained exports its own weights, with the files of the source beside them.
        self.titan("export", folder_of(self.folder, 1), "--output", self.path / "exported")
        self.assertEqual(config_of(self.path / "exported")["bos_token_id"], 1)
        self.assertTrue((self.path / "exported/generation_config.json").exists())

    def test_types_are_really_written(self):
        imported = self.path / "in"
        self.titan("import", GOLDEN / "qwen3", "--output", imported, "--dtype", "bfloat16")
        native = tensors(imported / "model.safetensors")
        self.assertEqual({value[0] for value in native.values()}, {"BF16"})
        for dtype, kind in (("bfloat16", "BF16"), ("float16", "F16"), ("float32", "F32")):
            out = self.path / dtype
            self.titan("export", imported, "--output", out, "--dtype", dtype)
            self.assertEqual({value[0] for value in folder_tensors(out).values()}, {kind})
            self.assertEqual(config_of(out)["torch_dtype"], dtype)
        expected = {name: as_type(value, "BF16") for name, value in folder_tensors(GOLDEN / "qwen3").items()}
        self.assertEqual(folder_tensors(self.path / "bfloat16"), expected)

    def test_shards_have_an_index(self):
        imported, out = self.path / "in", self.path / "exported"
        self.titan("import", GOLDEN / "llama_scaled", "--output", imported)
        self.titan("export", imported, "--output", out, "--dtype=float32", "--max-shard-size=20KB")
        index = json.loads((out / "model.safetensors.index.json").read_text())
        files = sorted(path.name for path in out.glob("*.safetensors"))
        self.assertEqual(sorted(set(index["weight_map"].values())), files)
        self.assertEqual(files[0], f"model-00001-of-{len(files):05d}.safetensors")
        total = 0
        for name in files:
            found = tensors(out / name)
            size = sum(len(value[2]) for value in found.values())
            self.assertTrue(size <= 20_000 or len(found) == 1)
            total += size
            for tensor in found:
                self.assertEqual(index["weight_map"][tensor], name)
        self.assertEqual(index["metadata"]["total_size"], total)
        self.assertEqual(folder_tensors(out), folder_tensors(GOLDEN / "llama_scaled"))
        # A reader that does not know the layout refuses a file without this.
        header = (out / files[0]).read_bytes()
        self.assertEqual(json.loads(header[8:8 + struct.unpack("<Q", header[:8])[0]])["__metadata__"], {"format": "pt"})

    def test_tokenizer_files_come_along(self):
        source, other = self.path / "hf", self.path / "other"
        write_folder(source, GOLDEN / "llama_tied", "F32")
        (source / "tokenizer.json").write_text('{"mine": 1}')
        other.mkdir()
        (other / "tokenizer.model").write_text("theirs")
        imported = self.path / "in"
        self.titan("import", source, "--output", imported)
        self.titan("export", imported, "--output", self.path / "a")
        self.assertEqual((self.path / "a/tokenizer.json").read_text(), '{"mine": 1}')
        self.titan("export", imported, "--output", self.path / "b", "--tokenizer-from", other)
        self.assertFalse((self.path / "b/tokenizer.json").exists())
        self.assertEqual((self.path / "b/tokenizer.model").read_text(), "theirs")

    def test_a_flavor_exports_too(self):
        titan_run.train(self.folder, "--checkpoint.enable=true")
        done = self.titan("export", folder_of(self.folder, 3), "--output", self.path / "exported", "--dtype=float32")
        self.assertIn("no tokenizer files were copied", done.stderr)
        config = config_of(self.path / "exported")
        self.assertEqual(config["rope_scaling"]["rope_type"], "llama3")
        self.assertEqual(config["max_position_embeddings"], 131072)
        # Back in: the same weights, and the same loss.
        again = titan_run.Folder()
        self.addCleanup(again.close)
        lines = titan_run.train(again, *STILL, "--model.flavor=from_hf", f"--model.hf_assets_path={self.path / 'exported'}",
                                f"--checkpoint.initial_load_path={self.path / 'exported'}")
        self.assertEqual(model(again, 1), model(self.folder, 3))
        shutil.rmtree(again.out)
        direct = titan_run.train(again, *STILL, f"--checkpoint.initial_load_path={folder_of(self.folder, 3)}")
        self.assertEqual(lines[0]["loss"], direct[0]["loss"])


class Converters(HfTest):
    def loss_from(self, weights, *options):
        shutil.rmtree(self.folder.out, ignore_errors=True)
        return titan_run.train(self.folder, "--training.steps=1", "--optimizer.lr=0", f"--checkpoint.initial_load_path={weights}",
                               *options, plugins=[EXAMPLES / "lora"])[0]["loss"]

    def trained(self, *options, plugins=()):
        titan_run.train(self.folder, "--checkpoint.enable=true", "--optimizer.lr=0.05", *options, plugins=plugins)
        step = self.path / "kept/step-3"
        shutil.copytree(folder_of(self.folder, 3), step)
        return step

    def test_adapters_are_merged_on_request(self):
        lora = ["--model.converters=lora", "--lora.rank=3", "--lora.alpha=12", "--lora.targets=wq,wv,w2,output"]
        step = self.trained(*lora, plugins=[EXAMPLES / "lora"])
        done = self.titan("export", step, "--output", self.path / "exported", status=2)
        self.assertIn("lora/layers.0.attention.wq.lora_a", done.stderr)
        self.assertIn("--merge-lora", done.stderr)
        self.assertFalse((self.path / "exported").exists())
        done = self.titan("export", step, "--output", self.path / "exported", "--merge-lora", "--dtype=float32")
        self.assertIn("adapters merged into 7 weights", done.stderr)
        adapted, base = self.loss_from(step, *lora), self.loss_from(step)
        merged = self.loss_from(self.path / "exported")
        self.assertGreater(abs(adapted - base), 1e-3)
        self.assertAlmostEqual(merged, adapted, delta=2e-6 * adapted)
        # Left out: the base, bit for bit.
        self.titan("export", step, "--output", self.path / "base", "--leave-out=lora", "--dtype=float32")
        self.assertEqual(self.loss_from(self.path / "base"), base)

    def test_an_instance_with_another_name_and_two_at_once(self):
        two = ["--model.converters=[{use: lora, as: a, rank: 2, targets: [wq]}, {use: lora, as: b, rank: 4, alpha: 2, targets: [wq, w1]}]"]
        step = self.trained(*two, plugins=[EXAMPLES / "lora"])
        self.titan("export", step, "--output", self.path / "exported", "--merge-lora", "--dtype=float32")
        adapted = self.loss_from(step, *two)
        self.assertAlmostEqual(self.loss_from(self.path / "exported"), adapted, delta=2e-6 * adapted)

    def test_other_state_is_named_and_left_out_on_request(self):
        step = self.trained("--model.converters=float8", "--float8.emulate=true", "--float8.recipe=delayed", "--float8.exclude=output")
        done = self.titan("export", step, "--output", self.path / "exported", "--merge-lora", status=2)
        self.assertIn("float8/layers.0.attention.wk.", done.stderr)
        self.assertIn("fix: --leave-out=float8", done.stderr)
        done = self.titan("export", step, "--output", self.path / "exported", "--leave-out=float8", "--dtype=float32")
        self.assertIn("the run applied float8: transformers computes without them", done.stderr)
        self.titan("export", step, "--output", self.path / "more", "--leave-out=float8,lora", status=2,
                   says=["no converter 'lora' has state", "there is state of float8"])

    def test_layouts_leave_in_stock_form(self):
        step = self.trained("--model.converters=fused_projections", plugins=[EXAMPLES / "fused_projections"])
        self.titan("export", step, "--output", self.path / "exported", "--dtype=float32")
        self.assertIn("model.layers.1.self_attn.k_proj.weight", folder_tensors(self.path / "exported"))
        self.assertEqual(self.loss_from(self.path / "exported"), self.loss_from(step))

    def test_adapters_alone_are_no_model(self):
        step = self.trained("--model.converters=lora", "--checkpoint.last_save_model_only=true", "--checkpoint.adapter_only=true",
                            plugins=[EXAMPLES / "lora"])
        self.titan("export", step, "--output", self.path / "exported", "--merge-lora", status=4, says=["only what converters added"])


class Refusals(HfTest):
    def source(self, name="llama_tied", **changes):
        folder = Path(tempfile.mkdtemp(dir=self.path)) / "hf"
        write_folder(folder, GOLDEN / name, "F32")
        config = {**config_of(folder), **changes}
        (folder / "config.json").write_text(json.dumps(config))
        return folder

    def refused(self, folder, *says, status=4):
        out = self.path / "refused"
        done = self.titan("import", folder, "--output", out, status=status, says=says)
        self.assertIn("fix: ", done.stderr)
        self.assertEqual([path.name for path in self.path.iterdir() if "refused" in path.name], [])

    def test_models_that_titan_does_not_have(self):
        self.refused(self.source(model_type="mistral"), "model_type is 'mistral'", "known are llama, qwen3")
        self.refused(self.source(attention_bias=True), "attention_bias is true", "config.json: attention_bias")
        self.refused(self.source(rope_parameters={"rope_type": "yarn", "factor": 4.0}), "scaled by 'yarn'")
        self.refused(self.source(rope_parameters={"rope_type": "dynamic", "factor": 4.0}), "scaled by 'dynamic'")
        self.refused(self.source(quantization_config={"quant_method": "fp8"}), "quantization_config")

    def test_weights_that_do_not_fit(self):
        self.refused(self.source(intermediate_size=64), "model.layers.0.mlp.down_proj.weight: found [32, 48], needed [32, 64]")
        self.refused(self.source(num_hidden_layers=3), "missing in the files", "model.layers.2.self_attn.q_proj.weight")
        self.refused(self.source(num_hidden_layers=1), "unknown to the model", "model.layers.1.")
        # An untied model without a head.
        self.refused(self.source(tie_word_embeddings=False), "missing in the files (1)", "lm_head.weight")
        self.refused(self.source("qwen3", head_dim=8), "self_attn.q_norm.weight: found [16], needed [8]")

    def test_a_tied_head_that_differs(self):
        folder = self.source()
        found = folder_tensors(folder)
        kind, shape, data = found["model.embed_tokens.weight"]
        write_safetensors(folder / "model.safetensors", {**found, "lm_head.weight": (kind, shape, data)})
        self.titan("import", folder, "--output", self.path / "fine")
        write_safetensors(folder / "model.safetensors", {**found, "lm_head.weight": (kind, shape, data[::-1])})
        self.refused(folder, "'lm_head.weight' and 'model.embed_tokens.weight' have different values")

    def test_types_that_are_no_weights(self):
        folder = self.source()
        found = folder_tensors(folder)
        _, shape, data = found["model.norm.weight"]
        write_safetensors(folder / "model.safetensors", {**found, "model.norm.weight": ("I32", shape, data)})
        self.refused(folder, "model.norm.weight: found I32")

    def test_values_that_a_type_cannot_hold(self):
        folder = self.source()
        found = folder_tensors(folder)
        _, shape, _ = found["model.norm.weight"]
        for value, says in ((1e30, "has values that Half cannot hold"), (float("nan"), "are not finite")):
            write_safetensors(folder / "model.safetensors",
                              {**found, "model.norm.weight": ("F32", shape, struct.pack("<32f", *[value] * 32))})
            out = self.path / "refused"
            self.titan("import", folder, "--output", out, "--dtype=float16", status=4, says=["'model.norm.weight'", says])
            self.assertFalse(out.exists())

    def test_damaged_folders(self):
        folder = self.source("llama_scaled")
        shutil.copytree(GOLDEN / "llama_scaled", folder, dirs_exist_ok=True)
        (folder / "model-00003-of-00005.safetensors").unlink()
        self.refused(folder, "model-00003-of-00005.safetensors")
        folder = self.source()
        (folder / "config.json").write_text('{"model_type": ')
        self.refused(folder, "no JSON object", "config.json")
        (folder / "config.json").unlink()
        self.refused(folder, "config.json")
        folder = self.source()
        whole = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(whole[:-100])
        self.refused(folder, "model.safetensors")

    def test_nothing_is_overwritten(self):
        out = self.path / "exported"
        out.mkdir()
        (out / "mine.txt").write_text("mine")
        self.titan("import", GOLDEN / "qwen3", "--output", out, status=2, says=["is there already"])
        self.titan("import", GOLDEN / "qwen3", "--output", self.path / "in")
        self.titan("export", self.path / "in", "--output", out, status=2, says=["is there already"])
        self.assertEqual([path.name for path in out.iterdir()], ["mine.txt"])
        self.titan("export", out, "--output", self.path / "new", status=4, says=["neither a step of a run nor"])
        self.titan("export", self.path / "in", "--output", self.path / "new", "--max-shard-size=many", status=2, says=["'many' is no size"])
        self.titan("export", self.path / "in", "--output", self.path / "new", "--dtype=int8", status=2, says=["'int8'"])

    def test_weights_of_another_model_are_not_loaded_in_silence(self):
        args = ["--model.flavor=debugmodel", "--model.args.dim=32", "--model.args.n_layers=2", "--model.args.n_heads=4",
                "--model.args.n_kv_heads=2", "--model.args.vocab_size=64", "--model.args.hidden_dim=48"]
        folder = GOLDEN / "llama_scaled"
        done = self.titan("train", self.config, *args, f"--checkpoint.initial_load_path={folder}", status=4)
        self.assertIn(f"rope_theta: 500.0 in {folder}/config.json, 500000.0 in this model", done.stderr)
        self.assertIn("rope_original_max_position_embeddings: 16 in", done.stderr)
        self.assertIn("model.flavor: from_hf", done.stderr)
        # Said on purpose, it is a warning.
        done = self.titan("train", self.config, f"--checkpoint.initial_load_path={folder}", "--model.args.rope_theta=1000")
        self.assertIn("model.args.rope_theta is 1000.0 instead of the 500.0 of", done.stderr)
        self.assertIn("the weights were made for another model.args.rope_theta", done.stderr)
        self.titan("train", self.config, status=2, says=["no Hugging Face folder is named"])
        self.titan("train", self.config, "--model.flavor=debugmodel", f"--model.hf_assets_path={folder}", status=2,
                   says=["model.hf_assets_path has no effect"])
        self.titan("train", self.config, "--model.name=qwen3", f"--checkpoint.initial_load_path={folder}", status=4,
                   says=['model_type is "llama", model.name is qwen3'])


class Resources(HfTest):
    def big_folder(self):
        """A model of 200 MB whose largest tensor has 8 MB."""
        folder = self.path / "big"
        config = {**config_of(GOLDEN / "llama_tied"), "num_hidden_layers": 20, "hidden_size": 512, "num_attention_heads": 8,
                  "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2048, "vocab_size": 4096}
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        shapes = {"model.embed_tokens.weight": [4096, 512], "model.norm.weight": [512]}
        for i in range(20):
            at = f"model.layers.{i}."
            shapes.update({f"{at}self_attn.{name}_proj.weight": [512, 512] for name in "qkvo"})
            shapes.update({f"{at}mlp.gate_proj.weight": [2048, 512], f"{at}mlp.up_proj.weight": [2048, 512],
                           f"{at}mlp.down_proj.weight": [512, 2048], f"{at}input_layernorm.weight": [512],
                           f"{at}post_attention_layernorm.weight": [512]})
        found = {}
        for name, shape in shapes.items():
            count = shape[0] * (shape[1] if len(shape) == 2 else 1)
            found[name] = ("F32", shape, struct.pack("<f", 0.01) * count)
        write_safetensors(folder / "model.safetensors", found)
        return folder

    def most_private_memory(self, *arguments):
        """The most memory that the process had of its own: not counted are pages of mapped files, which the
        system takes back when it needs them. In bytes."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen([titan_run.PROGRAM, *map(str, arguments)], env=environment, stderr=subprocess.DEVNULL) as process:
            most = 0
            while process.poll() is None:
                try:
                    status = Path(f"/proc/{process.pid}/status").read_text()
                except OSError:
                    break
                most = max([most, *(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))])
                time.sleep(0.001)
        self.assertEqual(process.returncode, 0)
        return most

    def test_one_tensor_at_a_time(self):
        folder, out = self.big_folder(), self.path / "exported"
        floor = self.most_private_memory("import", GOLDEN / "llama_tied", "--output", self.path / "small")
        for arguments in (("import", folder, "--output", self.path / "in", "--dtype=bfloat16"),
                          ("export", self.path / "in", "--output", out, "--dtype=float32", "--max-shard-size=50MB")):
            self.assertLess(self.most_private_memory(*arguments), floor + 60e6, arguments[0])
        self.assertEqual(len(folder_tensors(out)), len(folder_tensors(folder)))

    def test_what_is_interrupted_leaves_nothing(self):
        folder = self.big_folder()
        process = subprocess.Popen([titan_run.PROGRAM, "import", folder, "--output", self.path / "in"], stderr=subprocess.DEVNULL)
        while process.poll() is None and not list(self.path.glob(".in.writing-*/.model.safetensors*")):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertFalse((self.path / "in").exists())
        self.titan("import", folder, "--output", self.path / "in")
        self.assertTrue((self.path / "in/model.safetensors").exists())


if __name__ == "__main__":
    titan_run.PROGRAM, GOLDEN, EXAMPLES = (Path(path).resolve() for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
