"""Running commands: each is printed before it runs, and a failure becomes one readable error."""
import contextlib
import fcntl
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".titan"  # everything that is downloaded or made for the build lies here

ENVIRONMENT_EXIT = 3  # the exit status for "this machine lacks something", as in the titan program


class Problem(Exception):
    """Stops ./dev: what is wrong, what to do about it, and the exit status."""

    def __init__(self, what, hint="", status=ENVIRONMENT_EXIT):
        super().__init__(what)
        self.what, self.hint, self.status = what, hint, status


def say(text):
    """A line of ./dev's own, on stderr so that a program's output stays clean."""
    print(f"dev: {text}", file=sys.stderr, flush=True)


def show(command):
    """The command as one could type it, with the checkout's path left out."""
    words = [str(word) for word in command]
    print("+ " + shlex.join(words).replace(f"{ROOT}/", ""), file=sys.stderr, flush=True)


def run(command, env=None, cwd=ROOT, to_stderr=False):
    """Prints and runs a command; returns its exit status (128 + N after signal N)."""
    show(command)
    try:
        child = subprocess.Popen([str(word) for word in command], cwd=cwd, env=env,
                                 stdout=sys.stderr if to_stderr else None)
    except FileNotFoundError as error:
        raise Problem(f"{command[0]} was not found", "./dev build installs what is missing") from error
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        while True:
            try:
                status = child.wait()
                return status if status >= 0 else 128 - status
            except KeyboardInterrupt:  # the child got that signal too, and ends in its own way
                continue
    finally:
        signal.signal(signal.SIGTERM, before)


def must(command, what, hint="", env=None, cwd=ROOT, status=ENVIRONMENT_EXIT):
    """As run(), with the output on stderr, and a failure stops ./dev with `what`."""
    code = run(command, env, cwd, to_stderr=True)
    if code >= 128:
        raise Problem(f"{what}: stopped by signal {code - 128}", hint, code)
    if code != 0:
        raise Problem(f"{what} (exit status {code} of the command above)", hint, status)


def become(command, env, cwd=ROOT):
    """Replaces ./dev by the command, so that signals and the exit status are the command's own."""
    sys.stdout.flush()
    os.chdir(cwd)
    try:
        os.execvpe(str(command[0]), [str(word) for word in command], env)
    except OSError as error:
        raise Problem(f"{command[0]} could not be started: {error.strerror}",
                      "./dev build builds it") from error


@contextlib.contextmanager
def one_at_a_time():
    """Keeps two ./dev in one checkout from installing and building at the same time."""
    STATE.mkdir(exist_ok=True)
    with open(STATE / "lock", "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another ./dev in this checkout")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def output_of(command):
    """The standard output of a quiet command, or None when it cannot run or fails."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def cores():
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
