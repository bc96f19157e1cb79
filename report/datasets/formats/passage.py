"""The tokens of a passage (schema passage/1), and how a token is shown to a reader."""

import unicodedata
from collections.abc import Sequence
from typing import Protocol

SCHEMA = "passage/1"

VISIBLE = {"\n": "↵", "\t": "⇥", "\r": "␍", "\u2028": "↵", "\u2029": "↵", "\u00a0": "␣"}
"""Stand-ins for white space that a reader would not see."""


class Passage(Protocol):
    """What a dataset tells of a text beside its tokens."""

    name: str
    title: str
    source: str
    licence: str
    language: str


def encode(passage: Passage, tokens: Sequence[dict]) -> dict:
    """The passage/1 dataset.

    tokens: each with "id" and "text", perhaps "bytes" and "special"
    """
    return {
        "schema": SCHEMA,
        "name": passage.name,
        "title": passage.title,
        "source": passage.source,
        "licence": passage.licence,
        "language": passage.language,
        "tokens": [encoded_token(token) for token in tokens],
    }


def encoded_token(token: dict) -> dict:
    """One token as a dataset has it; token: as of `encode`."""
    # JSON files are UTF-8, which has no lone surrogates
    text = token["text"].encode("utf-8", "replace").decode("utf-8")
    label = token_label(text, token.get("bytes"))
    encoded = {"id": token["id"], "text": text}
    if label != text:
        encoded["label"] = label
    return encoded | {key: token[key] for key in ("bytes", "special") if token.get(key)}


def token_label(text: str, raw_bytes: str | None = None) -> str:
    """What a figure shows for a token: its text with everything invisible made visible.

    raw_bytes: hex bytes of a token that is not whole characters
    returns: a non-empty str without control, format or line-breaking characters
    """
    if raw_bytes:
        return f"⟨{raw_bytes}⟩"
    shown = "".join(_visible(character) for character in text)
    if not shown:
        return "⟨⟩"
    return shown if shown.strip(" ") else "␣" * len(shown)


def _visible(character):
    if character in VISIBLE:
        return VISIBLE[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"⟨{ord(character):04x}⟩"
    return character
