"""The Python trainer that titan is measured against: a virtual environment of its own in .titan/peer-venv.

torch's wheel links its CUDA libraries, so `import torch` needs all of its dependencies even on a CPU. torchtitan comes
without its own; those that importing its Llama asks for are named here.
"""
import json

from . import torch_env
from .shell import ROOT, STATE, Problem, one_at_a_time, output_of, say

VENV = STATE / "peer-venv"
PROGRAM = ROOT / "tests/bench/peer_train.py"
TORCHTITAN = "torchtitan==0.2.2"
WHEELS = [torch_env.TORCH, "torchao==0.18.0", "safetensors", "numpy", "torchdata", "datasets", "tokenizers", "tyro",
          "tensorboard", "einops"]
_IMPORTS = "import torch, torchao, safetensors.torch, torchtitan.models.llama3"
_STAMP = VENV / "titan-complete.json"  # written last, so a venv without it is a half-made one


def ensure(options):
    """Makes the environment complete and returns its interpreter."""
    python = VENV / "bin/python"
    want = [*WHEELS, TORCHTITAN]
    with one_at_a_time():
        if _stamp() == want and python.exists():
            return python
        if options.offline:
            raise Problem("the Python trainer is not complete in .titan/peer-venv and --offline was given",
                          "run the benchmark once without --offline")
        _STAMP.unlink(missing_ok=True)
        torch_env.ensure_pip(VENV)
        say("the Python trainer comes from PyPI: about 5 GB on disk in .titan/peer-venv")
        torch_env.pip_install(VENV, WHEELS, "the Python trainer's wheels")
        torch_env.pip_install(VENV, ["--no-deps", TORCHTITAN], "torchtitan")
        if output_of([python, "-c", _IMPORTS]) is None:
            raise Problem("pip ended well, but .titan/peer-venv cannot import torchtitan's Llama",
                          f"see why: .titan/peer-venv/bin/python -c '{_IMPORTS}'")
        _STAMP.write_text(json.dumps(want) + "\n")
    return python


def _stamp():
    try:
        return json.loads(_STAMP.read_text())
    except (OSError, ValueError):
        return None
