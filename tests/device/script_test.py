#!/usr/bin/env python3
"""scripts/device_check.sh from an empty environment: it builds all it needs, and without a GPU says so with status 77.

Usage: script_test.py LIBTORCH NVCC
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBTORCH = NVCC = None


def run_script(*options):
    # Nothing but a PATH, and no GPU even where there is one.
    return subprocess.run([ROOT / "scripts/device_check.sh", *options], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "CUDA_HOME": str(Path(NVCC).parents[1]), "CUDA_VISIBLE_DEVICES": ""})


class Script(unittest.TestCase):
    def test_builds_and_stops_where_there_is_no_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            built = run_script("--build-only", "--arch", "9.0", "--torch", LIBTORCH, "--build-dir", folder, "--jobs", "2")
            self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
            cache = (Path(folder) / "CMakeCache.txt").read_text()
            for library in ("Boost", "yaml-cpp", "nlohmann", "GTest"):
                self.assertNotIn(library + "_DIR", cache)
            driver, plugin = Path(folder) / "bin/device_check", Path(folder) / "lib/titan/plugins/float8.so"
            self.assertTrue(plugin.exists())
            none = subprocess.run([driver, "--plugin", plugin], capture_output=True, text=True, env={"CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(none.returncode, 77, none.stderr)

            stopped = run_script("--torch", LIBTORCH, "--build-dir", folder)
            self.assertEqual(stopped.returncode, 77, stopped.stdout + stopped.stderr)
            self.assertIn("no GPU: ", stopped.stderr)

    def test_what_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for options, status, said in ((("--json",), 2, "--json lacks its value"), (("--fast",), 2, "there is no option '--fast'"),
                                          (("--seconds", "0"), 2, "'0' is no whole number above 0"),
                                          (("--build-only", "--arch", "8.0", "--build-dir", folder), 2, "compute capability 8.0 has no fp8"),
                                          (("--build-only", "--build-dir", folder), 2, "--build-only needs --arch here"),
                                          (("--build-only", "--arch", "9.0", "--torch", folder, "--build-dir", folder), 3, "is no LibTorch")):
                result = run_script(*options)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(said, result.stderr)
                self.assertIn("fix: ", result.stderr)

    def test_help_names_every_status(self):
        result = run_script("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("0 all held", "1 something did not hold", "77 there is no GPU", "--json FILE"):
            self.assertIn(word, result.stdout)


if __name__ == "__main__":
    LIBTORCH, NVCC = (str(Path(word).resolve()) for word in sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main()
