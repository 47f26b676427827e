#!/usr/bin/env python3
"""titan config show, check, explain, schema: what they print is true and can be used again.

Usage: config_command_test.py TITAN_PROGRAM CONFIGS_FOLDER
"""
import json
import re
import sys
import unittest
from pathlib import Path

import titan_run

CONFIGS = None


class ConfigCommand(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def good(self, *arguments):
        done = titan_run.run("config", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_shipped_configs_are_good(self):
        for path in sorted(CONFIGS.glob("*.yaml")):
            self.assertIn("valid config", self.good("check", path))
            self.assertIn("float8", self.good("check", path, "--model.converters=float8", "--float8.emulate=true"))

    def test_what_show_prints_is_the_same_config(self):
        overrides = ["--optimizer.lr=0.00042", "--model.converters=[{use: float8, as: mlp, emulate: true,"
                     " include: ['layers.*.feed_forward']}]"]
        shown = self.good("show", self.folder.config, *overrides)
        again = self.folder.path / "again.yaml"
        again.write_text(shown)
        self.assertEqual(self.good("show", again), shown)
        self.assertIn("0.00042", shown)
        self.assertIn("mlp", shown)

    def test_origins_name_file_line_and_option(self):
        shown = self.good("show", "--origin", self.folder.config, "--optimizer.lr=0.1")
        lines, section = {}, ""
        for line in shown.splitlines():
            key = line.split(":")[0]
            if not key.startswith(" "):
                section = key
            lines[f"{section}.{key.strip()}"] = line
        self.assertIn("--optimizer.lr=0.1", lines["optimizer.lr"])
        self.assertIn("default", lines["optimizer.beta1"])
        self.assertRegex(lines["training.seq_len"], r"small\.yaml:\d+:\d+")

    def test_check_reports_as_train_does(self):
        for overrides, text in ((["--optimizer.lrr=1"], "did you mean"), (["--model.converters=floot8"], "float8"),
                                (["--model.converters=float8", "--float8.recipe=x"], "tensorwise"),
                                (["--model.args.dim=33"], "model.args")):
            checked = titan_run.run("config", "check", self.folder.config, *overrides)
            trained = titan_run.run("train", self.folder.config, *overrides)
            self.assertEqual(checked.returncode, 2, checked.stdout)
            self.assertEqual(trained.returncode, 2)
            self.assertIn(text, checked.stderr)
            first = checked.stderr.splitlines()[0]
            self.assertIn(first, trained.stderr)

    def test_explain_knows_every_key_that_show_prints(self):
        everything = self.good("explain")
        section = None
        for line in self.good("show", self.folder.config).splitlines():
            if match := re.match(r"(\w+):", line):
                section = match[1]
            elif (match := re.match(r"  (\w+):", line)) and match[1] != "args":
                self.assertIn(f"{section}.{match[1]}", everything)
        self.assertIn("peak learning rate", self.good("explain", "optimizer.lr"))
        self.assertIn("tensorwise", self.good("explain", "float8.recipe"))
        wrong = titan_run.run("config", "explain", "optimizer.lrr")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("optimizer.lr", wrong.stderr)

    def test_schema_has_every_key_and_the_plugins(self):
        schema = json.loads(self.good("schema"))
        self.assertFalse(schema["additionalProperties"])
        section = None
        for line in self.good("show", self.folder.config).splitlines():
            if match := re.match(r"(\w+):", line):
                section = schema["properties"][match[1]]
                self.assertFalse(section["additionalProperties"])
            elif match := re.match(r"  (\w+):", line):
                key = section["properties"][match[1]]
                self.assertTrue(match[1] == "args" or key["description"])
        self.assertEqual(schema["properties"]["optimizer"]["properties"]["lr"]["default"], 0.0008)
        self.assertIn("recipe_name", schema["properties"]["float8"]["properties"])

    def test_no_config_and_wrong_words(self):
        for command in ("show", "check"):
            self.assertEqual(titan_run.run("config", command).returncode, 2)
        done = titan_run.run("config", "chek")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'check'", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, CONFIGS = map(Path, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1])
