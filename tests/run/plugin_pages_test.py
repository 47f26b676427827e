#!/usr/bin/env python3
"""docs/plugins has a page for every plugin of the tree, as `titan plugins inspect --markdown` writes it, and the
command it shows works.

Usage: plugin_pages_test.py TITAN_PROGRAM DOCS_FOLDER BUILD_FOLDER PLUGIN...
"""
import re
import shlex
import shutil
import sys
import unittest
from pathlib import Path

import titan_run

DOCS = BUILD = None
PLUGINS = []
# What a machine without fp8 hardware has to add.
EXTRA = {"float8": ["--float8.emulate"]}


class PluginPages(unittest.TestCase):
    def test_pages_are_current(self):
        self.assertEqual({page.stem for page in DOCS.glob("*.md")}, {plugin.stem for plugin in PLUGINS})
        for plugin in PLUGINS:
            done = titan_run.run("plugins", "inspect", plugin, "--markdown")
            self.assertEqual(done.returncode, 0, done.stderr)
            page = DOCS / f"{plugin.stem}.md"
            self.assertEqual(page.read_text(), done.stdout, f"{page.name} is out of date; write it again with\n  "
                             f"{BUILD.name}/bin/titan plugins inspect {plugin.relative_to(BUILD.parent)} --markdown "
                             f"> docs/plugins/{page.name}")

    def test_the_command_shown_works(self):
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        for plugin in PLUGINS:
            with self.subTest(plugin=plugin.stem):
                command = re.search(r"^    (titan train .*)$", (DOCS / f"{plugin.stem}.md").read_text(), re.MULTILINE)[1]
                words = shlex.split(command)[1:]
                copy = folder.path / plugin.name
                shutil.copyfile(plugin, copy)
                words = [str(folder.config) if word == "CONFIG.yaml" else word.replace("./", f"{folder.path}/")
                         for word in words]
                done = titan_run.run(*words, *EXTRA.get(plugin.stem, []), "--training.steps=1")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                copy.unlink()


if __name__ == "__main__":
    titan_run.PROGRAM, DOCS, BUILD, *PLUGINS = (Path(argument) for argument in sys.argv[1:])
    unittest.main(argv=sys.argv[:1])
