"""Reads and writes Hugging Face folders without any of their libraries."""
import json
import shutil
import struct

from saved_steps import tensors


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


def folder_tensors(folder):
    """Name to (type, shape, bytes) of all weights of a folder, by its index if it has one."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return tensors(folder / "model.safetensors")
    places = json.loads(index.read_text())["weight_map"]
    files = {name: tensors(folder / name) for name in set(places.values())}
    return {name: files[place][name] for name, place in places.items()}


def as_type(value, kind):
    """A float32 tensor rounded to another type, to nearest and ties to even."""
    found, shape, data = value
    assert found == "F32"
    if kind == "F32":
        return value
    if kind == "F16":
        numbers = struct.unpack(f"<{len(data) // 4}f", data)
        return kind, shape, struct.pack(f"<{len(numbers)}e", *numbers)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return kind, shape, struct.pack(f"<{len(words)}H", *((word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words))


def write_safetensors(path, found):
    header, data = {"__metadata__": {"format": "pt"}}, []
    at = 0
    for name, (kind, shape, content) in sorted(found.items(), key=lambda entry: -len(entry[1][2])):
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(content)]}
        data.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def write_folder(folder, source, kind):
    """A copy of a float32 folder with its weights in one file and in another type."""
    folder.mkdir(parents=True)
    for name in ("config.json", "generation_config.json"):
        shutil.copy(source / name, folder / name)
    write_safetensors(folder / "model.safetensors",
                      {name: as_type(value, kind) for name, value in folder_tensors(source).items()})
