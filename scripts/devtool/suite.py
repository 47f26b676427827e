"""`./dev test`: builds everything and runs CTest; --ci adds the slower tests, sanitizers and fuzzers.

Tests of label "ci" take most of a minute or more each. They run with --ci or --long, and where arguments for ctest ask
for them (-R, -L, --rerun-failed). Tests of label "long" need --long.
"""
from . import build, packages, text
from .shell import Problem, cores, run, say

CTEST_FAILED = 8  # ctest's own status for failed tests
SANITIZER_ENV = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
                 "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def run_all(options):
    """Returns 0 when every stage passed, 1 when tests failed."""
    thorough, slow = _take(options, "--ci"), _take(options, "--long")
    if thorough:  # whatever is missing is asked for at the start, not half an hour later
        packages.ensure([*packages.BUILD, *packages.FUZZ], options)
    build.ensure(options)
    text.ensure(options)
    labels = [] if slow else ["-LE", "^long$" if thorough or options.rest else "^(long|ci)$"]
    failed = []
    if _ctest("release", [*labels, *options.rest]) != 0:
        failed.append("release")
    if thorough and not failed:
        failed += [preset for preset in ("asan", "fuzz") if not _sanitized(preset, options)]
    if failed:
        say(f"failed: the {' and '.join(failed)} tests; again with "
            "./dev test --rerun-failed, one alone with ./dev test -R NAME")
    return 1 if failed else 0


def _take(options, flag):
    found = flag in options.rest
    options.rest = [word for word in options.rest if word != flag]
    return found


def _sanitized(preset, options):
    """Builds a preset whose CMake settings choose the tests, and runs them."""
    # Only what the tests need: the rest is the same code as in the release build.
    build.ensure(options, preset, targets=["tests/all"])
    return _ctest(preset, ["-LE", "^long$"], SANITIZER_ENV) == 0


def _ctest(preset, arguments, extra_env=None):
    command = ["ctest", "--test-dir", build.folder(preset), "--output-on-failure", "--no-tests=error",
               "--parallel", cores(), *arguments]
    status = run(command, env={**build.environment(), **(extra_env or {})})
    if status not in (0, CTEST_FAILED):
        raise Problem(f"ctest itself failed (exit status {status})",
                      "its message is above; arguments that ./dev does not know go to ctest", status=1)
    return status
