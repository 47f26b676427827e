"""An installation in a scratch prefix, for tests that use titan and its SDK from outside the tree."""
import subprocess


def must(*command, cwd=None, env=None):
    """Runs a command that must succeed; returns its standard output."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build, prefix, *components):
    """The components that are wanted, as `cmake --install` gives them to anybody."""
    for component in components:
        must("cmake", "--install", build, "--prefix", prefix, "--component", component)
