#!/usr/bin/env python3
"""titan doctor on this machine, as it is and with something made wrong.

Usage: doctor_test.py TITAN_PROGRAM FAKE_CUDA_SOURCE NASTY_PLUGINS_FOLDER EXAMPLES_FOLDER
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import titan_run

FAKE_CUDA = NASTY = EXAMPLES = None
CLEAN = {"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}


class Doctor(unittest.TestCase):
    def setUp(self):
        self.folder = titan_run.Folder()
        self.addCleanup(self.folder.close)

    def doctor(self, *words, plugins=(), **env):
        """Status and parsed JSON; the text must agree with them."""
        words = (f"--job.dump_folder={self.folder.out}", *words)
        found = titan_run.run("doctor", *words, "--json", plugins=plugins, env={**CLEAN, **env})
        content = json.loads(found.stdout)
        text = titan_run.run("doctor", *words, plugins=plugins, env={**CLEAN, **env})
        self.assertEqual((found.returncode, text.returncode), (0 if content["healthy"] else 1,) * 2, text.stdout)
        self.assertEqual(text.stdout.count("\n  fix: "), len(content["problems"]), text.stdout)
        self.assertEqual((found.stderr, text.stderr), ("", ""))
        return content, text.stdout

    def without(self, problems, *words):
        """What is wrong with this machine itself is not what a test is about."""
        return [problem["what"] for problem in problems if not any(word in problem["what"] for word in words)]

    def test_a_machine_that_can_train(self):
        content, text = self.doctor()
        self.assertEqual(self.without(content["problems"], "memory", "free", "GPU", "CUDA", "grow to"), [])
        self.assertEqual(content["torch"]["version"], titan_run.run("--version").stdout.split("LibTorch ")[1].strip(" )\n"))
        self.assertEqual(content["torch"]["threads"], 1)
        self.assertIn("USE_OPENMP", content["torch"]["flags"])
        self.assertTrue(any(name.startswith("float8 ") for name in content["plugins"]), content["plugins"])
        self.assertEqual(content["system"]["processors"], os.cpu_count())
        self.assertGreater(content["system"]["memory_bytes"], 1 << 28)
        free = shutil.disk_usage(self.folder.path).free
        self.assertAlmostEqual(content["disk"]["dump_folder"]["free_bytes"], free, delta=0.1 * free)
        self.assertFalse(self.folder.out.exists(), "looking makes nothing")
        block = text.split("```")[1]
        for part in ("titan ", "LibTorch ", "glibc ", "plugins "):
            self.assertIn(part, block)
        for private in (str(self.folder.path), str(Path.home()), str(titan_run.PROGRAM.parent)):
            self.assertNotIn(private, block)

    def test_what_is_made_wrong_is_found(self):
        content, _ = self.doctor(LC_ALL="xx_YY.UTF-8", OMP_NUM_THREADS=str(os.cpu_count() + 3),
                                 MKL_DYNAMIC="FALSE")  # else MKL lowers the number itself
        self.assertEqual(self.without(content["problems"], "memory", "free", "GPU", "CUDA", "grow to"),
                         [f"LibTorch computes in {os.cpu_count() + 3} threads, but this process has "
                          f"{len(os.sched_getaffinity(0))} processors: the threads wait for each other",
                          "the locale 'xx_YY.UTF-8' of LC_ALL, LC_* or LANG is not installed"])
        self.assertEqual(content["environment"]["OMP_NUM_THREADS"], str(os.cpu_count() + 3))

    def test_limits(self):
        done = subprocess.run([titan_run.PROGRAM, "doctor", "--json"], capture_output=True, text=True, env={**os.environ, **CLEAN},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)), cwd=self.folder.path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("this process may open 200 files", [problem["what"] for problem in json.loads(done.stdout)["problems"]])

    def test_plugins(self):
        broken = self.folder.path / "broken.so"
        broken.write_bytes(b"\x7fELF cut")
        content, text = self.doctor(plugins=[broken, NASTY / "constructor_exit.so", EXAMPLES / "lora"])
        wrong = [problem["what"] for problem in content["problems"] if "is refused" in problem["what"]]
        self.assertEqual(len(wrong), 2, wrong)
        self.assertIn("broken.so", wrong[0])
        self.assertIn("constructor_exit.so", wrong[1])
        self.assertTrue(any(name.startswith("lora ") for name in content["plugins"]))
        self.assertNotIn("broken.so", text.split("```")[1])
        content, _ = self.doctor("--plugins.paths=/nowhere/at/all")
        self.assertTrue(any("/nowhere/at/all" in problem["what"] for problem in content["problems"]), content["problems"])

    def test_a_gpu_that_libtorch_cannot_use(self):
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", self.folder.path / "libcuda.so.1", FAKE_CUDA], check=True)
        content, text = self.doctor(LD_LIBRARY_PATH=str(self.folder.path))
        self.assertEqual(content["cuda"]["devices"],
                         [{"name": "NVIDIA Test 0", "capability": [9, 0], "memory_bytes": 1 << 37}])
        self.assertEqual(content["cuda"]["driver_cuda_version"], 13000)
        self.assertIn("GPU 0", text.split("```")[1])
        self.assertIn("NVIDIA Test 0, capability 9.0, 128.00GiB", text)

    def test_a_wrong_config_is_an_error_as_everywhere(self):
        done = titan_run.run("doctor", "--training.stepz=1", env=CLEAN)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'steps'", done.stderr)


if __name__ == "__main__":
    titan_run.PROGRAM, FAKE_CUDA, NASTY, EXAMPLES = (Path(argument).resolve() for argument in sys.argv[1:5])
    unittest.main(argv=sys.argv[:1])
