#!/usr/bin/env python3
"""Fine-tuning from end to end: import, train on responses, export, load in transformers; losses and logits are those of
a loop of torch and transformers over the same data.

Usage: finetune_test.py TITAN_PROGRAM EXAMPLES_FOLDER TOKENIZER_JSON VENV_FOLDER
"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import titan_run
import transformers_venv

EXAMPLES = TOKENIZER = VENV = None
REFERENCE = Path(__file__).with_name("finetune_reference.py")
STEPS, SEQ_LEN, BATCH = 50, 192, 2
WORDS = "the a model learns to answer short questions about numbers Grüße, 东京 and naïve cafés 🙂 {x: 1}".split()


def reference(*arguments):
    done = subprocess.run([transformers_venv.interpreter(VENV), REFERENCE, *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def write_conversations(path):
    draw = random.Random(5)
    def text(low, high):
        return " ".join(draw.choices(WORDS, k=draw.randint(low, high)))

    with path.open("w") as file:
        for _ in range(60):
            messages = [{"role": "system", "content": text(1, 3)}] if draw.random() < 0.3 else []
            for _ in range(draw.randint(1, 2)):
                messages += [{"role": "user", "content": text(1, 4)}, {"role": "assistant", "content": text(1, 5)}]
            file.write(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")


class FineTune(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = Path(temporary.name)
        self.data = self.path / "conversations.jsonl"
        write_conversations(self.data)

    def titan(self, *arguments):
        done = titan_run.run(*arguments, plugins=[EXAMPLES / "lora"], timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def end_to_end(self, family, packing, lora):
        path = self.path
        reference("make", family, path / "hf", TOKENIZER)
        self.titan("import", path / "hf", "--output", path / "imported")
        common = ["train", path / "imported/config.yaml", f"--job.dump_folder={path / 'run'}", "--training.dataset=chat",
                  f"--training.dataset_path={self.data}", f"--training.chat_packing={str(packing).lower()}",
                  f"--training.seq_len={SEQ_LEN}", f"--training.local_batch_size={BATCH}", f"--training.steps={STEPS}",
                  "--training.mixed_precision_param=float32", "--training.device=cpu", "--lr_scheduler.warmup_steps=5",
                  "--optimizer.lr=1e-3", "--metrics.log_freq=1", "--checkpoint.enable=true"]
        if lora:
            # While B is zero A gets no gradient: after step 1 it is what it was at first.
            common += ["--model.converters=lora", "--optimizer.weight_decay=0", "--checkpoint.enable_first_step_checkpoint=true"]
        self.titan(*common)
        lines = [json.loads(line) for line in (path / "run/metrics.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), STEPS)
        self.titan("export", path / f"run/checkpoint/step-{STEPS}", "--output", path / "out", "--dtype=float32",
                   *(["--merge-lora"] if lora else []))

        job = {"model": str(path / "hf"), "data": str(self.data), "seq_len": SEQ_LEN, "batch_size": BATCH, "packing": packing,
               "lr": [line["lr"] for line in lines], "weight_decay": 0.0 if lora else 0.1,
               "output": str(path / "reference"), "scale": 2.0}
        if lora:
            job["adapters"] = str(path / "run/checkpoint/step-1/model.safetensors")
        (path / "job.json").write_text(json.dumps(job))
        losses = json.loads(reference("train", path / "job.json"))
        worst = max(abs(line["loss"] - loss) / loss for line, loss in zip(lines, losses, strict=True))
        before = float(reference("compare", path / "out", path / "hf"))
        after = float(reference("compare", path / "out", path / "reference"))
        print(f"{family}, {'packed' if packing else 'padded'}, {'LoRA' if lora else 'all'}: losses {losses[0]:.4f} to "
              f"{losses[-1]:.4f}, apart by {worst:.1e}; logits moved by {before:.2f} and are apart by {after:.1e}")
        # Two adapted projections of a random model learn little.
        self.assertLess(sum(losses[-10:]), sum(losses[:10]) * (0.99 if lora else 0.8))
        self.assertLess(worst, 1e-5)
        self.assertLess(after, 1e-4)
        self.assertGreater(before, 0.1)

    def test_llama_all_packed(self):
        self.end_to_end("llama", packing=True, lora=False)

    def test_qwen3_all_padded(self):
        self.end_to_end("qwen3", packing=False, lora=False)

    def test_llama_lora_padded(self):
        self.end_to_end("llama", packing=False, lora=True)

    def test_qwen3_lora_packed(self):
        self.end_to_end("qwen3", packing=True, lora=True)


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, TOKENIZER, VENV = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
