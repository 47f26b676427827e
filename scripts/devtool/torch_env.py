"""LibTorch in .titan/venv: the torch wheel and the two NVIDIA wheels that libtorch_cpu needs.

With --cuda the wheel's other dependencies come too: libtorch_cuda needs them at run time.
"""
import importlib.util
import json
import shutil
import sys

from .shell import STATE, Problem, must, run, say

TORCH = "torch==2.11.0"
CPU_WHEELS = [TORCH, "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cupti==13.0.85"]
VENV = STATE / "venv"
_STAMP = VENV / "titan-complete.json"  # written last, so a venv without it is a half-made one


def torch_root():
    """The folder with include/ and lib/ inside .titan/venv, or None."""
    for folder in VENV.glob("lib/python3*/site-packages/torch"):
        if (folder / "include/ATen/core/TensorBody.h").exists() and (folder / "lib/libtorch_cpu.so").exists():
            return folder
    return None


def ensure(options):
    """Makes .titan/venv complete. A link there is somebody's own environment: it is only checked."""
    if VENV.is_symlink():
        if torch_root() is None:
            raise Problem(".titan/venv is a link, but no LibTorch lies behind it",
                          "remove the link, or let it point to an environment with " + TORCH)
        return
    want = {"wheels": CPU_WHEELS, "all_dependencies": options.cuda}
    have = _stamp()
    if have and have["wheels"] == CPU_WHEELS and have["all_dependencies"] >= options.cuda and torch_root():
        return
    if options.offline:
        raise Problem("LibTorch is not complete in .titan/venv and --offline was given",
                      "run ./dev build once without --offline, or pass --torch /path/to/libtorch")
    _STAMP.unlink(missing_ok=True)
    ensure_pip(VENV)
    say(f"LibTorch comes from PyPI: about {'4.6' if options.cuda else '1.3'} GB on disk in .titan/venv")
    pip_install(VENV, [TORCH] if options.cuda else ["--no-deps", *CPU_WHEELS])
    if options.cuda:  # the same versions, plus whatever the two pins add
        pip_install(VENV, ["--no-deps", *CPU_WHEELS[1:]])
    if torch_root() is None:
        raise Problem("pip ended well, but .titan/venv holds no LibTorch", "run ./dev clean and try again")
    _STAMP.write_text(json.dumps(want) + "\n")


def ensure_pip(venv):
    """A virtual environment with a working pip; one that was left half made is made again."""
    python = venv / "bin/python"
    if python.exists() and run([python, "-m", "pip", "--version"], to_stderr=True) == 0:
        return
    if importlib.util.find_spec("ensurepip") is None:
        raise Problem("this python3 cannot make virtual environments (no ensurepip)",
                      "on Debian: apt-get install python3-venv")
    if sys.version_info < (3, 10):
        raise Problem(f"python3 is {sys.version.split()[0]}; the torch wheels need 3.10 or newer")
    shutil.rmtree(venv, ignore_errors=True)
    venv.parent.mkdir(exist_ok=True)
    must([sys.executable, "-m", "venv", venv], "the virtual environment could not be made")


def pip_install(venv, arguments, what="LibTorch's or CUDA's wheels"):
    """pip in `venv`, with no cache: the wheels are large and are fetched once. `what`: for the message."""
    must([venv / "bin/python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check",
          "--no-input", *arguments], f"pip could not install {what}",
         "a later run repairs what is half done; --torch /path/to/libtorch takes a LibTorch of your own")


def _stamp():
    try:
        return json.loads(_STAMP.read_text())
    except (OSError, ValueError):
        return None
