"""One run of the Python trainer (peer_train.py), as debug_run.run is one of titan."""
import json
import os
import sys
from pathlib import Path

from support import machine, measured
from support.debug_run import ROOT, Run

SCRIPT = Path(__file__).resolve().parents[1] / "peer_train.py"
# Pages are kept instead of given back, and are large where the kernel can: the strongest setting for training.
JEMALLOC = "dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always"


def python():
    """The interpreter that has the peer's packages."""
    name = os.environ.get("TITAN_PEER_PYTHON")
    if not name:
        sys.exit("TITAN_PEER_PYTHON names no Python with torch, torchao and torchtitan\n"
                 "fix: `./dev bench NAME` makes one and sets it")
    return name


def run(arguments, jemalloc=False):
    """A run with the lines and what the process used. One that fails ends the benchmark."""
    command = [python(), SCRIPT, "--threads", measured.threads(), *arguments]
    outcome = measured.run(command, measured.pinned(_environment(jemalloc)), ROOT)
    lines = [json.loads(line) for line in outcome.output.splitlines() if line.startswith("{")]
    return Run([line for line in lines if "step" in line], outcome)


def versions():
    """Of torch, torchao, torchtitan and jemalloc."""
    names = ("torch", "torchao", "torchtitan")
    code = f"import importlib.metadata as m, json; print(json.dumps({{name: m.version(name) for name in {names!r}}}))"
    return {**json.loads(measured.run([python(), "-c", code]).output), "jemalloc": machine.jemalloc_version()}


def _environment(jemalloc):
    # One compiling process: others would go on beside the training.
    env = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(ROOT / ".titan/cache/inductor")}
    if jemalloc:
        library = machine.jemalloc_library()
        if library is None:
            sys.exit(f"{machine.JEMALLOC} is not installed\nfix: apt-get install libjemalloc2")
        env.update(LD_PRELOAD=library, MALLOC_CONF=JEMALLOC)
    return env
