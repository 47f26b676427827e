"""Installing, configuring, building; and the environment in which the built programs run."""
import os
import re
import subprocess
from pathlib import Path

from . import cuda_kit, packages, torch_env
from .shell import ROOT, STATE, Problem, cores, must, one_at_a_time

FAILED = 1  # the exit status when the build itself fails
PROGRAM_TARGETS = ["titan", "plugins/all"]  # what `titan train` needs; tests are left out
WITH_DEVICE_CODE = ("release", "debug")


def folder(preset="release"):
    return ROOT / "build" / preset


def program():
    """The built titan program."""
    return folder() / "bin/titan"


def ensure(options, preset="release", targets=()):
    """Everything from a bare checkout to built targets (all of them unless some are named)."""
    with one_at_a_time():
        _make_ready(options, preset)
        words = ["--target", *targets] if targets else []
        must(["cmake", "--build", "--preset", preset, "--parallel", cores(), *words],
             "the build failed", "the first error above is the one to mend", status=FAILED)


def ensure_configured(options, preset):
    """As ensure(), without building."""
    with one_at_a_time():
        _make_ready(options, preset)


def _make_ready(options, preset):
    packages.ensure(packages.BUILD, options)
    torch = own_torch(options)
    if torch is None:
        torch_env.ensure(options)
        torch = torch_env.torch_root()
    settings = [f"-DTITAN_TORCH_ROOT={torch}"]
    if preset in WITH_DEVICE_CODE:
        settings.append(f"-DTITAN_NVCC={cuda_kit.ensure(options)}")
    configure(preset, settings)


def own_torch(options):
    """A LibTorch of the user's own (--torch or TITAN_TORCH_ROOT): its folder, checked, or None."""
    given = options.torch or os.environ.get("TITAN_TORCH_ROOT")
    if not given:
        return None
    path = Path(given).expanduser().resolve()
    for candidate in (path, path / "torch"):
        if (candidate / "include/ATen/core/TensorBody.h").exists() and (candidate / "lib/libtorch_cpu.so").exists():
            return candidate
    raise Problem(f"{path} is no LibTorch: include/ATen/core/TensorBody.h and lib/libtorch_cpu.so "
                  "are not both there",
                  "name the folder that holds include/ and lib/ (in a wheel: site-packages/torch)",
                  status=2)


def configure(preset, settings):
    """Runs CMake unless the build folder was configured with the same preset and settings."""
    os.environ.setdefault("CCACHE_DIR", str(STATE / "cache/ccache"))  # its default lies in $HOME
    cache = folder(preset) / "CMakeCache.txt"
    fresh = []
    if cache.exists() and (folder(preset) / "build.ninja").exists():
        text = cache.read_text()
        preset_is_old = (ROOT / "CMakePresets.json").stat().st_mtime < cache.stat().st_mtime
        if preset_is_old and all(_cached(text, setting) for setting in settings):
            return
        fresh = ["--fresh"]  # CMake cannot change the compiler in a configured folder
    must(["cmake", *fresh, "--preset", preset, *settings], "CMake could not configure the build",
         "the message above names what is missing; ./dev clean starts afresh", status=FAILED)


def _cached(text, setting):
    name, value = setting[2:].split("=", 1)
    return re.search(rf"^{name}:[A-Z]+={re.escape(value)}$", text, re.MULTILINE) is not None


def up_to_date(targets):
    """Whether ninja has nothing to do; much cheaper and quieter than a build."""
    if not (folder() / "build.ninja").exists():
        return False
    plan = subprocess.run(["ninja", "-C", str(folder()), "-n", *targets], capture_output=True,
                          text=True, check=False)
    return plan.returncode == 0 and "no work to do" in plan.stdout


def environment():
    """What the titan program is run with; a variable that is set already is kept."""
    env = dict(os.environ)
    env.setdefault("TITAN_DATA_DIR", str(STATE / "data"))
    built = sorted({str(file.parent) for file in (folder() / "plugins").rglob("*.so")})
    given = [entry for entry in env.get("TITAN_PLUGIN_PATH", "").split(":") if entry]
    env["TITAN_PLUGIN_PATH"] = ":".join(given + [path for path in built if path not in given])
    # Waiting threads sleep: spinning ones cost several ranks on one machine most of their speed.
    env.setdefault("OMP_WAIT_POLICY", "passive")
    return env
