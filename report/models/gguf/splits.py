"""How a text is cut before its pieces become tokens, by the name that a file has for it.

A file with the tokenizer "gpt2" states vocabulary and merges, and for the rest a name
(`tokenizer.ggml.pre`) that llama.cpp knows. What a name means is listed here as the tokenizer.json
of the models that it was made for has it; a name that is not listed is refused. Unicode's composed
forms (NFC) are a part of some of these tokenizers, which files do not mention.
"""

from dataclasses import dataclass
from typing import Any

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

LLAMA3 = rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{REST}"
QWEN2 = rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{REST}"

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORD = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = rf"{_WORD}|\p{{N}}|{_REST}"

BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def _split(pattern: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }


def _bytes(cut: bool) -> dict[str, Any]:
    """Bytes as printable symbols; cut: into words first, as GPT-2 does."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": cut,
    }


def _digits(alone: bool) -> dict[str, Any]:
    return {"type": "Digits", "individual_digits": alone}


@dataclass(frozen=True)
class Split:
    """How a text is cut.

    steps: pre-tokenizers, as tokenizer.json has them
    composed: whether the text is put into Unicode's composed form (NFC) first
    whole_words: whether a piece that is a token stays one, whatever the merges say
    begins: whether a file that does not say so puts the token of the beginning before a text
    """

    steps: tuple[dict[str, Any], ...]
    composed: bool = False
    whole_words: bool = False
    begins: bool = False


GPT2 = Split((_bytes(True),))
DIGITS = Split((_digits(True), _bytes(True)))

SPLITS = {
    "gpt-2": GPT2,
    "phi-2": GPT2,
    "mpt": Split((_bytes(True),), composed=True),
    "olmo": Split((_bytes(True),), composed=True),
    "starcoder": DIGITS,
    "refact": DIGITS,
    "smollm": DIGITS,
    "command-r": Split((_digits(True), _bytes(True)), composed=True),
    "falcon": Split(
        (
            {"type": "Punctuation", "behavior": "Contiguous"},
            _bytes(True),
            _digits(False),
            _split("[0-9][0-9][0-9]"),
        )
    ),
    "bloom": Split((_split(BLOOM), _bytes(False))),
    "qwen2": Split((_split(QWEN2), _bytes(False)), composed=True),
    "deepseek-r1-qwen": Split((_split(QWEN2), _bytes(False)), composed=True),
    "dbrx": Split((_split(LLAMA3), _bytes(False))),
    "smaug-bpe": Split((_split(LLAMA3), _bytes(False))),
    "llama3": Split((_split(LLAMA3), _bytes(False)), whole_words=True, begins=True),
    "llama-v3": Split((_split(LLAMA3), _bytes(False)), whole_words=True, begins=True),
    "llama-bpe": Split((_split(LLAMA3), _bytes(False)), whole_words=True, begins=True),
    "falcon3": Split((_split(LLAMA3), _bytes(False)), whole_words=True, begins=True),
    "tekken": Split((_split(TEKKEN), _bytes(False)), whole_words=True, begins=True),
}
"""`tokenizer.ggml.pre` -> what it means."""
