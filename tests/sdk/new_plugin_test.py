#!/usr/bin/env python3
"""`titan plugins new`: what it writes builds without a warning, passes its own tests and installs, in every language;
a converter that is wrong fails them; what cannot be written is refused whole.

Usage: new_plugin_test.py TITAN_PROGRAM SOURCE_FOLDER BUILD_FOLDER TORCH_INCLUDE
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import titan_run
from installed_prefix import install, must

BUILD = TORCH = None
FILES = {".gitignore", "CMakeLists.txt", "README.md", "test/trains.cmake"}


class NewPlugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.work = Path(cls.temporary.name).resolve()
        cls.prefix = cls.work / "prefix"
        install(BUILD, cls.prefix, "sdk", "titan")
        cls.env = {**os.environ, "TITAN_TORCH_ROOT": str(TORCH.parent), "OMP_NUM_THREADS": "1"}
        cls.env.pop("TITAN_PLUGIN_PATH", None)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def titan(self, *arguments, program=None):
        return subprocess.run([str(program or self.prefix / "bin/titan"), *map(str, arguments)], cwd=self.work, env=self.env,
                              capture_output=True, text=True, timeout=100)

    def build(self, folder):
        must("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", env=self.env)
        return must("cmake", "--build", folder / "build", env=self.env)

    def ctest_of(self, folder):
        return subprocess.run(["ctest", "--test-dir", str(folder / "build"), "--output-on-failure"], env=self.env,
                              capture_output=True, text=True, timeout=300)

    def test_every_language_builds_passes_and_installs(self):
        for name, language, source in (("gain-c.1", "c", "gain-c.1.c"), ("gain_cpp", "cpp", "gain_cpp.cpp"),
                                       ("gain_torch", "torch", "gain_torch.cpp")):
            with self.subTest(language=language):
                folder = self.work / f"my {name}"
                made = self.titan("plugins", "new", name, "--language", language, "--folder", folder)
                self.assertEqual(made.returncode, 0, made.stderr)
                files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
                self.assertEqual(files, FILES | {source, f"{name}.json"})
                for file in files:
                    self.assertNotRegex((folder / file).read_text(), r"@[A-Z_]+@", file)
                self.assertNotIn("warning", self.build(folder))
                done = self.ctest_of(folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                for test in ("inspect", "trains", "validate"):
                    self.assertRegex(done.stdout, rf"{test} \.+ +Passed")
                self.assert_installed_by_rename(folder, name)

    def assert_installed_by_rename(self, folder, name):
        installed = self.prefix / "lib/titan/plugins" / f"{name}.so"
        self.assertEqual(self.titan("plugins", "has", name).returncode, 1)
        must("cmake", "--install", folder / "build", "--prefix", self.prefix)
        self.assertEqual(self.titan("plugins", "has", name, "--at-least", "0.1").returncode, 0)
        with open(installed, "rb") as mapped:  # as a trainer that runs has it
            before = mapped.read()
            must("cmake", "--install", folder / "build", "--prefix", self.prefix)
            self.assertNotEqual(os.fstat(mapped.fileno()).st_ino, installed.stat().st_ino)
            mapped.seek(0)
            self.assertEqual(mapped.read(), before)
        self.assertFalse((installed.parent / ".new").exists())
        self.assertEqual((folder / "build/install_manifest.txt").read_text().split(), [str(installed)])

    def test_its_tests_can_fail(self):
        for language, right, wrong in (("c", "dz, gain, &grad", "dz, dz, &grad"),
                                       ("cpp", "init_constant(start_)", "init_constant(2 * start_)")):
            with self.subTest(language=language):
                made = self.titan("plugins", "new", f"wrong_{language}", "--language", language)
                self.assertEqual(made.returncode, 0, made.stderr)
                folder = self.work / f"wrong_{language}"
                source = folder / f"wrong_{language}.{language}"
                self.assertIn(right, source.read_text())
                source.write_text(source.read_text().replace(right, wrong))
                self.build(folder)
                self.assertNotEqual(self.ctest_of(folder).returncode, 0)

    def refused(self, status, text, *arguments, program=None):
        before = sorted(path.name for path in self.work.iterdir())
        done = self.titan("plugins", "new", *arguments, program=program)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(text, done.stderr)
        self.assertIn("fix: ", done.stderr)
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), before)

    def test_names_that_cannot_be_used(self):
        self.refused(2, "no name was given")
        for name in ("Gain", "-x", "a/b", "..", "g" * 65, "gäin", "a\n"):
            self.refused(2, "fix", name)
        for name in ("training", "lr-scheduler", "model.args"):
            self.refused(2, "built-in section", name)
        self.refused(2, "CMake", "test")
        self.refused(2, "did you mean 'torch'", "gain", "--language", "torc")

    def test_folders_that_cannot_be_used(self):
        taken = self.work / "taken"
        taken.mkdir()
        (taken / "mine.txt").write_text("mine")
        self.refused(2, "is there already", "taken")
        self.refused(2, "is there already", "gain", "--folder", "taken/")
        self.assertEqual([path.name for path in taken.iterdir()], ["mine.txt"])
        (self.work / "link").symlink_to("nowhere")
        self.refused(2, "is there already", "gain", "--folder", "link")
        self.refused(2, "no folder", "gain", "--folder", "missing/gain")
        self.refused(3, "cannot be written", "gain", "--folder", "/proc/gain")
        made = self.titan("plugins", "new", "gain", "--folder", "taken/sub dir/")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertTrue((taken / "sub dir/gain.json").is_file())
        self.assertIn("'taken/sub dir/build'", made.stdout.replace("//", "/"))

    def test_without_the_sdk_it_says_what_to_install(self):
        alone = self.work / "alone"
        (alone / "bin").mkdir(parents=True)
        shutil.copy(self.prefix / "bin/titan", alone / "bin")
        self.refused(3, "--component sdk", "gain", program=alone / "bin/titan")

    def test_the_build_folder_has_the_template_too(self):
        made = self.titan("plugins", "new", "from_build", program=titan_run.PROGRAM)
        self.assertEqual(made.returncode, 0, made.stderr)
        # There is no SDK beside it to build with: that comes first.
        self.assertIn(f"cmake --install {BUILD} --prefix PREFIX\n", made.stdout)


if __name__ == "__main__":
    titan_run.PROGRAM, _, BUILD, TORCH = map(Path, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
