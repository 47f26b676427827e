"""`./dev lint`: clang-format, clang-tidy and shellcheck with the settings of this repository."""
import concurrent.futures
import subprocess
import time

from . import build
from .shell import ROOT, Problem, cores, output_of, run, say

CPP = (".cpp", ".h", ".hpp", ".c", ".cu", ".cuh")
TIDY = (".cpp",)  # headers are seen through the sources that include them
TIDY_BUDGET = 900  # seconds for all files; a file that includes LibTorch takes about 30


def run_all(options):
    """Returns 0 when nothing was found, 1 otherwise. --fix lets clang-format rewrite the files."""
    unknown = [word for word in options.rest if word not in ("--all", "--fix")]
    if unknown:
        raise Problem(f"./dev lint does not know {unknown[0]!r}", "it takes --all and --fix", status=2)
    tracked = _lines("git", "ls-files", "--cached", "--others", "--exclude-standard")
    tracked = [name for name in tracked if (ROOT / name).is_file()]
    changed = tracked if "--all" in options.rest else _changed(tracked)
    clean = _format([name for name in tracked if name.endswith(CPP)], "--fix" in options.rest)
    clean &= _shell([name for name in tracked if _is_shell(name)])
    clean &= _tidy([name for name in changed if name.endswith(TIDY)], options)
    say("lint: nothing found" if clean else "lint: see above")
    return 0 if clean else 1


def _lines(*command):
    return (output_of(["git", "-C", ROOT, *command[1:]]) or "").splitlines()


def _changed(tracked):
    """What differs from the main branch, committed or not; without one, from the last commit."""
    for branch in ("origin/main", "main"):
        base = _lines("git", "merge-base", "HEAD", branch)
        head = _lines("git", "rev-parse", "HEAD")
        if base and base != head:
            break
    else:
        base = ["HEAD~1"]
    names = set(_lines("git", "diff", "--name-only", base[0]))
    names |= set(_lines("git", "ls-files", "--others", "--exclude-standard"))
    return [name for name in tracked if name in names]


def _is_shell(name):
    if name.endswith(".sh"):
        return True
    with open(ROOT / name, "rb") as file:
        first = file.readline(64)
    return first.startswith(b"#!") and (b"bash" in first or b"/sh" in first)


def _format(names, rewrite):
    if not names:
        return True
    mode = ["-i"] if rewrite else ["--dry-run", "--Werror"]
    return run(["clang-format", *mode, *names]) == 0


def _shell(names):
    return not names or run(["shellcheck", *names]) == 0


def _tidy(names, options):
    """clang-tidy on each file, two or more at a time, until the budget is used up."""
    if not names:
        return True
    build.ensure_configured(options, "debug")  # one object per source: a command line for each
    end = time.monotonic() + TIDY_BUDGET
    with concurrent.futures.ThreadPoolExecutor(cores()) as pool:
        results = list(pool.map(lambda name: _tidy_one(name, end), names))
    late = [name for name, result in zip(names, results) if result is None]
    if late:
        say(f"clang-tidy's {TIDY_BUDGET} s were over before these were looked at: {' '.join(late)}")
    return all(results)


def _tidy_one(name, end):
    left = end - time.monotonic()
    if left < 5:
        return None
    try:
        done = subprocess.run(["clang-tidy", "--quiet", "-p", str(build.folder("debug")), name], cwd=ROOT,
                              capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.stdout.strip() or done.returncode != 0:
        print(done.stdout.strip() or done.stderr.strip(), flush=True)
        return False
    say(f"clang-tidy: {name}: nothing found")
    return True
