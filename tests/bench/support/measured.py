"""Runs one contestant as a process of its own and measures it, with what the rest of the machine did meanwhile."""
import contextlib
import dataclasses
import fcntl
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUIET = 0.1  # cores; what other processes may use while a figure is taken
THREADS = 2  # of every contestant, or fewer where there are fewer cores


@dataclasses.dataclass
class Outcome:
    """What a finished run used: seconds, MiB and cores. `started`: seconds since 1970; `output`: its stdout."""
    started: float
    wall_s: float
    cpu_s: float
    peak_rss_mib: float
    foreign_cores: float
    output: str

    @property
    def quiet(self):
        """Whether other processes left the machine alone."""
        return self.foreign_cores <= QUIET


def threads():
    """Threads of a contestant on this machine."""
    return min(THREADS, len(os.sched_getaffinity(0)))


def pinned(extra=None):
    """The environment of every contestant: the same number of threads, one to a core, OpenMP's own way of waiting."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_", "MKL_"))}
    env.update(OMP_NUM_THREADS=str(threads()), MKL_NUM_THREADS=str(threads()), OMP_PROC_BIND="true", OMP_PLACES="cores")
    env.update(extra or {})
    return env


def foreign_cores(busy_before_s, busy_after_s, own_cpu_s, wall_s):
    """The cores that others used: what the machine was busy, less what is ours, over the time; never below 0."""
    return max(0.0, busy_after_s - busy_before_s - own_cpu_s) / wall_s


def busy_seconds(text=None):
    """Seconds that all cores together were busy since the start, from the first line of /proc/stat."""
    line = (text if text is not None else Path("/proc/stat").read_text(encoding="ascii")).splitlines()[0]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def machine_lock():
    """Holds the file that TITAN_BENCH_LOCK names: people who share a machine can wait for each other with it."""
    name = os.environ.get("TITAN_BENCH_LOCK")
    if not name:
        yield
        return
    with open(name, "a", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(command, env=None, cwd=None):
    """Runs `command` to its end. A run that fails ends the benchmark with the run's last output.

    Peak memory is that of the process itself or, if larger, of its largest child; CPU time includes the children
    that it waited for.
    """
    command = [str(word) for word in command]
    with machine_lock(), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        own, busy, start, started = time.process_time(), busy_seconds(), time.monotonic(), time.time()
        child = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        cpu = usage.ru_utime + usage.ru_stime
        foreign = foreign_cores(busy, busy_seconds(), cpu + time.process_time() - own, wall)
        out.seek(0)
        errors.seek(0)
        output, complaint = out.read().decode(errors="replace"), errors.read().decode(errors="replace")
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with status {child.returncode}:\n{output[-4000:]}{complaint[-4000:]}")
    return Outcome(started, wall, cpu, usage.ru_maxrss / 1024, foreign, output)
