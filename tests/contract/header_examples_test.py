#!/usr/bin/env python3
"""The one-screen plugins in the headers' first comments: short, built by a plain compiler line, and true.

Usage: header_examples_test.py TITAN_PROGRAM PLUGINS_FOLDER SDK_INCLUDE EXAMPLES_FOLDER
"""
import subprocess
import sys
import unittest
from pathlib import Path

import titan_run

INCLUDE, EXAMPLES = None, None


def example(header, prefix):
    """The text between [example] and [/example], without the comment's own marks."""
    lines = (INCLUDE / "titan" / header).read_text().splitlines()
    begin, end = (next(i for i, line in enumerate(lines) if mark in line) for mark in ("[example]", "[/example]"))
    return [line.removeprefix(prefix.rstrip()).removeprefix(" ") for line in lines[begin + 1:end]]


class HeaderExamples(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def build(self, compiler, standard, name, suffix, lines):
        source, plugin = self.folder.path / (name + suffix), self.folder.path / f"{name}.so"
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared",
                               "-fvisibility=hidden", "-I", INCLUDE, source, "-o", plugin], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return plugin

    def assert_twice(self, name, plugin, *others):
        """The run equals that of c_scale with factor 2 on the same layers."""
        lines = titan_run.train(self.folder, f"--model.converters={name}", plugins=[plugin])
        expected = titan_run.train(self.folder, "--model.converters=c_scale", "--c_scale.factor=2.0", *others,
                                   plugins=[EXAMPLES / "c_scale"])
        for one, two in zip(lines, expected, strict=True):
            self.assertAlmostEqual(one["loss"], two["loss"], places=5)
            self.assertAlmostEqual(one["grad_norm"], two["grad_norm"], delta=1e-4 * two["grad_norm"])

    def test_c(self):
        lines = example("titan_sdk.h", " * ")
        self.assertLessEqual(len(lines), 40)
        self.assert_twice("twice", self.build("gcc", "c99", "twice", ".c", lines), "--c_scale.include=output")

    def test_cpp(self):
        lines = example("titan_sdk.hpp", "/// ")
        self.assertLessEqual(len(lines), 25)
        self.assert_twice("double", self.build("g++", "c++17", "double", ".cpp", lines))


if __name__ == "__main__":
    titan_run.PROGRAM, INCLUDE, EXAMPLES = Path(sys.argv[1]), Path(sys.argv[3]), Path(sys.argv[4])
    unittest.main(argv=sys.argv[:1])
