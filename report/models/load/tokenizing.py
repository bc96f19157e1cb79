"""Ask a tokenizer, which is a program out of a file: it may fail, be slow, or write without end."""

import base64
import json
import math
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from transformers import BatchEncoding, PreTrainedTokenizerBase

from report.errors import ReportError
from report.models.load.sentences import one_sentence, without_panics

PATIENCE = 60
"""Seconds that reading a text may take, and one more for every 10,000 characters; usual are some
milliseconds."""

GROWTH = 10_000
"""How many times its length a text may get by what is replaced in it before it is cut to tokens."""


@contextmanager
def asked(what: str = "the model's tokenizer cannot read the text") -> Iterator[None]:
    """Within the context, whatever a tokenizer raises is a ReportError."""
    with one_sentence(what), without_panics():
        yield


def encoded(tokenizer: PreTrainedTokenizerBase, text: str, **options: Any) -> BatchEncoding:
    """What a tokenizer makes of a text.

    options: as of the tokenizer itself
    raises: ReportError if it fails, or does not come to an end
    The engine of regular expressions gives up at a place where ten million ways to match have
    failed. Patterns that it nearly gives up at, at every place of a text, take hours.
    """
    with asked():
        if not _has_pattern(tokenizer):
            return tokenizer(text, **options)
        return _in_time(lambda: tokenizer(text, **options), PATIENCE + len(text) / 10_000)


def _has_pattern(tokenizer):
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and any(
        "Regex" in repr(part) for part in (backend.normalizer, backend.pre_tokenizer)
    )


def _in_time(call, seconds):
    """The result of a call, or a ReportError; what cannot be stopped ends with the process."""
    result = Future()
    Thread(target=_fulfil, args=(result, call), daemon=True).start()
    try:
        return result.result(seconds)
    except TimeoutError as error:
        raise ReportError(
            f"the model's tokenizer did not read the text within {seconds:.0f} seconds; its "
            "patterns try too many ways to match, so use the tokenizer.json of another model of "
            "this family"
        ) from error


def _fulfil(result, call):
    try:
        result.set_result(call())
    except BaseException as error:
        result.set_exception(error)


def require_plain(tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Stop for a tokenizer that cuts texts by chance, or writes texts much longer than they are.

    name: of the model
    raises: ReportError
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return
    if getattr(backend.model, "dropout", None):
        raise ReportError(
            f"'{name}/tokenizer.json': dropout is {backend.model.dropout}, so the same text has "
            "other tokens each time; set it to null"
        )
    stated = {part: _stated(getattr(backend, part)) for part in PARTS}
    steps = {
        "normalizer and pre_tokenizer": [stated["normalizer"], stated["pre_tokenizer"]],
        "post_processor": stated["post_processor"],
        "decoder": stated["decoder"],
    }
    for what, parts in steps.items():
        growth = _growth(parts)
        if growth > GROWTH:
            raise ReportError(
                f"'{name}/tokenizer.json': its {what} can make texts {growth:.0g} times as long, "
                f"allowed are {GROWTH:,} times; use a tokenizer.json that the model's makers "
                "published"
            )


PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")

EXPANDING = {
    **dict.fromkeys(("NFKC", "NFKD"), 18),
    **dict.fromkeys(("NFD", "ByteLevel"), 4),
    **dict.fromkeys(("Lowercase", "Metaspace"), 2),
    "NFC": 3,
    "BertNormalizer": 6,
}
"""Type of a step -> the most characters that it makes of one: by Unicode, or of its bytes, or by
what it puts before and after one."""


def _stated(part):
    """A part of a tokenizer as its file states it; None where there is none, or it is no file's but
    code of the library."""
    with suppress(Exception):  # tokenizers raises nothing more precise
        return None if part is None else json.loads(part.__getstate__())


def _growth(stated):
    """How many times longer a text may get by a step, or by all steps inside it one by one."""
    if isinstance(stated, list):
        return math.prod(map(_growth, stated))
    if not isinstance(stated, dict):
        return 1
    kind = stated.get("type")
    if kind == "TemplateProcessing":
        return max(_pieces(stated, template) for template in ("single", "pair"))
    growth = _growth([inner for inner in stated.values() if isinstance(inner, dict | list)])
    growth *= EXPANDING.get(kind, 1)
    if kind == "Precompiled":
        growth *= _longest(stated.get("precompiled_charsmap"))
    if "" in (stated.get("suffix"), stated.get("word_delimiter_token"), stated.get("pad_token")):
        growth *= 2  # an empty text, which is at every place, is replaced by a space
    content = stated.get("content", stated.get("prepend"))
    if not isinstance(content, str):
        return growth
    pattern = stated.get("pattern")
    text = pattern.get("String") if isinstance(pattern, dict) else None
    # a regular expression, and the beginning of a text, may be empty
    return growth * (max(1, len(content) / len(text)) if text else 1 + len(content))


def _pieces(stated, template):
    """How many times a template repeats a text, and how many tokens it puts around it."""
    tokens = {name: len(token["ids"]) for name, token in stated["special_tokens"].items()}
    pieces = [(kind, about["id"]) for piece in stated[template] for kind, about in piece.items()]
    return sum(tokens.get(name, 1) if kind == "SpecialToken" else 1 for kind, name in pieces)


def _longest(table):
    """The longest text in a table of replacements, as SentencePiece compiles it: the size of an
    index, the index, and texts with zero bytes between them."""
    content = base64.b64decode(table or "")
    texts = content[4 + int.from_bytes(content[:4], "little") :].split(b"\0")
    return max(1, *(len(text.decode("utf-8", "replace")) for text in texts))
