#!/usr/bin/env python3
"""Runs ./dev in a copy of the checkout where dpkg, apt-get and sudo are small stand-ins."""
import gzip
import lzma
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from devtool import main, r_data  # noqa: E402 (the path had to be set first)

# The tests may run as root; this makes ./dev believe that it does not.
AS_USER = ["-c", "import os, runpy, sys; os.geteuid = lambda: 65534; sys.argv.pop(0); "
                 "runpy.run_path(sys.argv[0], run_name='__main__')"]


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)
        shutil.copy(ROOT / "dev", self.root)
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        self.installed = self.root / "installed"
        self.installed.write_text("g++ installed\nccache config-files\n")
        (self.root / "bin").mkdir()
        self.program("dpkg-query", f"cat {self.installed}")
        for name in ("env", "cat", "sed", "tr", "echo", "sh", "true"):
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        (self.root / "bin/python3").symlink_to(sys.executable)

    def program(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def dev(self, *arguments, ordinary_user=False, **variables):
        start = AS_USER if ordinary_user else []
        return subprocess.run([sys.executable, *start, self.root / "dev", *arguments],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                              timeout=50, env={"PATH": str(self.root / "bin"), **variables})

    def everything_installed(self):
        from devtool import packages
        self.installed.write_text("".join(f"{name} installed\n" for name in packages.BUILD))

    def test_help(self):
        done = self.dev("help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in main.COMMANDS:
            self.assertTrue(command.startswith("-") or f"\n  {command}" in done.stdout, command)

    def test_an_unknown_command_names_the_known_ones(self):
        done = self.dev("trian")
        self.assertEqual(done.returncode, 2)
        self.assertIn("train test titan", done.stderr)

    def test_offline_names_the_missing_packages(self):
        done = self.dev("build", "--offline")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"missing.*: cmake ninja-build ccache mold")
        self.assertNotIn("g++", done.stderr)

    def test_a_user_without_sudo_gets_the_one_line(self):
        done = self.dev("train", ordinary_user=True)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("apt-get update && apt-get install -y --no-install-recommends cmake ninja-build",
                      done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_user_with_sudo_installs_only_what_is_missing(self):
        self.program("sudo", f'[ "$1" = -n ] && exit 0; echo "$@" >> {self.root}/sudo.log; exec "$@"')
        self.program("apt-get", 'for name; do echo "$name installed"; done >> ' + str(self.installed))
        # It stops at the next thing that is missing, which no package brings.
        done = self.dev("test", "--torch", "/nowhere", ordinary_user=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/nowhere is no LibTorch", done.stderr)
        log = (self.root / "sudo.log").read_text()
        self.assertIn("apt-get install -y --no-install-recommends cmake", log)
        self.assertNotIn("g++", log)
        self.assertIn("+ sudo env DEBIAN_FRONTEND=noninteractive apt-get install", done.stderr)

    def test_a_failing_apt_is_said(self):
        self.program("sudo", '[ "$1" = -n ] && exit 0; exec "$@"')
        self.program("apt-get", "exit 100")
        done = self.dev("build", ordinary_user=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("could not install", done.stderr)

    def test_a_libtorch_from_the_environment_is_checked(self):
        self.everything_installed()
        done = self.dev("build", TITAN_TORCH_ROOT=str(self.root))
        self.assertEqual(done.returncode, 2)
        self.assertIn("lib/libtorch_cpu.so", done.stderr)
        self.assertFalse((self.root / ".titan/venv").exists())

    def test_a_link_without_libtorch_is_left_alone(self):
        self.everything_installed()
        (self.root / "elsewhere").mkdir()
        (self.root / ".titan").mkdir()
        (self.root / ".titan/venv").symlink_to(self.root / "elsewhere")
        done = self.dev("build")
        self.assertEqual(done.returncode, 3)
        self.assertIn("is a link", done.stderr)
        self.assertEqual(list((self.root / "elsewhere").iterdir()), [])

    def test_clean_keeps_what_a_link_points_to(self):
        for name in ("elsewhere", ".titan", "build"):
            (self.root / name).mkdir()
        (self.root / "elsewhere/kept").touch()
        (self.root / ".titan/venv").symlink_to(self.root / "elsewhere")
        self.assertEqual(self.dev("clean").returncode, 0)
        self.assertTrue((self.root / "elsewhere/kept").exists())
        self.assertFalse((self.root / ".titan").exists() or (self.root / "build").exists())

    def test_without_the_package_the_licences_are_the_text(self):
        self.program("apt-get", "exit 100")
        done = self.dev("data")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("licence texts", done.stderr)
        text = (self.root / ".titan/data/pride_and_prejudice.txt").read_bytes()
        self.assertTrue(text.isascii() and len(text) > 10_000)


class Options(unittest.TestCase):
    def test_own_options_are_taken_and_others_passed_on(self):
        options = main.parse(["-y", "-R", "golden", "--torch=/t", "--training.steps=3", "--", "--cuda"])
        self.assertEqual((options.yes, options.torch, options.cuda), (True, "/t", False))
        self.assertEqual(options.rest, ["-R", "golden", "--training.steps=3", "--cuda"])


def serialized(body):
    return b"X\n" + struct.pack(">3i", 2, 0x40000, 0x20300) + body


def strings(*values):
    parts = [struct.pack(">2i", 16, len(values))]
    for value in values:
        parts.append(struct.pack(">2i", 9, len(value)) + value.encode())
    return b"".join(parts)


def named_list(name, *items):
    """A list of one named element, as R writes it: the names are an attribute."""
    names = struct.pack(">3i", 0x402, 1, 9) + struct.pack(">i", 5) + b"names" + strings(name)
    return struct.pack(">2i", 19 | 0x200, 1) + b"".join(items) + names + struct.pack(">i", 254)


class RData(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def write(self, record):
        where = struct.pack(">4i", 13, 2, 4, len(record))  # an integer vector: offset 4, length
        index = serialized(named_list("variables", named_list("novel", where)))
        (self.path / "Rdata.rdx").write_bytes(gzip.compress(index))
        (self.path / "Rdata.rdb").write_bytes(b"pad!" + record)

    def record(self, data, size=None):
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
        packed = lzma.compress(data, lzma.FORMAT_RAW, filters=filters)
        return struct.pack(">I", len(data) if size is None else size) + b"Z" + packed

    def test_strings_come_back(self):
        self.write(self.record(serialized(strings("Chapter 1", "", "It is a truth"))))
        self.assertEqual(r_data.read_strings(self.path, "novel"), ["Chapter 1", "", "It is a truth"])

    def test_a_missing_variable_is_named(self):
        self.write(self.record(serialized(strings("x"))))
        with self.assertRaisesRegex(r_data.RDataError, "'other'"):
            r_data.read_strings(self.path, "other")

    def test_a_wrong_length_is_refused(self):
        self.write(self.record(serialized(strings("x")), size=3))
        with self.assertRaisesRegex(r_data.RDataError, "its header says 3"):
            r_data.read_strings(self.path, "novel")

    def test_truncation_is_refused(self):
        self.write(self.record(serialized(strings("Chapter 1"))[:-4]))
        with self.assertRaisesRegex(r_data.RDataError, "truncated"):
            r_data.read_strings(self.path, "novel")


if __name__ == "__main__":
    unittest.main()
