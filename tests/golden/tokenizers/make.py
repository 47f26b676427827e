#!/usr/bin/env python3
"""Writes the reference data of this folder: small vocabularies, texts, and the ids that the Python
originals give them. Needs the packages tokenizers and tiktoken (README.md says which versions were used).

Usage: make.py    (in this folder)
"""
import base64
import json
from pathlib import Path

import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent

# What the vocabulary is trained on: written for this purpose.
TRAINING_TEXT = """
The quick trainer reads the text, cuts it into pieces, and merges the pairs that occur most often.
She said that they're late; we'll wait, it's fine, I'd say, you've won, don't run, I'm here.
THE TRAINER SAID THAT THEY'RE LATE. In 2024 there were 1234567 tokens, 3.14 of them were pies.
def train(model, steps=1000):
    for step in range(steps):
        if step % 10 == 0:
            print(f"step {step}: loss = {model.loss():.3f}")
        return None
#include <vector>
int main() { std::vector<int> values{1, 2, 3}; return values.size() == 3 ? 0 : 1; }
Der schnelle Läufer überquert die Straße, während es in Köln regnet. Größe und Maß.
L'élève a déjà mangé le gâteau à la crème brûlée près de la forêt.
Быстрая лиса прыгает через ленивую собаку, а потом спит в лесу.
Η γρήγορη αλεπού πηδά πάνω από το τεμπέλικο σκυλί.
快速的狐狸跳过懒狗。今天天气很好，我们去公园玩。素早い狐は怠け者の犬を飛び越える。カタカナとひらがな。
빠른 여우가 게으른 개를 뛰어넘는다. 오늘은 날씨가 좋다.
الثعلب السريع يقفز فوق الكلب الكسول. השועל המהיר קופץ מעל הכלב העצלן.
तेज़ लोमड़ी आलसी कुत्ते के ऊपर कूदती है। สุนัขจิ้งจอกกระโดดข้ามสุนัขขี้เกียจ
🙂 🙂 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ✨ → ≤ ∑ € £
"""

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
          r"|\s*[\r\n]|\s+(?!\S)|\s")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
# DeepSeek's three cuts: numbers, Chinese and Japanese, everything else.
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]

TEXTS = [
    "", "a", " ", "\n", "\0", "Hello, world!", "  leading and trailing  ", "they're THEY'RE they'Re 'S's'ſ",
    "I'd've don't shouldn't we'll", "1", "12", "123", "1234", "1234567890 3.14159 2024-01-01 1,000,000",
    "x=y+1;if(a<b){return c[i];}", "def f(x):\n    return x\n\n\n    # end\n", "\tif (x) {\r\n\t\ty();\r\n\t}\r\n",
    "a  b   c    d", "end of line   \n   next", "   \n\n \n", "\r\n\r\n", "\u00a0x\u2003y\u3000z\u180ew\u0085v\u2028u",
    "naïve café Straße Größe", "e\u0301 cafe\u0301 A\u030a n\u0303 o\u0302\u0323 \u1100\u1161\u11a8", "\u0301lone mark",
    "q\u0307\u0323 and q\u0323\u0307", "Быстрая лиса", "Η γρήγορη αλεπού", "快速的狐狸跳过懒狗。", "素早い狐カタカナひらがな",
    "빠른 여우가", "الثعلب السريع 123 ٣٤٥", "तेज़ लोमड़ी १२३", "สุนัขจิ้งจอก", "ⅧⅨ ² ½ ①②", "ǅ ʰ ﬁ ﷺ", "\u200d\u200c\ufeff\u00ad",
    "🙂", "👨‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪", "a🙂b🙂🙂c", "\U00031350\U000323af \U0002ebf0", "\U0001e4d0\U0001e4eb \U00010d40",
    "\ue000\uf8ff\U000f0000 \ufffe", "\x01\x02\x1b[0m\x7f\x1c\x1f", "a\0b\0\0c", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    " " * 70 + "x", "\n" * 50, "!" * 60 + "?" * 60, "0" * 65, "ab" * 60, "the the the the", "trainer trainers trained",
    "<|endoftext|>", "a<|endoftext|>b <|endoftext|> c", "<|endoftext|><|endoftext|>", "<|endoftext", "<|im_start|>user\nhi<|im_end|>\n",
    "x <mask> y", "x<mask>y", "x  <left>  y  <right>  z", "<left>\n<right>\n", "wordsolo solo solo. _solo solo1 ésolo solo",
    "cafe\u0301 marked caf\u00e9 marked", "new\nline\nnew line", "CamelCaseHTTPServer2go", "http://example.org/a/b?c=d&e=f#g", "/path/to//file\n/\n",
    "a.b.c...d", "(((nested)))[[x]]{{y}}", "\"quoted\" 'single' `back`", "$5.00 €3 £2 5%", "-1 +2 ±3 −4", "a\u2019s it\u2019s",
    "mixed русский and 中文 and العربية in one line", "tab\tseparated\tvalues\n1\t2\t3\n",
]
BYTES = [b"\xff", b"abc\xffdef", b"hello \xc3", b"hello  \n\t\xc3\x28 x", b"\xe4\xb8 and more", b"\xf0\x9f\x99 \xf0\x9f\x99\x82",
         b"\xed\xa0\x80", b"the trainer\x80\x80\x80 said", b"\xc0\xaf", b"a\0\xfe\0b", "快速".encode()[:-1], b"  \n \xff  the"]


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(use_regex, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def added(content, token_id, special=True, **flags):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": special, **flags}


def bos_template(content, token_id):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": content, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {content: {"id": content, "ids": [token_id], "tokens": [content]}}}


def trained():
    """Vocabulary and merges of a byte-level BPE over the text above."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator([TRAINING_TEXT] * 3, trainers.BpeTrainer(
        vocab_size=620, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def tokenizer_json(vocab, merges, pre_tokenizer, *, as_pairs=True, normalizer=None, tokens=(), post_processor=None,
                   ignore_merges=False):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore_merges,
             "vocab": vocab, "merges": [list(merge) if as_pairs else " ".join(merge) for merge in merges]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": byte_level(True), "model": model}


def json_files(vocab, merges):
    size = len(vocab)
    sequence = lambda *steps: {"type": "Sequence", "pretokenizers": list(steps)}
    end = [added("<|endoftext|>", size)]
    chat = [*end, added("<|im_start|>", size + 1), added("<|im_end|>", size + 2)]
    odd = [added("<|endoftext|>", size), added("<mask>", size + 1, lstrip=True, normalized=True),
           added("<left>", size + 2, special=False, lstrip=True), added("<right>", size + 3, special=False, rstrip=True),
           added("solo", size + 4, special=False, single_word=True), added("cafe\u0301", size + 5, special=False, normalized=True),
           added("new\nline", size + 6, special=False, normalized=True)]
    # A token that merges cannot reach, as ignore_merges has to find it as a whole.
    unreachable = {**vocab, "Ġtrainers": size}
    return {
        "gpt2.json": tokenizer_json(vocab, merges, byte_level(True), as_pairs=False, tokens=end),
        "llama3.json": tokenizer_json(unreachable, merges, sequence(split(LLAMA3), byte_level(False)), ignore_merges=True,
                                      tokens=[added("<|begin_of_text|>", size + 1), added("<|endoftext|>", size + 2)],
                                      post_processor={"type": "Sequence", "processors": [
                                          byte_level(True), bos_template("<|begin_of_text|>", size + 1)]}),
        "qwen.json": tokenizer_json(vocab, merges, sequence(split(QWEN), byte_level(False)), normalizer={"type": "NFC"},
                                    tokens=chat),
        "deepseek.json": tokenizer_json(vocab, merges, sequence(*map(split, DEEPSEEK), byte_level(False)), tokens=end,
                                        normalizer={"type": "Sequence", "normalizers": []}),
        "odd.json": tokenizer_json(
            vocab, merges,
            sequence(split("\n", "MergedWithPrevious", kind="String"), split(r"[\p{Ps}\[]", "MergedWithNext"),
                     split(r"\.+", "Contiguous"), split(r"\t", "Removed"),
                     {"type": "Digits", "individual_digits": True}, split(r"[^!?]+", "Isolated", invert=True),
                     byte_level(True, prefix=True)),
            normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}, tokens=odd),
    }


def main():
    vocab, merges = trained()
    texts, result = TEXTS, {}
    for name, content in json_files(vocab, merges).items():
        (HERE / name).write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")
        tokenizer = Tokenizer.from_file(str(HERE / name))
        result[name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        tokenizer.encode_special_tokens = True
        result[name + " specials are text"] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]

    alphabet = {chr(c): b for b, c in bytes_to_characters().items()}
    # Ids in the order of merging are ranks: single bytes first, as tiktoken's own files have them.
    tokens = sorted((bytes(alphabet[c] for c in token) for token in vocab if token), key=lambda t: (len(t) > 1, vocab["".join(
        chr(bytes_to_characters()[b]) for b in t)]))
    (HERE / "small.tiktoken").write_text(
        "".join(f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    for preset, pattern in {"gpt2": R50K, "cl100k": CL100K, "llama3": LLAMA3, "o200k": O200K}.items():
        encoding = tiktoken.Encoding(preset, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        result["tiktoken " + preset] = [encoding.encode_ordinary(text) for text in texts]
        result["tiktoken " + preset + " bytes"] = [encoding._encode_bytes(text) for text in BYTES]

    lines = ['{"texts":' + json.dumps(texts, separators=(",", ":")),
             '"bytes":' + json.dumps([base64.b64encode(text).decode() for text in BYTES]),
             *(f"{json.dumps(name)}:" + json.dumps(ids, separators=(",", ":")) for name, ids in result.items())]
    (HERE / "cases.json").write_text(",\n".join(lines) + "}\n")


def bytes_to_characters():
    """GPT-2's byte alphabet: printable Latin-1 as itself, the rest from U+0100 on."""
    own = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in own]
    return {**{byte: byte for byte in own}, **{byte: 256 + i for i, byte in enumerate(others)}}


if __name__ == "__main__":
    main()
