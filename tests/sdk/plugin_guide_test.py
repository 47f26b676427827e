#!/usr/bin/env python3
"""docs/plugin-guide.md is true: its commands run in an empty folder, print what it shows, and the code it quotes is that
of the template or of an example.

Usage: plugin_guide_test.py TITAN_PROGRAM SOURCE_FOLDER BUILD_FOLDER TORCH_INCLUDE
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = BUILD = TORCH = None
MARK = "\x1e"


def blocks_of(page):
    """(language, text) of every fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def as_pattern(shown):
    """"..." stands for anything in a line, a line "..." for any lines."""
    lines = [r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
             for line in shown.splitlines()]
    return re.compile("".join(lines) + r"\Z" if shown.splitlines()[-1] != "..." else "".join(lines))


def lines_of(text):
    return [line.strip() for line in text.strip().splitlines()]


class PluginGuide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.blocks = blocks_of((SOURCE / "docs/plugin-guide.md").read_text())

    def test_commands_run_and_print_what_is_shown(self):
        commands = [text for language, text in self.blocks if language == "sh"]
        script = ""
        for number, text in enumerate(commands):
            script += f"printf '{MARK}{number}\\n'\n"
            for line in text.splitlines():
                script += f"{line}\nstatus=$?; if [ $status -ne 0 ]; then echo \"status $status\"; exit 1; fi\n"
        script += f"printf '{MARK}end\\n'\n"
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve() / "empty"
            folder.mkdir()
            # The machine of the tests has Ninja, and perhaps no make.
            env = {**os.environ, "CMAKE_GENERATOR": "Ninja", "TITAN_BUILD": str(BUILD), "PREFIX": str(folder.parent / "prefix"), "OMP_NUM_THREADS": "1"}
            for variable in ("TITAN_PLUGIN_PATH", "TITAN_DATA_DIR"):
                env.pop(variable, None)
            done = subprocess.run(["bash", "--norc", "-c", script], cwd=folder, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=500)
        self.assertTrue(done.stdout.endswith(f"{MARK}end\n"), done.stdout)
        outputs = [part.split("\n", 1)[1] for part in done.stdout.split(MARK)[1:-1]]
        self.assertEqual(len(outputs), len(commands))
        number = -1
        for language, text in self.blocks:
            if language == "sh":
                number += 1
            elif language == "text":
                self.assertTrue(as_pattern(text).match(outputs[number]), f"shown:\n{text}\nprinted:\n{outputs[number]}")

    def test_code_is_that_of_the_template_or_an_example(self):
        sources = {}
        for folder in ("sdk/template", "plugins/examples"):
            for file in (SOURCE / folder).rglob("*"):
                if file.suffix in (".c", ".cpp", ".json"):
                    sources[file] = "\n".join(lines_of(file.read_text()))
        quoted = [text for language, text in self.blocks if language in ("c", "cpp", "json")]
        self.assertTrue(quoted)
        for text in quoted:
            code = "\n".join(lines_of(text))
            self.assertTrue(any(code in source for source in sources.values()), f"in no template and no example:\n{text}")

    def test_no_block_is_left_unchecked(self):
        self.assertEqual({language for language, _ in self.blocks}, {"sh", "text", "cpp", "json", "yaml"})
        config = "".join(text for language, text in self.blocks if language == "yaml")
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "config.yaml").write_text(config.replace("[channel_gain]", "[]"))
            done = subprocess.run([BUILD / "bin/titan", "config", "explain", "plugins.paths", Path(name) / "config.yaml"],
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_comparison_can_fail(self):
        self.assertTrue(as_pattern("a\n...\nb ... c\n").match("a\nx\ny\nb 1 c\n"))
        for printed in ("x\nb 1 c\n", "a\nb c\n", "a\nb 1 c\nmore\n"):
            self.assertFalse(as_pattern("a\n...\nb ... c\n").match(printed), printed)


if __name__ == "__main__":
    _, SOURCE, BUILD, TORCH = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
