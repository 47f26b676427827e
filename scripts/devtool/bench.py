"""`./dev bench`: runs the benchmark scripts of tests/bench, each a program of its own."""
import sys

from . import build
from .shell import ROOT, Problem, run


def run_all(options):
    """Runs all, or those named without .py; what begins with - goes to each. 1 when one fails."""
    scripts = sorted((ROOT / "tests/bench").glob("*.py"))
    names = [script.stem for script in scripts]
    wanted = [word for word in options.rest if not word.startswith("-")]
    arguments = [word for word in options.rest if word.startswith("-")]
    for name in wanted:
        if name not in names:
            raise Problem(f"there is no benchmark {name!r}", "there are: " + " ".join(names), status=2)
    env = {**build.environment(), "TITAN_PROGRAM": str(build.program())}
    chosen = [script for script in scripts if not wanted or script.stem in wanted]
    return max([min(run([sys.executable, script, *arguments], env=env), 1) for script in chosen], default=0)
