#!/usr/bin/env python3
"""Every key of the config does something: changing it alone changes the run, its files or its verdict.

The table below must name every key that `titan config schema` knows; a key without a row, or a row whose
change nobody can see, fails the test. So no key can be accepted and ignored.

Usage: every_key_test.py TITAN_PROGRAM EXAMPLES_FOLDER CONTRACT_PLUGINS_FOLDER SLOW_PLUGINS_FOLDER
"""
import array
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import saved_steps
import titan_run

EXAMPLES = CONTRACT = SLOW = None

ROPE = ["model.args.rope_theta=10", "model.args.rope_original_max_position_embeddings=16"]
DECAY = ["training.steps=5", "lr_scheduler.warmup_steps=1"]
VALID = ["validation.enable=true", "validation.dataset=text", "validation.dataset_path={text}", "validation.freq=1",
         "validation.steps=2", "validation.local_batch_size=2", "validation.seq_len=32"]
SAMPLES = ["samples.enable=true", "samples.freq=2", "samples.max_new_tokens=6"]
PROFILE = ["training.steps=6", "profiling.enable_profiling=true", "profiling.profile_freq=3", "profiling.profiler_warmup=0"]
SAVE = ["checkpoint.enable=true"]
OFTEN = [*SAVE, "checkpoint.interval=1", "training.steps=4"]
LORA = ["model.converters=lora", "lora.rank=2"]
NAN = ["model.converters=misbehave", "misbehave.how=nan", "misbehave.include=output"]
MODEL_ONLY = [*SAVE, "checkpoint.last_save_model_only=true"]
RESUME = [*SAVE, "job.dump_folder={resumed}", "training.steps=6", "lr_scheduler.total_steps=6"]
TOKENS = ["training.dataset_path={tokens}"]
LINES = ["training.dataset=jsonl", "training.dataset_path={lines}"]
LARGE = ["model.args.vocab_size=1024"]
CHAT = [*LARGE, "model.tokenizer_path={tokenizer}", "training.dataset=chat", "training.dataset_path={lines}"]

# key: (settings that both runs have, the change)
KEYS = {
    "job.dump_folder": ([], "{elsewhere}"),
    "job.description": ([], "another text"),
    "model.name": ([], "qwen3"),
    "model.hf_assets_path": (["model.flavor=from_hf", "model.hf_assets_path={hf}/qwen3_untied", "model.name=qwen3"],
                             "{hf}/qwen3"),
    "model.flavor": ([], "8B"),
    "model.converters": ([], "lora"),
    "model.print_after_conversion": ([], "true"),
    "model.tokenizer_path": (LARGE, "{tokenizer}"),
    "model.tokenizer_format": ([*LARGE, "model.tokenizer_path={tiktoken}", "model.tokenizer_format=llama3"], "gpt2"),
    "model.args.dim": ([], "64"),
    "model.args.n_layers": ([], "1"),
    "model.args.n_heads": ([], "2"),
    "model.args.n_kv_heads": ([], "4"),
    "model.args.vocab_size": ([], "384"),
    "model.args.head_dim": ([], "16"),
    "model.args.hidden_dim": (["model.args.multiple_of=null"], "100"),
    "model.args.ffn_dim_multiplier": ([], "2"),
    "model.args.multiple_of": ([], "64"),
    "model.args.norm_eps": ([], "0.1"),
    "model.args.rope_theta": ([], "10"),
    "model.args.rope_scaling_type": (ROPE, "linear"),
    "model.args.rope_scaling_factor": (ROPE, "2"),
    "model.args.rope_low_freq_factor": (ROPE, "3"),
    "model.args.rope_high_freq_factor": (ROPE, "8"),
    "model.args.rope_original_max_position_embeddings": (ROPE[:1], "16"),
    "model.args.max_seq_len": ([], "8"),
    "model.args.qk_norm": ([], "true"),
    "model.args.enable_weight_tying": ([], "true"),
    "training.dataset": (TOKENS, "tokens"),
    "training.dataset_path": ([], "{other}"),
    "training.dataset_key": (LINES, "response"),
    "training.mixture": (["training.dataset=mixture", "training.dataset_path=", "training.mixture=one:1:text:{text}"],
                         "one:1:text:{other}"),
    "training.shuffle": (LINES, "true"),
    "training.shuffle_buffer": ([*LINES, "training.shuffle=true"], "2"),
    "training.chat_template": (CHAT, "llama3"),
    "training.chat_packing": ([*CHAT, "training.seq_len=128"], "false"),
    "training.add_bos": ([], "false"),
    "training.add_eos": (LINES, "false"),
    "training.parse_special_tokens": ([*LARGE, "model.tokenizer_path={tokenizer}", "training.dataset_path={marked}"], "true"),
    "training.token_dtype": ([*TOKENS, "training.dataset=tokens"], "int32"),
    "training.local_batch_size": ([], "1"),
    "training.global_batch_size": ([], "4"),
    "training.seq_len": ([], "16"),
    "training.max_norm": ([], "1e-7"),
    "training.dtype": (["training.mixed_precision_param=bfloat16"], "bfloat16"),
    "training.mixed_precision_param": ([], "bfloat16"),
    "training.steps": ([], "2"),
    "training.seed": ([], "1"),
    "training.device": ([], "cuda"),
    "training.on_nonfinite": (NAN, "skip"),
    "training.max_skipped_steps": ([*NAN, "training.on_nonfinite=skip"], "1"),
    "optimizer.name": None,  # one value so far
    "optimizer.lr": ([], "0.1"),
    "optimizer.beta1": ([], "0.5"),
    "optimizer.beta2": ([], "0.5"),
    "optimizer.eps": ([], "0.1"),
    "optimizer.weight_decay": ([], "10"),
    "lr_scheduler.warmup_steps": ([], "2"),
    "lr_scheduler.decay_ratio": (DECAY, "0.4"),
    "lr_scheduler.decay_type": (DECAY, "cosine"),
    "lr_scheduler.min_lr_factor": (DECAY, "0.5"),
    "lr_scheduler.total_steps": ([], "9"),
    "activation_checkpoint.mode": ([], "full"),
    "activation_checkpoint.selective_ac_option": ([], "op"),
    "parallelism.data_parallel_replicate_degree": ([], "2"),
    "parallelism.data_parallel_shard_degree": ([], "2"),
    "validation.enable": (["validation.freq=1", "validation.steps=1"], "true"),
    "validation.dataset": (["validation.enable=true", "validation.freq=1", "validation.steps=1", "validation.seq_len=32",
                            "validation.local_batch_size=2", "validation.dataset_path={tokens}",
                            "validation.dataset=text"], "tokens"),
    "validation.dataset_path": (VALID, "{other}"),
    "validation.local_batch_size": (VALID, "1"),
    "validation.seq_len": (VALID, "16"),
    "validation.freq": (VALID, "2"),
    "validation.steps": (VALID, "1"),
    "samples.enable": ([], "true"),
    "samples.freq": (SAMPLES, "3"),
    "samples.prompts": (SAMPLES, "line"),
    "samples.max_new_tokens": (SAMPLES, "5"),
    "samples.temperature": (SAMPLES, "0"),
    "samples.top_k": (SAMPLES, "1"),
    "samples.top_p": (SAMPLES, "0.001"),
    "metrics.log_freq": ([], "9"),
    "metrics.enable_tensorboard": ([], "true"),
    "metrics.save_tb_folder": (["metrics.enable_tensorboard=true"], "events"),
    "metrics.disable_color_printing": ([], "true"),
    "profiling.enable_profiling": (["training.steps=10"], "true"),
    "profiling.save_traces_folder": (PROFILE, "traces"),
    "profiling.profile_freq": (PROFILE, "2"),
    "profiling.profiler_active": (PROFILE, "2"),
    "profiling.profiler_warmup": (PROFILE, "1"),
    "checkpoint.enable": ([], "true"),
    "checkpoint.folder": (SAVE, "kept"),
    "checkpoint.interval": (SAVE, "1"),
    "checkpoint.initial_load_path": ([], "{saved}"),
    "checkpoint.adapter_load_path": (LORA, "{adapter}"),
    "checkpoint.adapter_only": ([*LORA, *MODEL_ONLY], "true"),
    "checkpoint.last_save_model_only": (SAVE, "true"),
    "checkpoint.export_dtype": (MODEL_ONLY, "bfloat16"),
    "checkpoint.keep_latest_k": (OFTEN, "2"),
    "checkpoint.load_step": (RESUME, "2"),
    "checkpoint.exclude_from_loading": (RESUME, "optimizer"),
    "checkpoint.enable_first_step_checkpoint": (SAVE, "true"),
    "checkpoint.async_mode": (SAVE, "async"),
    "plugins.paths": (["model.converters=soft_cap"], "{soft_cap}"),
    "plugins.policy": ([], "strict"),
    "plugins.allow": (["model.converters=c_scale"], "lora"),
    "plugins.deny": (["model.converters=c_scale"], "c_*"),
    "plugins.sha256": (["model.converters=c_scale"], "c_scale=" + 64 * "0"),
    "plugins.load_timeout_seconds": (["model.converters=nasty"], "1"),
}
# Plugins that every run finds but for the rows about finding them.
NO_PLUGINS = {"plugins.paths"}
# Rows whose run without the change differs from that of others with the same settings.
SPECIAL = {"plugins.paths", "plugins.policy", "plugins.load_timeout_seconds", "metrics.disable_color_printing"}


def without_clock(text):
    """A log without what time and memory decide."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+", "", text)
    text = re.sub(r"(tps|tflops|memory): *[\d.,]+(GiB)?(\(\d+%\))?", "", text)
    return re.sub(r"\d+ ms|in [\d.]+ ?s\b", "", text)


class EveryKey(unittest.TestCase):
    def prepare(self):
        """A scratch folder, and what the placeholders of the table mean in it."""
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        names = {"text": folder.text, "elsewhere": folder.path / "elsewhere", "resumed": folder.path / "resumed"}
        names["other"] = folder.path / "other.txt"
        names["other"].write_text("".join(f"{i * 7} other words\n" for i in range(600)))
        names["tokens"] = folder.path / "tokens.bin"
        names["tokens"].write_bytes(array.array("H", [60 + i * i % 50 for i in range(4000)]).tobytes())
        names["lines"] = folder.path / "lines.jsonl"
        names["lines"].write_text("".join(json.dumps({"text": f"text {i}", "prompt": f"say {i}", "response": f"{i} " * 9}) + "\n"
                                          for i in range(300)))
        names["marked"] = folder.path / "marked.txt"
        names["marked"].write_text("".join(f"<|im_start|>{i} the trainer<|im_end|>\n" for i in range(200)))
        golden = Path(__file__).resolve().parents[1] / "golden/tokenizers"
        names["tokenizer"], names["tiktoken"] = golden / "qwen.json", golden / "small.tiktoken"
        names["hf"] = Path(__file__).resolve().parents[1] / "golden/hf"
        names["soft_cap"] = EXAMPLES / "soft_cap"
        return folder, names

    def observe(self, key, options):
        """What a user can see of a run: status, log, metrics, files."""
        folder, names = self.prepare()
        plugins = [] if key in NO_PLUGINS else [folder.path / "plugins"]
        if plugins:
            plugins[0].mkdir()
            for name in ("c_scale", "lora"):
                shutil.copy(EXAMPLES / name / f"{name}.so", plugins[0])
            shutil.copy(CONTRACT / "contract_misbehave.so", plugins[0])
            if key == "plugins.load_timeout_seconds":
                shutil.copy(SLOW / "constructor_slow.so", plugins[0])  # takes two seconds
            if key == "plugins.policy":
                (plugins[0] / "c_scale.so").chmod(0o664)
                options = ["model.converters=c_scale", *options]
        wanted = " ".join(options)
        if "{saved}" in wanted or "{resumed}" in wanted:
            self.must_train(folder, "--checkpoint.enable=true", "--checkpoint.interval=1", "--optimizer.lr=0.01",
                            f"--job.dump_folder={names['resumed']}", "--training.steps=3", "--lr_scheduler.total_steps=6")
            names["saved"] = names["resumed"] / "checkpoint/step-3"
        if "{adapter}" in wanted:
            self.must_train(folder, *(f"--{option}" for option in [*LORA, *MODEL_ONLY]), "--optimizer.lr=0.1",
                            f"--job.dump_folder={folder.path / 'lora'}", plugins=plugins)
            names["adapter"] = folder.path / "lora/checkpoint/step-3"
        words = [f"--{option.format(**names)}" for option in options]
        if key == "metrics.disable_color_printing":
            status, log = self.on_a_terminal(folder, words)
        else:
            done = titan_run.run("train", folder.config, *words, plugins=plugins)
            status, log = done.returncode, done.stdout + done.stderr
        files = {}
        for path in sorted(folder.path.rglob("*")):
            if not path.is_file() or path.suffix in (".so", ".yaml", ".txt"):
                continue
            if path.name == "metrics.jsonl":
                files[path] = saved_steps.numbers(json.loads(line) for line in path.read_text().splitlines())
            elif path.name.startswith("events.out.tfevents."):  # the names of both hold the time
                files[path.parents[1] / "TIME" / "events"] = path.stat().st_size
            elif path.name == "rank0_trace.json":
                steps = {event["name"] for event in json.loads(path.read_text())["traceEvents"]
                         if event["name"].startswith("ProfilerStep#")}
                files[path] = sorted(steps)
            elif path.suffix == ".safetensors":
                files[path] = saved_steps.tensors(path)
            elif path.name not in ("state.json", "run.json"):
                files[path] = path.stat().st_size
        seen = without_clock(log.replace(str(folder.path), "")), {str(k.relative_to(folder.path)): v for k, v in files.items()}
        return status, *seen

    def must_train(self, folder, *words, plugins=()):
        done = titan_run.run("train", folder.config, *words, plugins=plugins)
        self.assertEqual(done.returncode, 0, done.stderr)

    def on_a_terminal(self, folder, words):
        """The run with standard error on a terminal: only there are colours printed."""
        master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "OMP_NUM_THREADS": "1"}
        environment.pop("NO_COLOR", None)
        process = subprocess.Popen([titan_run.PROGRAM, "train", folder.config, *words], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        log = b""
        try:
            while chunk := os.read(master, 65536):
                log += chunk
        except OSError:  # the other end is closed: the process is done
            pass
        os.close(master)
        colours = sorted(set(re.findall(rb"\x1b\[[\d;]*m", log)))
        return process.wait(), f"colours: {colours}"

    def test_the_table_names_every_key(self):
        schema = json.loads(titan_run.run("config", "schema").stdout)["properties"]
        keys = []
        for section, content in schema.items():
            if "include" in content["properties"]:
                continue  # a converter's own section
            for key, value in content["properties"].items():
                keys += [f"{section}.{key}.{inner}" for inner in value["properties"]] if "properties" in value else [f"{section}.{key}"]
        self.assertEqual(sorted(keys), sorted(KEYS))

    def test_every_key_has_an_effect(self):
        rows = [key for key, row in KEYS.items() if row]

        def base(key):
            return (key if key in SPECIAL else "", *KEYS[key][0])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            kinds = {base(key): key for key in rows}
            found = dict(zip(kinds, pool.map(lambda key: self.observe(key, KEYS[key][0]), kinds.values()), strict=True))
            changed = pool.map(lambda key: self.observe(key, [*KEYS[key][0], f"{key}={KEYS[key][1]}"]), rows)
            for key, after in zip(rows, changed, strict=True):
                before = found[base(key)]
                with self.subTest(key=key):
                    self.assertNotEqual(before, after)
                    # The run that is changed must itself be one that works, but where a verdict is what changes.
                    if key not in ("training.on_nonfinite", "training.max_skipped_steps", "plugins.paths",
                                   "plugins.load_timeout_seconds"):
                        self.assertEqual(before[0], 0, before[1])


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, CONTRACT, SLOW = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
