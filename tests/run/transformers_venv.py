"""An interpreter that has transformers: the one that TITAN_TRANSFORMERS_PYTHON names, else one made from PyPI, once."""
import os
import subprocess
import sys


def interpreter(venv):
    """`venv`: the folder for the virtual environment."""
    given = os.environ.get("TITAN_TRANSFORMERS_PYTHON")
    if given:
        return given
    python = venv / "bin/python"
    if not (venv / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-cache-dir", "torch==2.11.0", "transformers", "safetensors",
                        "numpy"], check=True)
        (venv / "complete").touch()
    return python
