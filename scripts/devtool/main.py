"""The sub-commands of ./dev."""
import os
import shutil
import sys
import types

from . import bench, build, lint, packages, suite, text
from .shell import ROOT, STATE, Problem, become, say, show

HELP = """\
usage: ./dev COMMAND [options]

  train [ARGS]   install what is missing, build, and train the small Llama with float8 on a novel;
                 ARGS go to `titan train`, e.g. --training.steps=20
  test [ARGS]    build everything and run the tests; ARGS go to ctest, e.g. -R golden, -L abi
                   --ci     also the slower tests, tests under sanitizers, fuzzers for ten seconds each
                   --long   also the tests that take minutes
  titan ARGS     run the titan program with its environment set (./dev titan plugins list)
  build          install what is missing and build
  data           fetch the text into .titan/data
  bench [NAMES]  run the benchmarks of tests/bench (docs/performance.md); options go to them
                   --rounds N, --steps N, --quick   how long
                   --json     one JSON object on stdout; of one benchmark
                   --write    put the table into docs/performance.md
  lint           clang-format, clang-tidy, shellcheck
                   --all    clang-tidy on all files, not only on changed ones
                   --fix    let clang-format rewrite the files
  clean          remove build/ and .titan/
  help           this text

options of train, test, build, bench and data (all else is passed on, and so is what follows --):
  -y, --yes      do not ask before installing Debian packages
  --offline      install and download nothing
  --cuda         all that LibTorch needs on a GPU (4.6 GB instead of 1.3)
  --torch PATH   a LibTorch of your own (also: TITAN_TORCH_ROOT)

Downloads lie in .titan/, products in build/; nothing is written to your home folder.
Exit status: 0 done, 1 build or tests failed, 2 usage, 3 this machine lacks something.
"""

TRAIN = ["train", "configs/llama3_debug.yaml", "--model.converters=float8", "--float8.emulate=true"]


def parse(arguments):
    """Splits ./dev's own options from those to be passed on."""
    options = types.SimpleNamespace(yes=False, offline=False, cuda=False, torch="", rest=[])
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            options.rest += waiting
            break
        if word in ("-y", "--yes"):
            options.yes = True
        elif word in ("--offline", "--cuda"):
            setattr(options, word[2:], True)
        elif word == "--torch":
            if not waiting:
                raise Problem("--torch needs a folder", "./dev help", status=2)
            options.torch = waiting.pop(0)
        elif word.startswith("--torch="):
            options.torch = word.split("=", 1)[1]
        else:
            options.rest.append(word)
    return options


def no_rest(options, command):
    if options.rest:
        raise Problem(f"./dev {command} does not know {options.rest[0]!r}", "./dev help", status=2)


def train(arguments):
    options = parse(arguments)
    build.ensure(options, targets=build.PROGRAM_TARGETS)
    text.ensure(options)
    command = [build.program(), *TRAIN, *options.rest]
    show(command)
    become(command, build.environment())


def titan(arguments):
    """Prints nothing of its own when there is nothing to build."""
    if not build.up_to_date(build.PROGRAM_TARGETS):
        build.ensure(parse([]), targets=build.PROGRAM_TARGETS)
    become([build.program(), *arguments], build.environment(), cwd=os.getcwd())


def build_all(arguments):
    options = parse(arguments)
    no_rest(options, "build")
    build.ensure(options)
    return 0


def data(arguments):
    options = parse(arguments)
    no_rest(options, "data")
    text.ensure(options)
    return 0


def clean(arguments):
    no_rest(parse(arguments), "clean")
    for folder in (ROOT / "build", STATE):
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            say(f"removing {folder.name}/")
            shutil.rmtree(folder)
    return 0


def run_bench(arguments):
    return bench.run_all(parse(arguments))


def run_lint(arguments):
    options = parse(arguments)
    packages.ensure(packages.LINT, options)
    return lint.run_all(options)


def help_text(_):
    print(HELP, end="")
    return 0


COMMANDS = {"train": train, "test": lambda words: suite.run_all(parse(words)), "titan": titan,
            "build": build_all, "data": data, "bench": run_bench, "lint": run_lint, "clean": clean,
            "help": help_text, "--help": help_text, "-h": help_text}


def main(arguments):
    """Runs one sub-command and returns the exit status."""
    if not arguments:
        print(HELP, end="", file=sys.stderr)
        return 2
    name, rest = arguments[0], arguments[1:]
    try:
        if name not in COMMANDS:
            raise Problem(f"there is no command {name!r}", "one of: " + " ".join(
                word for word in COMMANDS if not word.startswith("-")), status=2)
        return COMMANDS[name](rest)
    except Problem as problem:
        say(f"error: {problem.what}")
        if problem.hint:
            say(f"fix: {problem.hint}")
        return problem.status
    except KeyboardInterrupt:
        return 130
