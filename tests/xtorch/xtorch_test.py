#!/usr/bin/env python3
"""The plugin binaries of this build, loaded by a titan that is built against another LibTorch: the newest
one that PyPI serves. The same losses within float32 noise, or the claim of binary compatibility is false.

TITAN_OTHER_TORCH names a LibTorch to use instead (the folder with include/ and lib/).
Usage: xtorch_test.py TITAN_PROGRAM SOURCE_FOLDER
"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import titan_run

PROGRAM, SOURCE = None, None
# Plugins whose tier promises that they hold across versions, and how each is applied.
RUNS = {
    "c_scale": ["--c_scale.factor=0.5"],
    "soft_cap": [],
    "weight_norm_cap": ["--weight_norm_cap.max_norm=1.0"],
    "lora": [],
    "sparse24": [],
    "monitor": [],
    "fused_projections": [],
    "float8": ["--float8.emulate=true"],
}


def must(*command, cwd=None):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], cwd=cwd, check=True)


def newest_torch():
    """A virtual environment with the newest torch and the two NVIDIA wheels that libtorch_cpu opens."""
    venv = SOURCE / ".titan/xtorch-venv"
    python = venv / "bin/python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--no-cache-dir", "--no-deps", "--upgrade"]
    if not python.exists():
        must(sys.executable, "-m", "venv", venv)
    must(*pip, "torch")
    packages = next(venv.glob("lib/python3*/site-packages"))
    metadata = next(packages.glob("torch-*.dist-info")).joinpath("METADATA").read_text()
    # Named one by one up to 2.11, as extras of one package later.
    wheels = [name + version for name, version in
              re.findall(r"^Requires-Dist: (nvidia-cuda-(?:runtime|cupti)[\w-]*)\s*\(?(==[\w.]+)", metadata, re.MULTILINE)]
    if toolkit := re.search(r"^Requires-Dist: cuda-toolkit\[[\w,]*\](==[\w.]+)", metadata, re.MULTILINE):
        wheels = [f"cuda-toolkit[cudart,cupti]{toolkit[1]}"]
    must(*(word for word in pip if toolkit is None or word != "--no-deps"), *wheels)
    return packages / "torch"


def build_host(torch):
    folder = SOURCE / "build/xtorch"
    must("cmake", "--fresh", "-S", SOURCE, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTITAN_CUDA=OFF",
         f"-DTITAN_TORCH_ROOT={torch}")
    must("cmake", "--build", folder, "--target", "titan", "--parallel", os.cpu_count() or 1)
    return folder / "bin/titan"


class AcrossTorchVersions(unittest.TestCase):
    def test_same_losses(self):
        given = os.environ.get("TITAN_OTHER_TORCH")
        other = build_host(Path(given) if given else newest_torch())
        versions = []
        for program in (PROGRAM, other):
            titan_run.PROGRAM = program
            versions.append(re.search(r"LibTorch ([\d.]+)", titan_run.run("--version").stdout)[1])
        print("LibTorch", versions[0], "and", versions[1])
        self.assertNotEqual(*versions, "the other LibTorch is the same one")
        build = PROGRAM.parents[1]
        folders = [build / "plugins/examples" / name for name in RUNS if name != "float8"] + [build / "lib/titan/plugins"]
        folder = titan_run.Folder()
        self.addCleanup(folder.close)
        for name, options in {"": [], **RUNS}.items():
            converters = [f"--model.converters={name}", *options] if name else []
            lines = []
            for program in (PROGRAM, other):
                titan_run.PROGRAM = program
                lines.append(titan_run.train(folder, *converters, plugins=folders))
            for one, two in zip(*lines, strict=True):
                with self.subTest(plugin=name or "none", step=one["step"]):
                    self.assertLessEqual(abs(one["loss"] - two["loss"]), 2e-6 * one["loss"])
                    self.assertLessEqual(abs(one["grad_norm"] - two["grad_norm"]), 2e-5 * one["grad_norm"])


if __name__ == "__main__":
    PROGRAM, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1])
