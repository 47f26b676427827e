#!/usr/bin/env python3
"""What the README shows works: its commands exist, its plugin is the header's and titan accepts it.

Usage: readme_test.py TITAN_PROGRAM
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from devtool import main  # noqa: E402 (the path had to be set first)

README = (ROOT / "README.md").read_text()
SAMPLE = re.search(r"```cpp\n(.*?)```", README, re.DOTALL)[1]
PROGRAM = None


class Readme(unittest.TestCase):
    def test_the_plugin_is_the_one_in_the_header(self):
        header = (ROOT / "sdk/include/titan/titan_sdk.hpp").read_text()
        example = re.search(r"/// \[example\]\n(.*?)/// \[/example\]", header, re.DOTALL)[1]
        self.assertEqual(re.sub(r"^/// ?", "", example, flags=re.MULTILINE), SAMPLE)

    def test_commands_exist(self):
        for command in re.findall(r"\./dev (\w+)", README):
            self.assertIn(command, main.COMMANDS)

    def test_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", README):
            self.assertTrue((ROOT / target).exists(), target)

    def test_the_plugin_builds_with_the_command_shown_and_is_accepted(self):
        line = re.search(r"^ +(g\+\+ .* double\.cpp -o double\.so)$", README, re.MULTILINE)[1]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "double.cpp").write_text(SAMPLE)
            (Path(folder) / "sdk").symlink_to(ROOT / "sdk")
            subprocess.run(shlex.split(line), cwd=folder, check=True)
            plugin = Path(folder) / "double.so"
            listing = subprocess.run([PROGRAM, "plugins", "list"], capture_output=True, text=True,
                                     check=True, env={**os.environ, "TITAN_PLUGIN_PATH": str(plugin)})
            self.assertRegex(listing.stdout, r"(?m)^\s*double\b.*1\.0\.0")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
