"""The tokenizer of a GGUF file, described as tokenizer.json would.

Two kinds are read. "gpt2" states tokens, merges, and a name for the way texts are cut before that
(`SPLITS`). "llama" is SentencePiece's: tokens with scores, from which the merges follow, and
bytes for what is in no token. Both stand in one file because they describe the same parts.

A file with the tokenizer "gpt2" states vocabulary and merges, and for the rest a name
(`tokenizer.ggml.pre`) that llama.cpp knows. What a name means is listed here as the tokenizer.json
of the models that it was made for has it; a name that is not listed is refused. Unicode's composed
forms (NFC) are a part of some of these tokenizers, which files do not mention.
"""

import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from report.errors import ReportError
from report.models.gguf.file import GgufFile
from report.text import quoted

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
GPT2_COMPOSED = replace(GPT2, composed=True)
DIGITS = Split((_digits(True), _bytes(True)))
QWEN = Split((_split(QWEN2), _bytes(False)), composed=True)
LLAMA = Split((_split(LLAMA3), _bytes(False)))
LLAMA_WORDS = replace(LLAMA, whole_words=True, begins=True)

SPLITS = {
    **dict.fromkeys(("gpt-2", "phi-2"), GPT2),
    **dict.fromkeys(("mpt", "olmo"), GPT2_COMPOSED),
    **dict.fromkeys(("starcoder", "refact", "smollm"), DIGITS),
    "command-r": replace(DIGITS, composed=True),
    "falcon": Split(
        (
            {"type": "Punctuation", "behavior": "Contiguous"},
            _bytes(True),
            _digits(False),
            _split("[0-9][0-9][0-9]"),
        )
    ),
    "bloom": Split((_split(BLOOM), _bytes(False))),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), QWEN),
    **dict.fromkeys(("dbrx", "smaug-bpe"), LLAMA),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3"), LLAMA_WORDS),
    "tekken": Split((_split(TEKKEN), _bytes(False)), whole_words=True, begins=True),
}
"""`tokenizer.ggml.pre` -> what it means."""


UNKNOWN, CONTROL, OWN, UNUSED, BYTE = 2, 3, 4, 5, 6
"""Types of tokens: for what is in no token, for what is no text, defined by the model's makers, not
used, and of a single byte. All others are usual ones."""

KNOWN = re.compile(
    r"tokenizer\.(?!ggml\.).*|tokenizer\.ggml\.(model|pre|tokens|token_type|token_type_count|scores"
    r"|merges|add_space_prefix|remove_extra_whitespaces|add_\w+_token|\w+_token_ids?)"
)
"""Keys of which it is known whether they change tokens."""

LONGEST_TOKEN = 500
"""Characters of a token that merges may make; SentencePiece allows some dozens."""

SPACE = "▁"
"""What SentencePiece writes for a space."""

NOT_CUT_AFTER = ("<unk>", "<s>", "<|endoftext|>")
"""The special tokens of Phi 3 after which spaces are kept; after all others of it they are not, as
llama.cpp knows by the architecture."""

NAMES = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
"""What files call a special token -> what transformers does."""


def tokenizer_of(file: GgufFile) -> PreTrainedTokenizerFast:
    """The tokenizer that a GGUF file describes, with its chat template.

    raises: ReportError naming what is missing or not understood; what `tokenizers` raises over a
        description that makes no sense passes
    """
    described = description(file)
    tokens = _tokens(file)
    special = {
        name: tokens[number]
        for key, name in NAMES.items()
        for number in [_token_id(file, key)]
        if number is not None
    }
    template = file.values.get("tokenizer.chat_template")
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(described)),
        clean_up_tokenization_spaces=False,
        **special,
        **({"chat_template": template} if isinstance(template, str) and template else {}),
    )


def description(file: GgufFile) -> dict[str, Any]:
    """What a tokenizer.json would hold.

    raises: ReportError naming what is missing or not understood
    """
    kind = file.values.get("tokenizer.ggml.model")
    if kind not in KINDS:
        raise ReportError(
            f"'{file.name}' has a tokenizer of the kind {quoted(kind)}, which is not read from "
            f"GGUF files here; known are {', '.join(KINDS)}. Use the model's checkpoint with its "
            "tokenizer.json instead."
        )
    unknown = sorted(
        key for key in file.values if key.startswith("tokenizer.") and not KNOWN.fullmatch(key)
    )
    if unknown:
        raise ReportError(
            f"'{file.name}' says {quoted(unknown[0])} of its tokenizer, which is not understood, "
            "so its tokens might come out wrong; use the model's checkpoint with its tokenizer.json"
        )
    tokens = _tokens(file)
    types = _numbers_of(file, "token_type", len(tokens))
    parts, begins = KINDS[kind](file, tokens, types)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(file, tokens, types),
        "post_processor": _around(file, tokens, begins),
        **parts,
    }


def _tokens(file):
    tokens = file.values.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens:
        raise ReportError(
            f"'{file.name}' has no tokens (tokenizer.ggml.tokens), so no text can be read; use a "
            "model's whole file"
        )
    if len(set(tokens)) < len(tokens):
        seen = set()
        twice = next(token for token in tokens if token in seen or seen.add(token))
        raise ReportError(
            f"'{file.name}' has the token {quoted(twice)} twice; use another file of this model"
        )
    return tokens[: _rows(file, tokens)]


def _rows(file, tokens):
    """How many tokens the model has embeddings for, where those after them are no usual ones: such
    as the one for pictures, which Ollama leaves in the list."""
    table, types = (
        file.tensors.get("token_embd.weight"),
        file.values.get("tokenizer.ggml.token_type"),
    )
    rows = len(tokens) if table is None else table.shape[0]
    beyond = types[rows:].tolist() if isinstance(types, np.ndarray) else [None]
    return rows if all(kind in (CONTROL, OWN, UNUSED) for kind in beyond) else len(tokens)


def _numbers_of(file, key, count):
    """A number for every token, as a list; where the file has none, None."""
    numbers = file.values.get(f"tokenizer.ggml.{key}")
    if numbers is None:
        return None
    stated = len(file.values["tokenizer.ggml.tokens"])
    if not isinstance(numbers, np.ndarray) or len(numbers) != stated:
        raise ReportError(
            f"'{file.name}': tokenizer.ggml.{key} has not a number for each of {stated} tokens; "
            "the file is damaged, download or copy it again"
        )
    return numbers[:count].tolist()


def _bpe(file, tokens, types):
    """Byte-level merges, as GPT-2 has them."""
    pre = file.values.get("tokenizer.ggml.pre")
    if not isinstance(pre, str) or pre not in SPLITS:
        raise ReportError(
            f"'{file.name}' cuts texts in a way (tokenizer.ggml.pre) that is "
            f"{quoted(pre) if pre else 'not named'}, which is not known here; "
            f"known are {', '.join(sorted(SPLITS))}. Use the model's checkpoint with its "
            "tokenizer.json instead."
        )
    split = SPLITS[pre]
    stated = file.values.get("tokenizer.ggml.merges")
    if not isinstance(stated, list):
        raise ReportError(
            f"'{file.name}' has no merges (tokenizer.ggml.merges); download or copy it again"
        )
    return {
        "normalizer": {"type": "NFC"} if split.composed else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(split.steps)},
        "decoder": _bytes(True),
        "model": _merging(tokens, [_pair(file, merge) for merge in stated])
        | {"ignore_merges": split.whole_words},
    }, split.begins


def _pair(file, merge):
    place = merge.find(" ", 1)
    if not 0 < place < len(merge) - 1:
        raise ReportError(
            f"'{file.name}' has {quoted(merge)} among its merges, which is no pair; the file is "
            "damaged, download or copy it again"
        )
    return [merge[:place], merge[place + 1 :]]


def _sentence_piece(file, tokens, types):
    """SentencePiece's merges: of all neighbours, the pair whose token has the highest score."""
    scores = _numbers_of(file, "scores", len(tokens))
    if types is None or scores is None:
        raise ReportError(
            f"'{file.name}' lacks the {'types' if types is None else 'scores'} of its tokens; "
            "use another file of this model"
        )
    # no Gemma has a space put before a text, which Ollama's converter does not mention
    usual = not str(file.values.get("general.architecture")).startswith("gemma")
    prefix = _flag(file, "add_space_prefix", usual)
    if _flag(file, "remove_extra_whitespaces", False):
        raise ReportError(
            f"'{file.name}' has a tokenizer that joins spaces "
            "(tokenizer.ggml.remove_extra_whitespaces), which is not known here; use the model's "
            "checkpoint with its tokenizer.json instead"
        )
    unknown = _token_id(file, "unknown")
    if unknown is None:
        unknown = next((place for place, kind in enumerate(types) if kind == UNKNOWN), None)
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    before = {"type": "Prepend", "prepend": SPACE}
    normalizers = [before, spaces] if prefix else [spaces]
    decoders = [
        {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        *([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []),
    ]
    return {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": _merging(tokens, _merges(file, tokens, types, scores))
        | {
            "unk_token": None if unknown is None else tokens[unknown],
            "byte_fallback": True,
            "fuse_unk": True,
            "ignore_merges": False,
        },
    }, True


def _merges(file, tokens, types, scores):
    """All ways to make a token of two others, the highest score first."""
    usual = {
        token for token, kind in zip(tokens, types, strict=True) if kind not in (CONTROL, BYTE)
    }
    ways = []
    for number, (token, score) in enumerate(zip(tokens, scores, strict=True)):
        if token not in usual:
            continue
        if not math.isfinite(score) or len(token) > LONGEST_TOKEN:
            raise ReportError(
                f"'{file.name}' has a token {quoted(token)} of the score {score} and "
                f"{len(token):,} characters, which no tokenizer has; the file is damaged, download "
                "or copy it again"
            )
        for place in range(1, len(token)):
            left, right = token[:place], token[place:]
            if left in usual and right in usual:
                ways.append((-score, number, place, left, right))
    ways.sort()
    if len(ways) > 1 and ways[0][0] == ways[-1][0]:
        raise ReportError(
            f"'{file.name}' gives all its tokens the same score, so there is no order in which to "
            "merge them; use another file of this model"
        )
    return [[left, right] for *_, left, right in ways]


def _merging(tokens, merges):
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "vocab": {token: number for number, token in enumerate(tokens)},
        "merges": merges,
    }


def _added(file, tokens, types):
    """Tokens that are found in a text before it is cut."""
    cut_after = file.values.get("general.architecture") == "phi3"
    return [
        {
            "id": number,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": cut_after and kind == CONTROL and token not in NOT_CUT_AFTER,
            "normalized": False,
            "special": kind != OWN,
        }
        for number, (token, kind) in enumerate(zip(tokens, types or (), strict=bool(types)))
        if kind in (UNKNOWN, CONTROL, OWN) and token
    ]


def _around(file, tokens, begins):
    """The special tokens that are put around every text."""
    first = _placed(file, "bos", begins)
    last = _placed(file, "eos", False)
    numbers = [*first, *last]
    if not numbers:
        return None

    def marks(places):
        return [{"SpecialToken": {"id": tokens[number], "type_id": 0}} for number in places]

    pieces = [*marks(first), {"Sequence": {"id": "A", "type_id": 0}}, *marks(last)]
    return {
        "type": "TemplateProcessing",
        "single": pieces,
        "pair": [*pieces, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            tokens[number]: {"id": tokens[number], "ids": [number], "tokens": [tokens[number]]}
            for number in numbers
        },
    }


def _placed(file, which, usual):
    """The number of the token that is put before or after a text, in a list; [] for none."""
    if not _flag(file, f"add_{which}_token", usual):
        return []
    number = _token_id(file, which)
    if number is None:
        raise ReportError(
            f"'{file.name}' puts the token {which} around every text and does not say which that "
            f"is (tokenizer.ggml.{which}_token_id); use another file of this model"
        )
    return [number]


def _token_id(file, which):
    """The number of a special token; None where the file states none."""
    number = file.values.get(f"tokenizer.ggml.{which}_token_id")
    count = len(_tokens(file))
    if number is None or (type(number) is int and 0 <= number < count):
        return number
    raise ReportError(
        f"'{file.name}': tokenizer.ggml.{which}_token_id is {quoted(number)}, allowed is a whole "
        f"number from 0 to {count - 1}"
    )


def _flag(file, key, usual):
    value = file.values.get(f"tokenizer.ggml.{key}", usual)
    if not isinstance(value, bool):
        raise ReportError(
            f"'{file.name}': tokenizer.ggml.{key} is {quoted(value)}, allowed is true or false"
        )
    return value


KINDS = {"gpt2": _bpe, "llama": _sentence_piece}
"""What a file calls its tokenizer -> what describes it."""
