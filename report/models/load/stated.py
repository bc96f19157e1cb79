"""What a checkpoint's config.json says, before anything is built or allocated after it."""

import json
import re
from pathlib import Path
from typing import Any

from report.errors import ReportError

MOST = (
    (re.compile(r"layers?$|depth$"), 10_000),
    (re.compile(r"(heads?|experts?|groups|blocks)$"), 1_000_000),
    (
        re.compile(r"(size|dim|rank|embd|inner|model|width|positions?|embeddings?|len|length)$"),
        10**8,
    ),
)
"""Endings of a setting's name -> a number that is more than any model has. Larger ones are refused
before memory is allocated by them, which happens before weights are compared with the config."""


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """The content of config.json, a dict that names a model_type.

    folder: Path; name: of the model, for messages
    raises: ReportError if it is no such file, holds sizes that no model has, or asks for code from
        elsewhere
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"'{name}/config.json' is not JSON: {error}") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise ReportError(
            f"'{name}/config.json' names no model_type; give a folder written by save_pretrained"
        )
    _require_plausible(config, name)
    return config


def _require_plausible(config, name):
    for key, value in _numbers_and_texts(config):
        most = next((limit for ending, limit in MOST if ending.search(key)), None)
        if most is not None and isinstance(value, int | float) and not -most <= value <= most:
            raise ReportError(
                f"'{name}/config.json': {key} is {value:.3g}, and no model has more than {most:,}; "
                "the file is damaged"
            )
        if key.endswith("_implementation") and isinstance(value, str) and "/" in value:
            raise ReportError(
                f"'{name}/config.json': {key} is {value[:80]!r}, code on the hub, which is not "
                "run; remove the line"
            )


def _numbers_and_texts(value, key=""):
    """(key, number or str) of everything inside, depth first; a list's have the list's key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers_and_texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers_and_texts(inner, key)
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        yield key, value
