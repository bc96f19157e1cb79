"""Which tokens are parts of a character.

Many vocabularies have no token of their own for a character: they spell it in bytes, or a flag in
two letters, or an accent apart from its letter. Such tokens alone show nothing that a reader knows.
So they are put together, from one place at which both a token and a character begin to the next. A
character is what a reader takes for one, a grapheme cluster of Unicode Standard Annex 29.
"""

from itertools import accumulate, groupby
from typing import Any

import regex

CHARACTER = regex.compile(r"\r|\X")
"""A carriage return is one of its own, since both signs of a line end show well alone."""

MOST = 64
"""Tokens that are put together at most. No character in use has more than some forty bytes; a chain
of more is left as it is, so that a hostile text of n tokens takes no n² letters to tell of."""


def with_parts(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokens, told which of them are parts of a character.

    tokens: as `report.models.text.spelling.spelled` returns them
    returns: the same; a token that is no whole character has besides
        "part": {"of": the text of all its parts, "number": from 1, "count": 2 or more}
        "of" may be several characters, where a token holds the end of one and the beginning of the
        next. Tokens that the tokenizer added are no parts, nor are bytes that become no character.
    """
    told = []
    for special, some in groupby(tokens, key=lambda token: token["special"]):
        stretch = list(some)
        told += stretch if special else _told(stretch)
    return told


def _told(tokens):
    """The same of tokens that follow each other in the text."""
    raw = [_bytes(token) for token in tokens]
    whole = b"".join(raw)
    if whole.isascii():
        return tokens
    characters = CHARACTER.findall(whole.decode(errors="surrogateescape"))
    ends = set(accumulate((len(_encoded(each)) for each in characters), initial=0))
    told, group = [], []
    for number, end in enumerate(accumulate(map(len, raw))):
        group.append(tokens[number])
        if end in ends and not _shares(tokens[number + 1 : number + 2]):
            told += _of_group(group)
            group = []
    return told + group


def _of_group(group):
    try:
        text = b"".join(map(_bytes, group)).decode()
    except UnicodeDecodeError:
        return group
    if not 2 <= len(group) <= MOST:
        return group
    return [
        token | {"part": {"of": text, "number": number, "count": len(group)}}
        for number, token in enumerate(group, 1)
    ]


def _shares(following):
    """Whether the next token stands for a character that the one before has ("ﬁ" as "f", "i").

    It is not a space that the tokenizer puts before the text.
    """
    return any(not _bytes(token) and token.get("spelling", "").strip() for token in following)


def _bytes(token):
    return bytes.fromhex(token["bytes"]) if "bytes" in token else _encoded(token["text"])


def _encoded(text):
    return text.encode(errors="surrogateescape")
