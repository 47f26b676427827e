"""Reads character vectors out of an installed R package's data base (Rdata.rdx + Rdata.rdb).

The index (.rdx) is one compressed serialized list that maps each variable to (offset, length) in
the .rdb. Only what such files hold is understood: lists, pairlists, symbols, integers and strings.
"""
import bz2
import gzip
import lzma
import struct
import zlib

_NIL, _REFERENCE = 254, 255
_SYMBOL, _PAIRLIST, _CHARSXP, _LOGICAL, _INTEGER, _STRINGS, _LIST = 1, 2, 9, 10, 13, 16, 19
# What R writes for strings and lists: liblzma's raw LZMA2 stream, whose preset only sets the window.
_LZMA = [{"id": lzma.FILTER_LZMA2, "preset": 6 | lzma.PRESET_EXTREME}]


class RDataError(ValueError):
    """The file is not what this reader understands."""


def _decompress_record(record):
    """One .rdb record: uncompressed length (4 bytes, big endian), then zlib or a tagged stream."""
    size, body = struct.unpack(">I", record[:4])[0], record[4:]
    if body[:1] == b"Z":
        data = lzma.decompress(body[1:], lzma.FORMAT_RAW, filters=_LZMA)
    elif body[:1] == b"2":
        data = bz2.decompress(body[1:])
    elif body[:1] == b"0":
        data = body[1:]
    else:
        data = zlib.decompress(body)
    if len(data) != size:
        raise RDataError(f"a record unpacks to {len(data)} bytes, its header says {size}")
    return data


class _Reader:
    """A cursor over R's XDR serialization, format version 2 or 3."""

    def __init__(self, data):
        self.data, self.at, self.references = data, 0, []
        if self.take(2) != b"X\n":
            raise RDataError("not an XDR serialization")
        version = self.integers(3)[0]
        if version == 3:  # followed by the native encoding's name
            self.take(self.integers(1)[0])
        elif version != 2:
            raise RDataError(f"serialization version {version} is unknown")

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise RDataError(f"truncated at byte {self.at}")
        self.at += count
        return self.data[self.at - count:self.at]

    def integers(self, count):
        return struct.unpack(f">{count}i", self.take(4 * count))

    def item(self):
        flags = self.integers(1)[0]
        kind, has_attributes, has_tag = flags & 0xFF, flags & 0x200, flags & 0x400
        if kind == _NIL:
            return None
        if kind == _REFERENCE:
            return self.references[(flags >> 8) - 1]
        if kind == _SYMBOL:
            self.references.append(self.item())
            return self.references[-1]
        if kind == _CHARSXP:
            length = self.integers(1)[0]
            return None if length == -1 else self.take(length).decode("utf-8")
        if kind == _PAIRLIST:
            return self.pairlist(has_attributes, has_tag)
        if kind in (_LOGICAL, _INTEGER):
            value = list(self.integers(self.integers(1)[0]))
        elif kind in (_STRINGS, _LIST):
            value = [self.item() for _ in range(self.integers(1)[0])]
        else:
            raise RDataError(f"item type {kind} at byte {self.at - 4} is not a table of strings")
        attributes = self.item() if has_attributes else {}
        return dict(zip(attributes["names"], value)) if "names" in attributes else value

    def pairlist(self, has_attributes, has_tag):
        if has_attributes:
            self.item()
        tag = self.item() if has_tag else None
        pairs = {tag: self.item()}
        pairs.update(self.item() or {})
        return pairs


def read_strings(folder, variable):
    """The character vector `variable` from folder/Rdata.rdx and folder/Rdata.rdb, as a list."""
    index = _Reader(gzip.decompress((folder / "Rdata.rdx").read_bytes())).item()
    if variable not in index["variables"]:
        raise RDataError(f"{folder}/Rdata.rdx has no variable {variable!r}")
    offset, length = index["variables"][variable]
    record = (folder / "Rdata.rdb").read_bytes()[offset:offset + length]
    return _Reader(_decompress_record(record)).item()
