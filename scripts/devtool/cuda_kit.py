"""The CUDA compiler: a toolkit that is installed, else NVIDIA's wheels in .titan/cuda.

Device code is compiled on every machine, GPU or not, so that it cannot rot. It needs nvcc and its
parts, the runtime's headers and static library, and cublasLt.h. That header comes only with the
whole library (423 MB), of which nothing else is kept: cuBLASLt itself is opened at run time.
"""
import os
import re
import shutil
import zipfile
from pathlib import Path

from . import torch_env
from .shell import STATE, Problem, must, output_of, say

WHEELS = ["nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-nvvm==13.0.88",
          "nvidia-cuda-cccl==13.0.85", "nvidia-cuda-runtime==13.0.96"]
CUBLAS = "nvidia-cublas==13.1.0.3"
OLDEST = (12, 9)  # the first release whose cublasLt.h knows every scale mode of the recipes
KIT = STATE / "cuda"
HOME = KIT / "nvidia/cu13"
_STAMP = KIT / "titan-complete"


def ensure(options):
    """The nvcc to build with."""
    nvcc, lacks = _toolkit()
    if nvcc:
        return nvcc
    wanted = " ".join([*WHEELS, CUBLAS]) + "\n"
    if _STAMP.exists() and _STAMP.read_text() == wanted:
        return HOME / "bin/nvcc"
    if options.offline:
        raise Problem(f"no usable CUDA compiler ({lacks}) and --offline was given",
                      "run ./dev build once without --offline, or install CUDA toolkit 12.9 or later")
    say(f"{lacks}: the CUDA compiler comes from PyPI (about 0.3 GB in .titan/cuda)")
    pip = _pip_environment()
    shutil.rmtree(KIT, ignore_errors=True)
    torch_env.pip_install(pip, ["--no-deps", "--target", KIT, *WHEELS])
    _unpack_cublas_headers(pip)
    _link_names()
    if output_of([HOME / "bin/nvcc", "--version"]) is None:
        raise Problem("the nvcc from PyPI does not run", f"try {HOME / 'bin/nvcc'} --version by hand")
    _STAMP.write_text(wanted)
    return HOME / "bin/nvcc"


def _toolkit():
    """(nvcc, "") of an installed toolkit that has all that is needed, else (None, what it lacks)."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    on_path = shutil.which("nvcc")
    candidates = [Path(home, "bin/nvcc") for home in homes if home]
    candidates += [Path(on_path).resolve()] if on_path else []
    lacks = "no nvcc is installed"
    for nvcc in candidates:
        release = re.search(r"release (\d+)\.(\d+)", output_of([nvcc, "--version"]) or "")
        if not release:
            continue
        home = nvcc.parent.parent
        if (int(release[1]), int(release[2])) < OLDEST:
            lacks = f"{nvcc} is CUDA {release[1]}.{release[2]}, older than {OLDEST[0]}.{OLDEST[1]}"
        elif not list(home.glob("**/include/cublasLt.h")):
            lacks = f"the toolkit of {nvcc} has no cublasLt.h"
        elif not list(home.glob("**/libcudart_static.a")):
            lacks = f"the toolkit of {nvcc} has no libcudart_static.a"
        else:
            return nvcc, ""
    return None, lacks


def _pip_environment():
    """A virtual environment whose pip can be used: LibTorch's, else one that holds pip alone."""
    if (torch_env.VENV / "bin/pip").exists():
        return torch_env.VENV
    torch_env.ensure_pip(STATE / "pip")
    return STATE / "pip"


def _unpack_cublas_headers(pip):
    folder = STATE / "tmp"
    shutil.rmtree(folder, ignore_errors=True)
    must([pip / "bin/python", "-m", "pip", "download", "--no-cache-dir", "--disable-pip-version-check",
          "--no-deps", "--dest", folder, CUBLAS], "pip could not fetch " + CUBLAS)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        headers = [name for name in wheel.namelist() if "/include/" in name and name.endswith(".h")]
        wheel.extractall(KIT, headers)
    shutil.rmtree(folder)
    if not (HOME / "include/cublasLt.h").exists():
        raise Problem(f"{CUBLAS} holds no cublasLt.h where it was expected")


def _link_names():
    """What a toolkit has and the wheels lack: lib64, and libX.so beside libX.so.N."""
    (HOME / "lib64").symlink_to("lib")
    for library in (HOME / "lib").glob("lib*.so.*"):
        plain = HOME / "lib" / (library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)
