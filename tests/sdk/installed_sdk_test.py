#!/usr/bin/env python3
"""The SDK is installed into an empty prefix, and the example plugins are built from there, outside the tree, with
CMake and with plain compiler lines. What comes out loads into the trainer and computes the same.

Usage: installed_sdk_test.py TITAN_PROGRAM SOURCE_FOLDER BUILD_FOLDER TORCH_INCLUDE
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import titan_run
from installed_prefix import install, must

SOURCE = BUILD = TORCH = None
STABLE = ("soft_cap", "lora", "sparse24", "monitor", "fused_projections")

PROJECT = """\
cmake_minimum_required(VERSION 3.24)
project({name} LANGUAGES C CXX)
find_package(TitanSDK 0.1 REQUIRED)
titan_add_plugin({name} SOURCES {source} METADATA {name}.json {flags})
"""


class InstalledSdk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.work = Path(cls.temporary.name)
        cls.prefix = cls.work / "prefix"
        install(BUILD, cls.prefix, "sdk")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def project(self, name):
        """The sources of an example, alone in a folder."""
        folder = self.work / name
        folder.mkdir()
        for file in (SOURCE / "plugins/examples" / name).iterdir():
            if file.suffix in (".c", ".cpp", ".h", ".json"):
                shutil.copy(file, folder)
        return folder, next(file for file in folder.iterdir() if file.suffix in (".c", ".cpp"))

    def assert_same_plugin(self, name, plugin):
        """It is loadable by its note alone, and runs as the one that was built in the tree."""
        judged = json.loads(titan_run.run("plugins", "inspect", plugin, "--json").stdout)
        self.assertEqual(judged["outcome"], "loadable", judged)
        self.assertFalse([library for library in judged["needs"] if "torch" in library or "c10" in library])
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        runs = [titan_run.train(folder, f"--model.converters={name}", plugins=[place])
                for place in (plugin, BUILD / "plugins/examples" / name)]
        self.assertEqual([line["loss"] for line in runs[0]], [line["loss"] for line in runs[1]])

    def test_nothing_of_the_tree_is_named(self):
        for file in self.prefix.rglob("*"):
            # A program names its source lines in internal errors.
            if file.is_file() and file.parent != self.prefix / "bin":
                self.assertNotIn(str(SOURCE), file.read_text(), file)

    def test_the_validator_is_there(self):
        folder, source = self.project("scale_norm")
        (folder / "CMakeLists.txt").write_text(PROJECT.format(name="scale_norm", source=source.name, flags="LIBRARIES m"))
        must("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        must("cmake", "--build", folder / "build")
        lines = must(self.prefix / "bin/titan-plugin-validate", folder / "build/scale_norm.so", "--only", "exports,error-paths,gradients")
        self.assertIn("3 passed", lines)

    def test_with_cmake(self):
        for name in ("c_scale", "weight_norm_cap", *STABLE[:2]):
            with self.subTest(plugin=name):
                folder, source = self.project(name)
                flags = "TORCH_STABLE" if name in STABLE else ""
                (folder / "CMakeLists.txt").write_text(PROJECT.format(name=name, source=source.name, flags=flags))
                must("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                     f"-DTITAN_TORCH_ROOT={TORCH.parent}")
                must("cmake", "--build", folder / "build")
                self.assert_same_plugin(name, folder / "build" / f"{name}.so")

    def test_every_other_plugin_of_the_tree(self):
        """All that is left, the flagship among them, in one project with nothing but the installed SDK."""
        folder = self.work / "others"
        folder.mkdir()
        lines = ["cmake_minimum_required(VERSION 3.24)", "project(others LANGUAGES C CXX)", "find_package(TitanSDK 0.1 REQUIRED)"]
        names = ["scale_norm", *STABLE[2:]]
        self.assertEqual({*names, "c_scale", "weight_norm_cap", *STABLE[:2]},
                         {place.parent.name for place in (SOURCE / "plugins/examples").glob("*/*.json")})
        for name in names:
            shutil.copytree(SOURCE / "plugins/examples" / name, folder / name)
            source = next(file.name for file in (folder / name).iterdir() if file.suffix in (".c", ".cpp"))
            lines.append(f"titan_add_plugin({name} SOURCES {name}/{source} METADATA {name}/{name}.json "
                         f"{'TORCH_STABLE' if name in STABLE else 'LIBRARIES m'})")
        shutil.copytree(SOURCE / "plugins/float8", folder / "float8")
        lines += ["file(GLOB sources float8/*.cpp)",
                  "titan_add_plugin(float8 SOURCES ${sources} float8/cuda/no_cuda.cpp METADATA float8/plugin.json TORCH_STABLE)",
                  "target_include_directories(float8 PRIVATE float8)"]
        lines.insert(2, "set(CMAKE_CXX_STANDARD 20)")
        (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
        must("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
             f"-DTITAN_TORCH_ROOT={TORCH.parent}")
        must("cmake", "--build", folder / "build")
        for name in (*names, "float8"):
            with self.subTest(plugin=name):
                done = titan_run.run("plugins", "why", folder / "build" / f"{name}.so")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_with_a_compiler_line_and_pkg_config(self):
        folder = self.work / "plain"
        folder.mkdir()
        flags = ["-I", self.prefix / "include"]
        if shutil.which("pkg-config"):
            environment = {**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
            flags = must("pkg-config", "--cflags", "titan-sdk", env=environment).split()
        note = self.prefix / "lib/cmake/TitanSDK/TitanMakeNote.cmake"
        for name, compiler, standard in (("c_scale", "gcc", "-std=c11"), ("monitor", "g++", "-std=c++20")):
            with self.subTest(plugin=name):
                sources = SOURCE / "plugins/examples" / name
                source = next(file for file in sources.iterdir() if file.suffix in (".c", ".cpp"))
                must("cmake", f"-DJSON={sources / (name + '.json')}", f"-DHEADER={folder / 'titan_note.h'}", "-P", note)
                must(compiler, standard, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-z,noexecstack", *flags,
                     "-I", folder, "-isystem", TORCH, "-DTORCH_TARGET_VERSION=0x020a000000000000", source, "-o",
                     folder / f"{name}.so")
                self.assert_same_plugin(name, folder / f"{name}.so")

    def test_without_torch_the_message_names_the_variable(self):
        folder, source = self.project("monitor")
        (folder / "CMakeLists.txt").write_text(PROJECT.format(name="monitor", source=source.name, flags="TORCH_STABLE"))
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                               f"-DTITAN_TORCH_ROOT={self.work}"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TITAN_TORCH_ROOT", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, SOURCE, BUILD, TORCH = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
