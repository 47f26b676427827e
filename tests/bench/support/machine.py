"""The machine and the versions that a figure belongs to."""
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from support.debug_run import PROGRAM, ROOT

FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "amx_int8")
JEMALLOC = "libjemalloc.so.2"


def facts():
    """CPU name, which of FLAGS it has, cores that this process may use, memory in GiB, kernel."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*:\s*(.*)$", info, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.*)$", info, re.MULTILINE)
    have = set(flags[1].split()) if flags else set()
    total = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)[1])
    return {"cpu": name[1] if name else platform.machine(), "flags": {flag: flag in have for flag in FLAGS},
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(total / 2**20, 1),
            "kernel": platform.release()}


def versions():
    """titan's commit and version, the compiler, Python; None for what cannot be found out."""
    return {"titan_commit": _output(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=9"]),
            "titan": _version(PROGRAM), "compiler": _compiler(), "python": platform.python_version()}


def jemalloc_library():
    """The path of Debian's libjemalloc2, or None where it is not installed."""
    folders = ["/usr/lib/" + platform.machine() + "-linux-gnu", "/usr/lib", "/usr/lib64"]
    return next((path for path in (f"{folder}/{JEMALLOC}" for folder in folders) if os.path.exists(path)), None)


def jemalloc_version():
    """The installed Debian package's version, else None."""
    return _output(["dpkg-query", "--show", "--showformat", "${Version}", "libjemalloc2"])


def lines(machine, versions_):
    """Both as two sentences for a table's foot."""
    have = [flag for flag, there in machine["flags"].items() if there]
    lack = [flag for flag, there in machine["flags"].items() if not there]
    flags = f"has {', '.join(have) or 'nothing'}" + (f", not {', '.join(lack)}" if lack else "")
    known = [f"{name} {value}" for name, value in versions_.items() if value]
    return [f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}; "
            f"{flags} of the instruction sets that matter.", "Versions: " + "; ".join(known) + "."]


def _compiler():
    """The first line of --version of the compiler that CMake chose for the program's build folder."""
    cache = Path(PROGRAM).resolve().parents[1] / "CMakeCache.txt"
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.exists() else None
    compiler = found[1] if found else shutil.which("c++")
    text = _output([compiler, "--version"]) if compiler else None
    return text.splitlines()[0] if text else None


def _version(program):
    """What stands after the name in the output of --version."""
    text = _output([program, "--version"])
    return text.partition(" ")[2] if text else None


def _output(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
