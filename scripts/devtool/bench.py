"""`./dev bench`: runs the benchmark scripts of tests/bench, each a program of its own."""
import sys

from . import build
from .shell import ROOT, Problem, run


def is_of(stem, name):
    return stem == name or stem.startswith(name + "_")


def run_all(options):
    """Runs all, or those named without .py, or the family of a name (float8: float8_*); what begins with - goes
    to each. 1 when one fails."""
    scripts = sorted((ROOT / "tests/bench").glob("*.py"))
    names = [script.stem for script in scripts]
    wanted = [word for word in options.rest if not word.startswith("-")]
    arguments = [word for word in options.rest if word.startswith("-")]
    chosen = [script for script in scripts if not wanted or any(is_of(script.stem, name) for name in wanted)]
    for name in wanted:
        if not any(is_of(stem, name) for stem in names):
            raise Problem(f"there is no benchmark {name!r}", "there are: " + " ".join(names), status=2)
    env = {**build.environment(), "TITAN_PROGRAM": str(build.program())}
    return max([min(run([sys.executable, script, *arguments], env=env), 1) for script in chosen], default=0)
