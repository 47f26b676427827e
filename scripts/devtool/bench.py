"""`./dev bench`: runs the benchmark scripts of tests/bench, each a program of its own."""
import sys

from . import build
from .shell import ROOT, Problem, run


def run_all(options):
    """Runs all, or those whose names are given without .py; returns 1 when one fails."""
    scripts = sorted((ROOT / "tests/bench").glob("*.py"))
    names = [script.stem for script in scripts]
    for name in options.rest:
        if name not in names:
            raise Problem(f"there is no benchmark {name!r}", "there are: " + " ".join(names), status=2)
    env = {**build.environment(), "TITAN_PROGRAM": str(build.program())}
    chosen = [script for script in scripts if not options.rest or script.stem in options.rest]
    return max([min(run([sys.executable, script], env=env), 1) for script in chosen], default=0)
