#!/usr/bin/env python3
"""Every recipe of float8 as a run meets it: numbers, state, selection, options that contradict each other.

Usage: float8_test.py TITAN_PROGRAM
"""
import json
import struct
import sys
import unittest
from pathlib import Path

import saved_steps
import titan_run
from saved_steps import numbers

RECIPES = ("tensorwise", "delayed", "rowwise", "rowwise_with_gw_hp", "blockwise", "mxfp8")
FLOAT8 = ["--model.converters=float8", "--float8.emulate=true", "--float8.exclude=output"]
DELAYED = [*FLOAT8, "--float8.recipe=delayed", "--float8.amax_history_len=4"]
OPERANDS = ("input", "weight", "grad_output")


class Float8(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def train(self, *words):
        return numbers(titan_run.train(self.folder, *words))

    def fresh(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        return folder

    def refused(self, *words, says, fix=""):
        done = titan_run.run("train", self.folder.config, *words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertIn("fix: " + fix if fix else "fix: ", done.stderr)

    def state_of(self, folder, step):
        """The converter's tensors of a saved step as lists of float."""
        found = {}
        for path in saved_steps.folder_of(folder, step).glob("*.safetensors"):
            for name, (kind, _, data) in saved_steps.tensors(path).items():
                if name.startswith("float8/"):
                    self.assertEqual(kind, "F32", name)
                    found[name] = list(struct.unpack(f"<{len(data) // 4}f", data))
        return found

    def test_every_recipe_has_numbers_of_its_own(self):
        losses = {"plain": [line["loss"] for line in self.train()]}
        for types in ([], ["--training.mixed_precision_param=bfloat16"]):
            for recipe in RECIPES:
                lines = self.train(*FLOAT8, f"--float8.recipe={recipe}", *types)
                losses[recipe, bool(types)] = [line["loss"] for line in lines]
                for mine, plain in zip(losses[recipe, bool(types)], losses["plain"], strict=True):
                    self.assertAlmostEqual(mine, plain, delta=0.01 * plain)
        # The first step of delayed is that of tensorwise: where there is no history, the tensor decides.
        for narrow in (False, True):
            self.assertEqual(losses["delayed", narrow][0], losses["tensorwise", narrow][0])
            self.assertNotEqual(losses["delayed", narrow][-1], losses["tensorwise", narrow][-1])
        # gw_hp differs from rowwise only in backward.
        self.assertEqual(losses["rowwise", False][0], losses["rowwise_with_gw_hp", False][0])
        self.assertNotEqual(losses["rowwise", False][-1], losses["rowwise_with_gw_hp", False][-1])
        finals = [tuple(values) for key, values in losses.items()]
        self.assertEqual(len(set(finals)), len(finals))
        self.assertEqual([line["loss"] for line in self.train(*FLOAT8, "--float8.recipe_name=rowwise")], losses["rowwise", False])

    def test_recompute_changes_nothing(self):
        for recipe in RECIPES:
            words = [*FLOAT8, f"--float8.recipe={recipe}", "--training.global_batch_size=4", "--checkpoint.enable=true"]
            plain, again = self.fresh(), self.fresh()
            first = numbers(titan_run.train(plain, *words, "--activation_checkpoint.mode=none"))
            second = numbers(titan_run.train(again, *words, "--activation_checkpoint.mode=full"))
            self.assertEqual(first, second, recipe)
            # One update a step, not one for each forward.
            self.assertEqual(self.state_of(plain, 3), self.state_of(again, 3))

    def test_only_delayed_has_state(self):
        for recipe in RECIPES:
            folder = self.fresh()
            titan_run.train(folder, *FLOAT8, f"--float8.recipe={recipe}", "--checkpoint.enable=true")
            state = self.state_of(folder, 3)
            if recipe != "delayed":
                self.assertEqual(state, {}, recipe)
                continue
            self.assertEqual(len(state), 14 * 6)  # seven linear layers a block, three operands, scale and history
            for operand in OPERANDS:
                base = f"float8/layers.0.attention.wq.{operand}."
                self.assertEqual(len(state[base + "scale"]), 1)
                history = state[base + "amax_history"]
                self.assertEqual(len(history), 1024)
                self.assertEqual(history[:-3], [0.0] * 1021)
                self.assertTrue(all(amax > 0 for amax in history[-3:]))
                largest = 57344.0 if operand == "grad_output" else 448.0
                self.assertAlmostEqual(state[base + "scale"][0], largest / max(history), delta=1e-6 * largest / max(history))

    def test_micro_batches_share_one_step_of_state(self):
        """What was the largest of one batch of four is the largest of its four parts."""
        one, parts = self.fresh(), self.fresh()
        words = [*DELAYED, "--checkpoint.enable=true", "--training.steps=1", "--lr_scheduler.total_steps=3",
                 "--training.global_batch_size=4"]
        titan_run.train(one, *words, "--training.local_batch_size=4")
        titan_run.train(parts, *words, "--training.local_batch_size=1")
        whole, split = self.state_of(one, 1), self.state_of(parts, 1)
        self.assertEqual(whole.keys(), split.keys())
        base = "float8/layers.0.attention.wq."
        # The weight, and what comes before any quantised layer, are the same numbers.
        for name in (base + "weight.amax_history", base + "input.amax_history"):
            self.assertEqual(len([amax for amax in split[name] if amax > 0]), 1, name)
            self.assertAlmostEqual(whole[name][-1], split[name][-1], delta=1e-6 * whole[name][-1])

    def test_validation_and_skipped_steps_leave_the_state_alone(self):
        other = self.folder.path / "other.txt"
        other.write_text("".join(f"another text, number {i * 7}\n" for i in range(20)))
        validation = ["--validation.enable=true", "--validation.dataset=text", f"--validation.dataset_path={other}",
                      "--validation.seq_len=32", "--validation.local_batch_size=2", "--validation.freq=1"]
        with_it, without = self.fresh(), self.fresh()
        titan_run.train(with_it, *DELAYED, "--checkpoint.enable=true", *validation)
        titan_run.train(without, *DELAYED, "--checkpoint.enable=true")
        self.assertEqual(self.state_of(with_it, 3), self.state_of(without, 3))

    def test_resume_is_bit_equal(self):
        straight, pieces = self.fresh(), self.fresh()
        words = [*DELAYED, *saved_steps.schedule(6), "--checkpoint.interval=3"]
        whole = numbers(titan_run.train(straight, *words, "--training.steps=6"))
        titan_run.train(pieces, *words, "--training.steps=3")
        rest = numbers(titan_run.train(pieces, *words, "--training.steps=6"))
        self.assertEqual(rest[-3:], whole[-3:])
        self.assertEqual(self.state_of(straight, 6), self.state_of(pieces, 6))

    def test_a_checkpoint_without_float8_goes_on_with_it(self):
        words = [*saved_steps.schedule(6), "--checkpoint.interval=3"]
        titan_run.train(self.folder, *words, "--training.steps=3")
        done = titan_run.run("train", self.folder.config, *words, *DELAYED, "--training.steps=6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("step:  6", done.stdout + done.stderr)
        # And back again: a new run takes the weights and leaves the state.
        base = saved_steps.folder_of(self.folder, 6)
        done = titan_run.run("train", self.folder.config, f"--checkpoint.initial_load_path={base}",
                             f"--job.dump_folder={self.folder.path / 'new'}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_history_of_another_length(self):
        words = [*saved_steps.schedule(6), "--checkpoint.interval=3"]
        titan_run.train(self.folder, *words, *DELAYED, "--training.steps=3")
        longer = [*FLOAT8, "--float8.recipe=delayed", "--float8.amax_history_len=9"]
        weights = f"--checkpoint.initial_load_path={saved_steps.folder_of(self.folder, 3)}"
        new = f"--job.dump_folder={self.folder.path / 'new'}"
        for options in ([*words, *longer, "--training.steps=6"], [*longer, weights, new]):
            done = titan_run.run("train", self.folder.config, *options)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("float8/layers.0.attention.wq.input.amax_history: found [4], needed [9]", done.stderr)
            self.assertIn("fix: give the options of converter 'float8' the values of the run that made these", done.stderr)
        # What that fix offers: under another name the state begins anew.
        entry = '{use: float8, as: float8_2, emulate: true, recipe: delayed, amax_history_len: 9, exclude: [output]}'
        config = self.folder.path / "other.yaml"
        config.write_text(self.folder.config.read_text().replace("  name: llama3\n", f"  name: llama3\n  converters: [{entry}]\n"))
        done = titan_run.run("train", config, weights, new)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_stays_and_why(self):
        odd = ["--model.args.ffn_dim_multiplier=1.2", "--model.args.multiple_of=8"]
        self.assertIn("is not a multiple of 16: stays in high precision",
                      titan_run.run("plan", self.folder.config, *FLOAT8, *odd, "--json").stdout)
        self.refused(*FLOAT8, *odd, "--float8.strict=true", says="is not a multiple of 16, and strict allows no layer to stay")
        # The filter of torchao: at 32 columns everything is too small.
        self.refused(*FLOAT8, "--float8.auto_filter_small_kn=true", says="found no linear layer that it can convert")
        big = titan_run.run("plan", "configs/llama3_8b.yaml", "--model.converters=float8", "--float8.emulate=true",
                            "--float8.auto_filter_small_kn=true", "--training.device=cpu", "--json")
        if big.returncode == 0:  # the folder of configs is not always the working directory
            self.assertIn("[1024, 4096] is too small to be faster in float8", big.stdout)

    def test_padding_converts_what_does_not_fit(self):
        odd = ["--model.args.ffn_dim_multiplier=1.2", "--model.args.multiple_of=8"]
        plan = titan_run.run("plan", self.folder.config, *FLOAT8, *odd, "--float8.pad_inner_dim=true", "--json")
        # w2 sums over the odd dimension and is converted; w1 and w3 give it and stay.
        self.assertIn("layers.0.feed_forward.w2", plan.stdout)
        report = json.loads(plan.stdout)
        kept = [module["fqn"] for module in report["modules"] if "not a multiple" in json.dumps(module)]
        self.assertIn("layers.0.feed_forward.w1", kept)
        self.assertNotIn("layers.0.feed_forward.w2", kept)
        self.train(*FLOAT8, *odd, "--float8.pad_inner_dim=true")

    def test_options_without_effect_are_errors(self):
        self.refused(*FLOAT8, "--float8.margin=1", says="belong to recipe delayed; recipe tensorwise has no history")
        self.refused(*FLOAT8, "--float8.recipe=mxfp8", "--float8.power_of_two_scales=off", says="are powers of two, always")
        self.refused(*FLOAT8, "--float8.recipe=blockwise", "--float8.auto_filter_small_kn=true", says="no thresholds for recipe blockwise")
        self.refused(*FLOAT8, "--float8.recipe=rowise", says="rowise", fix="did you mean 'rowwise'")
        self.refused("--model.converters=float8", says="needs a GPU of compute capability 8.9 or newer")
        self.refused("--model.converters=float8", "--float8.recipe=mxfp8", says="needs a GPU of compute capability 10.0 to 11.9")
        self.refused(*FLOAT8, "--float8.fast_accum_output=off", says="fast_accum_output has no effect with emulate")
        # Names of torchtitan, new and old.
        self.refused("--model.converters=quantize.linear.float8", says="quantize.linear.float8", fix="did you mean 'float8'?")
        self.refused("--quantize.linear.float8.recipe_name=rowwise", says="quantize.linear.float8", fix="float8 is a converter")
        self.refused("--float8.enable_float8_linear=true", says="add it to the list, --model.converters=float8")

    def test_gradients_of_weights_in_float32(self):
        narrow = ["--training.mixed_precision_param=bfloat16", "--training.local_batch_size=2", "--training.global_batch_size=4"]
        for recipe in RECIPES:
            rounded = self.train(*FLOAT8, *narrow, f"--float8.recipe={recipe}")
            exact = self.train(*FLOAT8, *narrow, f"--float8.recipe={recipe}", "--float8.grad_weight_fp32=true")
            self.assertEqual(exact[0]["loss"], rounded[0]["loss"], recipe)
            self.assertNotEqual([line["grad_norm"] for line in exact], [line["grad_norm"] for line in rounded], recipe)
            self.assertAlmostEqual(exact[-1]["loss"], rounded[-1]["loss"], delta=0.02)

    def test_sums_in_float32_need_parameters_in_float32(self):
        self.refused(*FLOAT8, "--float8.grad_weight_fp32=true", "--training.dtype=bfloat16", "--training.mixed_precision_param=bfloat16",
                     says="grad_weight_fp32 needs parameters that are stored in float32", fix="set training.dtype to float32")

    def test_inspect_writes_whole_bounds(self):
        shown = titan_run.run("plugins", "inspect", "float8").stdout
        self.assertRegex(shown, r"amax_history_len +int += 1024 +1 \.\. 65536 ")
        self.assertRegex(shown, r"metrics_freq +int += 0 +0 \.\.  ")

    def test_power_of_two_scales(self):
        exact = self.train(*DELAYED, "--float8.power_of_two_scales=auto")
        powers = self.train(*DELAYED, "--float8.power_of_two_scales=on")
        self.assertNotEqual(exact, powers)
        self.assertEqual(self.train(*FLOAT8, "--float8.recipe=rowwise"),
                         self.train(*FLOAT8, "--float8.recipe=rowwise", "--float8.power_of_two_scales=on"))

    def test_metrics_of_every_layer(self):
        for recipe in RECIPES:
            lines = self.train(*FLOAT8, f"--float8.recipe={recipe}", "--float8.metrics_freq=2")
            told = [[key for key in line if key.startswith("float8/") and ".amax" in key] for line in lines]
            self.assertEqual(told[0], [])
            # Two of the small model's layers have 16 rows, which blocks of 32 do not fit.
            self.assertEqual(len(told[1]), (10 if recipe == "mxfp8" else 14) * 3, recipe)
            self.assertEqual(told[2], [])
            line = lines[1]
            for operand in OPERANDS:
                base = f"float8/layers.1.feed_forward.w2.{operand}"
                self.assertGreater(line[base + ".amax"], 0)
                self.assertGreater(line[base + ".scale_min"], 0)
                self.assertLessEqual(line[base + ".scale_min"], line[base + ".scale_max"])
                self.assertLess(line[base + ".underflow"], 0.2)
                self.assertLess(line[base + ".saturation"], 0.2)
                self.assertGreater(line[base + ".sqnr_db"], 20 if operand == "grad_output" else 25)
            # Looking on changes no number.
            plain = self.train(*FLOAT8, f"--float8.recipe={recipe}")
            self.assertEqual([one["loss"] for one in lines], [one["loss"] for one in plain])


if __name__ == "__main__":
    titan_run.PROGRAM = Path(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
