#!/usr/bin/env python3
"""titan plugins has: status 0 for what can be used, 1 with one line that says why not, 2 for a wrong command line.

Usage: plugins_has_test.py TITAN_PROGRAM EXAMPLES_FOLDER CRASHING_PLUGIN
"""
import shutil
import sys
import unittest
from pathlib import Path

import titan_run

EXAMPLES = CRASHING = None


class PluginsHas(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)
        self.plugins = self.folder.path / "plugins"
        self.plugins.mkdir(mode=0o755)

    def has(self, status, *arguments, text=""):
        done = titan_run.run("plugins", "has", *arguments, plugins=[self.plugins])
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), {0: 0, 1: 1, 2: 3}[status], done.stderr)
        self.assertIn(text, done.stderr)

    def drop(self, source):
        shutil.copyfile(source, self.plugins / source.name)
        return self.plugins / source.name

    def test_there_or_not(self):
        self.has(1, "c_scale", text="no plugin or converter is called 'c_scale'")
        file = self.drop(EXAMPLES / "c_scale/c_scale.so")
        self.has(0, "c_scale")
        self.has(0, "c_scale", "--at-least", "1.0.0-rc.1")
        self.has(0, "c_scale", "--at-least=1")
        self.has(1, "c_scale", "--at-least", "1.0.1-rc.1", text=f"too old: found only c_scale 1.0.0 ({file})")
        self.has(1, "c_scal", text="did you mean 'c_scale'?")
        file.chmod(0o666)
        self.has(1, "c_scale", text=f"{file} is refused: it ")

    def test_places_of_the_line(self):
        self.has(0, "lora", f"--plugins.paths={EXAMPLES}/lora")
        self.folder.config.write_text(f"plugins: {{paths: [{EXAMPLES}/monitor]}}\n")
        self.has(0, "monitor", self.folder.config)

    def test_what_does_not_load_is_not_there(self):
        self.drop(CRASHING)
        self.has(1, "odd_values", text="odd_values.so is refused")

    def test_wrong_lines(self):
        self.has(2, text="no plugin was named")
        self.has(2, "float8", "--at-least", "new", text="'new' is not a version")
        self.has(2, "float8", "--plugins.path=x", text="did you mean 'paths'?")


if __name__ == "__main__":
    titan_run.PROGRAM, EXAMPLES, CRASHING = (Path(argument) for argument in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1])
