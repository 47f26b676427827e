#!/usr/bin/env python3
"""Rules about the tree that a compiler does not check. Usage: rules.py RULE; exit status 1 on findings.

  include_order  a room of host/ includes only itself and rooms above it; sdk/ and plugins/ include
                 nothing of host/; the torch-free rooms include no LibTorch header
  file_length    no source file is longer than 400 lines
  text           no committed text names a path of somebody's machine or leaves work for later
"""
import re
import subprocess
import sys
from pathlib import Path

TORCH_FREE_ROOMS = ("base", "config", "data", "plugins")
TORCH = ("torch/", "ATen/", "c10/", "caffe2/")
# What LibTorch keeps stable for binaries, all that a plugin may see of it.
STABLE_TORCH = ("torch/csrc/stable/", "torch/headeronly/", "torch/csrc/inductor/aoti_torch/")
# The tier that sees all of LibTorch, and is refused by any other build of it.
EXACT = "sdk/include/titan/torch_exact.hpp"
SLOW = ("torch/torch.h", "torch/extension.h", "torch/all.h", "ATen/ATen.h")

LONGEST = 400
LENGTH_EXCEPTIONS = ()  # a file here needs a reason beside it

SOURCES = (".h", ".hpp", ".c", ".cpp", ".cu", ".cuh")
COUNTED = (*SOURCES, ".py", ".cmake", ".sh")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Written in pieces, so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:wor" r"k|roo" r"t|hom" r"e|tmp/bash_job" r"s[\w.]*)/")
LATER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def files_of(root):
    """Every file that is or could be committed, as paths relative to root."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
                              "--exclude-standard"], capture_output=True, check=False)
    if listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
    else:  # an unpacked archive
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [name for name in names if not name.startswith(("build", ".titan", ".git/"))]
    return sorted({name for name in names if name and (root / name).is_file()})


def lines_of(root, name):
    """The file's lines, or none for a binary file."""
    data = (root / name).read_bytes()
    return [] if b"\0" in data else data.decode("utf-8", "replace").splitlines()


def rooms_of(root):
    """The rooms in include order, from the one place that states it."""
    text = (root / "host/CMakeLists.txt").read_text()
    return re.search(r"foreach\(room ([^)]+)\)", text)[1].split()


def include_order(root):
    """Findings: "file:line: what is wrong"."""
    rooms = rooms_of(root)
    for name in files_of(root):
        if not name.endswith(SOURCES):
            continue
        top, _, rest = name.partition("/")
        room = rest.split("/")[0] if top == "host" else None
        if top == "host" and room not in rooms:
            yield f"{name}:1: {room} is not among the rooms that host/CMakeLists.txt lists"
            continue
        for number, line in enumerate(lines_of(root, name), 1):
            found = INCLUDE.match(line)
            wrong = found and name != EXACT and _wrong_include(top, room, rooms, found[1] == '"', found[2])
            if wrong:
                yield f"{name}:{number}: {wrong}"


def _wrong_include(top, room, rooms, quoted, header):
    target = header.split("/")[0] if "/" in header else None
    of_torch = header.startswith(TORCH)
    if header in SLOW:
        return f"{header} costs seconds per file; include the narrow headers"
    if top == "host":
        if target in rooms and rooms.index(target) > rooms.index(room):
            return f"room {room} comes before room {target}, so it must not include {header}"
        if room in TORCH_FREE_ROOMS and of_torch:
            return f"room {room} is free of LibTorch, but includes {header}"
        if quoted and target not in rooms and target != "titan":
            return f'"{header}": headers of host/ are included as "room/file.h"'
    if top in ("sdk", "plugins"):
        if quoted and target in rooms and not (top == "plugins" and target == "plugins"):
            return f"{top}/ must build without host/, but includes {header}"
        if of_torch and not header.startswith(STABLE_TORCH):
            return f"{header} is not among LibTorch's stable headers"
    return None


def file_length(root):
    """Findings: "file: how long"."""
    for name in files_of(root):
        counted = name == "dev" or name.endswith(COUNTED) or name.endswith("CMakeLists.txt")
        length = len(lines_of(root, name)) if counted and name not in LENGTH_EXCEPTIONS else 0
        if length > LONGEST:
            yield f"{name}: {length} lines, more than {LONGEST}: it has more than one reason to exist"


def text(root):
    """Findings: "file:line: what is wrong"."""
    for name in files_of(root):
        for number, line in enumerate(lines_of(root, name), 1):
            if MACHINE_PATH.search(line):
                yield f"{name}:{number}: a path of one machine: {line.strip()[:80]}"
            if LATER.search(line):
                yield f"{name}:{number}: work left for later: {line.strip()[:80]}"


RULES = {"include_order": include_order, "file_length": file_length, "text": text}


def main(arguments):
    if len(arguments) != 1 or arguments[0] not in RULES:
        print(__doc__, file=sys.stderr)
        return 2
    findings = list(RULES[arguments[0]](Path(__file__).resolve().parents[2]))
    print("\n".join(findings) or f"{arguments[0]}: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
