"""`./dev bench`: runs the benchmark scripts of tests/bench, each a program of its own."""
import re
import sys

from . import build, packages, peer_env, text
from .shell import ROOT, Problem, run, say

USAGE = 2  # the status of a script that refuses its options
# These take their value as the next word too: --rounds 3.
VALUED = ("--rounds", "--steps", "--recipes", "--types", "--shape")
PEER = re.compile(r"^from support import .*\b(?:contest|peer)\b", re.MULTILINE)  # scripts that run the Python trainer


def is_of(stem, name):
    return stem == name or stem.startswith(name + "_")


def choose(words, scripts):
    """(scripts to run, options for each): all scripts, or those named without .py, or the family of a name (float8:
    float8_*); what begins with - goes to each, with its value."""
    wanted, arguments, waiting = [], [], list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-"):
            wanted.append(word)
            continue
        arguments.append(word)
        if word in VALUED:
            if not waiting:
                raise Problem(f"{word} needs a value", f"for example {word}=3", status=USAGE)
            arguments.append(waiting.pop(0))
    names = [script.stem for script in scripts]
    for name in wanted:
        if not any(is_of(stem, name) for stem in names):
            raise Problem(f"there is no benchmark {name!r}", "there are: " + " ".join(names), status=USAGE)
    chosen = [script for script in scripts if not wanted or any(is_of(script.stem, name) for name in wanted)]
    if "--json" in arguments and len(chosen) > 1:
        raise Problem(f"--json prints one object, and {len(chosen)} benchmarks were asked for",
                      "name one of: " + " ".join(script.stem for script in chosen), status=USAGE)
    return chosen, arguments


def run_all(options):
    """Checks the words, makes what is needed, runs the scripts. 0; 1 when one fails, 2 when one refuses its options."""
    scripts = sorted((ROOT / "tests/bench").glob("*.py"))
    chosen, arguments = choose(options.rest, [script for script in scripts if script.name != peer_env.PROGRAM.name])
    compiled = ["tests/bench/all"] if (ROOT / "tests/bench/CMakeLists.txt").exists() else []
    build.ensure(options, targets=[*build.PROGRAM_TARGETS, *compiled])
    text.ensure(options)
    env = {**build.environment(), "TITAN_PROGRAM": str(build.program())}
    if any(PEER.search(script.read_text()) for script in chosen):
        packages.ensure(packages.BENCH, options)
        env["TITAN_PEER_PYTHON"] = str(peer_env.ensure(options))
    statuses = [_run_one([sys.executable, script, *arguments], env) for script in chosen]
    return USAGE if USAGE in statuses else max([min(status, 1) for status in statuses], default=0)


def _run_one(command, env):
    status = run(command, env=env)
    if status > 128:
        say(f"error: {command[1].name} was stopped by signal {status - 128}; its figures are lost")
    return status
