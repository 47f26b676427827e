"""Reads, compares and damages the checkpoints that titan writes."""
import hashlib
import json
import struct

# Settings that make a run of `steps` steps one piece of a longer one, with the schedule of that one.
LONG = 8


def schedule(steps=LONG):
    return [f"--lr_scheduler.total_steps={steps}", "--checkpoint.enable=true"]


def folder_of(run, step):
    return run.out / "checkpoint" / f"step-{step}"


def steps_of(run):
    """The numbers of the steps that are there; every other name is a finding of the caller."""
    names = [path.name for path in (run.out / "checkpoint").iterdir() if path.name != ".lock" and ".kept-" not in path.name]
    return sorted(int(name.removeprefix("step-")) for name in names)


def manifest(run, step):
    return json.loads((folder_of(run, step) / "state.json").read_text())


def digest(run, step):
    """What must be equal for two runs to be at the same place."""
    folder, state = folder_of(run, step), manifest(run, step)
    place = ("step", "tokens_seen", "schedule_step", "skipped_steps", "loader", "generators", "converters", "files")
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in state["files"]}
    return {**{key: state[key] for key in place}, "sha256": files}


def tensors(path):
    """Name to (type, shape, bytes) of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    body = data[8 + size:]
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def model(run, step):
    return tensors(folder_of(run, step) / "model.safetensors")


def shapes(run, step, name):
    """What a file of the step holds, without values."""
    return {key: value[:2] for key, value in tensors(folder_of(run, step) / name).items()}


def numbers(lines):
    """Lines of metrics.jsonl without what a clock or the machine decides."""
    timing = ("time", "step_seconds", "data_seconds", "tps", "tflops", "mfu", "memory_peak_bytes")
    return [{key: value for key, value in line.items() if key not in timing} for line in lines]


def flip_last_byte(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
