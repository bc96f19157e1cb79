"""Ask a tokenizer, which is a program out of a file: it may fail, be slow, or write without end."""

import json
import math
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
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
    for part in ("normalizer", "decoder"):
        stated = getattr(backend, part)
        growth = 1 if stated is None else _growth(json.loads(stated.__getstate__()))
        if growth > GROWTH:
            raise ReportError(
                f"'{name}/tokenizer.json': what its {part} replaces makes texts up to {growth:.0g} "
                f"times as long, allowed are {GROWTH:,} times; use a tokenizer.json that the "
                "model's makers published"
            )


def _growth(stated):
    """How many times longer a text may get by a step, or by all steps inside it one by one."""
    if isinstance(stated, list):
        return math.prod(map(_growth, stated))
    if not isinstance(stated, dict):
        return 1
    pattern, content = stated.get("pattern"), stated.get("content", stated.get("prepend"))
    growth = _growth([inner for inner in stated.values() if isinstance(inner, dict | list)])
    if not isinstance(content, str):
        return growth
    text = pattern.get("String") if isinstance(pattern, dict) else None
    # a regular expression, and the beginning of a text, may be empty
    return growth * (max(1, len(content) / len(text)) if text else 1 + len(content))
