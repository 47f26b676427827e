"""Debian packages: asks what is missing, installs only that, as root or through sudo."""
import os
import shutil
import subprocess
import sys

from .shell import Problem, must, output_of, run, say

BUILD = ["g++", "cmake", "ninja-build", "ccache", "mold", "git", "ca-certificates", "python3-venv",
         "libyaml-cpp-dev", "nlohmann-json3-dev", "libcli11-dev", "libboost-dev", "libpcre2-dev",
         "libutf8proc-dev", "libzstd-dev", "libgtest-dev", "libgloo-dev", "libhwy-dev",
         "libjemalloc-dev"]
FUZZ = ["clang", "libclang-rt-14-dev"]
BENCH = ["libjemalloc2", "python3-dev"]  # torch.compile compiles against Python's headers
LINT = ["clang-format", "clang-tidy", "shellcheck"]


def missing(names):
    """Those of `names` that dpkg does not call installed."""
    try:
        listing = subprocess.run(
            ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names],
            capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise Problem("dpkg-query was not found: this is not a Debian system",
                      "install the equivalents of these yourself and build with `cmake --preset "
                      "release`: " + " ".join(names)) from error
    installed = {line.split()[0] for line in listing.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def ensure(names, options):
    """Installs what is missing of `names`, or says in one line what an administrator has to type."""
    needed = missing(names)
    if not needed:
        return
    line = "apt-get install -y --no-install-recommends " + " ".join(needed)
    if options.offline:
        raise Problem("packages are missing and --offline was given: " + " ".join(needed),
                      f"run once without --offline, or as root: {line}")
    prefix = _administrator(line)
    _confirm(needed, options)
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if run([*prefix, *quiet, "apt-get", "update", "-q"], to_stderr=True) != 0:
        say("apt-get update failed; going on with the package lists that are there")
    must([*prefix, *quiet, *line.split()], "apt-get could not install " + " ".join(needed),
         "look at apt's message above; the network, the disk and another running apt are usual causes")
    still = missing(needed)
    if still:
        raise Problem("apt-get ended well but these are still missing: " + " ".join(still))


def _administrator(line):
    """What to put before apt-get: nothing for root, sudo where it can be used."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        may_ask = sys.stdin.isatty()
        if may_ask or output_of(["sudo", "-n", "true"]) is not None:
            return ["sudo"]
    raise Problem("packages are missing, and neither root nor a usable sudo is at hand",
                  f"as an administrator, run: apt-get update && {line}")


def _confirm(needed, options):
    if options.yes or not sys.stdin.isatty():
        return
    say("to be installed on this machine with apt: " + " ".join(needed))
    if input("dev: go on? [Y/n] ").strip().lower() not in ("", "y", "yes"):
        raise Problem("nothing was installed", "install the packages yourself, then run ./dev again")
