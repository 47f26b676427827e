"""The text that `./dev train` learns: Pride and Prejudice, from a Debian package.

The novel is in the public domain; no text is committed. Where the package cannot be had, the
licence texts that every Debian system carries are used instead, and that is said.
"""
import hashlib
import shutil
from pathlib import Path

from . import r_data
from .shell import STATE, Problem, one_at_a_time, run, say

PACKAGE = "r-cran-janeaustenr"
DATA = STATE / "data"
TEXT = DATA / "pride_and_prejudice.txt"
SHA256 = "dfc684d4f857fa938268f9ab9c5567b64bd0691251eca959644adeabe6287a4d"
SIZE = 684_768


def ensure(options):
    """Writes .titan/data/pride_and_prejudice.txt unless the right text is there."""
    if TEXT.exists() and _is_right(TEXT.read_bytes()):
        return
    with one_at_a_time():
        _provide(options)


def _provide(options):
    DATA.mkdir(parents=True, exist_ok=True)
    why = "--offline was given" if options.offline else _from_debian()
    if not why:
        say(f"{TEXT.relative_to(STATE.parent)}: {SIZE:,} bytes, checked")
        return
    _from_licences(why)


def _is_right(text):
    return len(text) == SIZE and hashlib.sha256(text).hexdigest() == SHA256


def _from_debian():
    """Fetches, unpacks, checks and writes the novel; returns "" or why that did not work."""
    work = STATE / "tmp"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        as_root = ["-o", "APT::Sandbox::User=root"]  # apt's own user may not write here
        if run(["apt-get", *as_root, "download", "-q", PACKAGE], cwd=work, to_stderr=True) != 0:
            return f"apt-get could not download {PACKAGE}"
        package = next(work.glob(PACKAGE + "_*.deb"))
        if run(["dpkg-deb", "--extract", package, work], to_stderr=True) != 0:
            return f"{package.name} could not be unpacked"
        folder = next(work.glob("usr/lib/R/site-library/janeaustenr/data"))
        lines = r_data.read_strings(folder, "prideprejudice")
        text = ("\n".join(lines) + "\n").encode("ascii")
    except (Problem, StopIteration, OSError, ValueError) as error:
        return f"{PACKAGE} is not as expected ({error or 'no data folder'})"
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if not _is_right(text):
        return f"the novel in {PACKAGE} is another edition (its sha256 differs)"
    _write(text)
    return ""


def _from_licences(why):
    folder = Path("/usr/share/common-licenses")
    files = sorted(file for file in folder.glob("*") if file.is_file() and not file.is_symlink())
    text = "\n".join(file.read_text("utf-8", "replace") for file in files)
    text = text.encode("ascii", "replace")
    if not text:
        raise Problem(f"there is no text to train on: {why}, and {folder} is empty",
                      "train on a text of your own: --training.dataset=text --training.dataset_path=PATH")
    if not (TEXT.exists() and TEXT.read_bytes() == text):
        _write(text)
    say(f"note: {why}; training on the licence texts of {folder} ({len(text):,} bytes) instead")


def _write(text):
    """All or nothing: a half-written text would train a wrong model in silence."""
    new = TEXT.with_suffix(".new")
    new.write_bytes(text)
    new.replace(TEXT)
