"""The tokens of a passage (schema passage/1), and how a token is shown to a reader."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from report.inputs.passages import Passage

SCHEMA = "passage/1"

VISIBLE = {"\n": "↵", "\t": "⇥", "\r": "␍", "\u2028": "↵", "\u2029": "↵", "\u00a0": "␣"}
"""Stand-ins for white space that a reader would not see."""

UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that show nothing, or nothing that is known."""

PICTURES = re.compile("[\U0001f000-\U0001faff]")
"""Where new emoji are added, which Python's tables may not know yet."""

FLAG = re.compile("(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)")
"""The flag of a part of a country: its letters are characters that show nothing elsewhere."""

JOINERS = ("\u200d", "\u200c")
VIRAMA = 9
"""Combining class of the signs that join the consonants of India."""

NO_LETTER = "\u25cc"
"""What a mark stands on that has no letter: a circle of dots."""

LONGEST_NAMED = 40
"""Characters that the name of a part has at most of what it is a part of."""


class Shown(Protocol):
    """A token that is read from a dataset."""

    part: dict[str, Any] | None


AnyToken = TypeVar("AnyToken", bound=Shown)


def encode(
    passage: Passage, tokens: Sequence[dict], regions: Mapping[str, Sequence[int]] | None = None
) -> dict:
    """The passage/1 dataset.

    tokens: each with "id" and "text", perhaps "bytes", "part" and "special"
    regions: by what they are, "words", the first token of each
    """
    return {
        "schema": SCHEMA,
        "name": passage.name,
        "title": passage.title,
        "source": passage.source,
        "licence": passage.licence,
        "language": passage.language,
        "tokens": [encoded_token(token) for token in tokens],
        **({"regions": {by: list(firsts) for by, firsts in regions.items()}} if regions else {}),
    }


def encoded_token(token: dict) -> dict:
    """One token as a dataset has it; token: as of `encode`."""
    # JSON files are UTF-8, which has no lone surrogates
    text = token["text"].encode("utf-8", "replace").decode("utf-8")
    label = token_label(text, token.get("bytes"), token.get("part"))
    encoded = {"id": token["id"], "text": text}
    if label != text:
        encoded["label"] = label
    return encoded | {key: token[key] for key in ("bytes", "part", "special") if token.get(key)}


def token_label(text: str, raw_bytes: str | None = None, part: dict | None = None) -> str:
    """What a figure shows for a token: its text with everything invisible made visible.

    raw_bytes: hex bytes of a token that is not whole characters
    part: of a token that is a part of a character, its "of", "number" and "count"
    returns: a non-empty str without control, line-breaking or direction-setting characters; a part
        is told by the character and by its own bytes, "1/2·你 ⟨bytes e4 bd⟩"
    """
    if part:
        return f"{part_name(part)} ⟨bytes {raw_bytes}⟩" if raw_bytes else part_name(part)
    if raw_bytes:
        return f"⟨{raw_bytes}⟩"
    return visible(text) or "⟨⟩"


def part_name(part: dict) -> str:
    """What a part of a character is called where there is little room: "1/2·你".

    The number stands first, where no writing from right to left takes it along.
    """
    of = visible(part["of"])
    of = of.strip(" ") or of
    cut = of if len(of) <= LONGEST_NAMED else f"{of[: LONGEST_NAMED - 1]}…"
    return f"{part['number']}/{part['count']}·{cut}"


def together(tokens: Iterable[AnyToken]) -> list[list[AnyToken]]:
    """Tokens in order: the parts of a character in one list, each of the others in its own."""
    groups = []
    for token in tokens:
        if groups and _continues(token.part, groups[-1][-1].part):
            groups[-1].append(token)
        else:
            groups.append([token])
    return groups


def _continues(part, before):
    return bool(part and before) and part == before | {"number": before["number"] + 1}


def visible(text: str) -> str:
    """A text with everything invisible made visible; a mark that begins it gets a circle."""
    shown = "".join(
        piece if FLAG.fullmatch(piece) else "".join(_visible(piece, at) for at in range(len(piece)))
        for piece in FLAG.split(text)
    )
    if text and unicodedata.category(text[0]).startswith("M"):
        return NO_LETTER + shown
    return shown if shown.strip(" ") else "␣" * len(shown)


def _visible(text, at):
    character = text[at]
    if character in VISIBLE:
        return VISIBLE[character]
    seen = unicodedata.category(character) not in UNSEEN or PICTURES.match(character)
    return character if seen or _joins(text, at) else f"⟨{ord(character):04x}⟩"


def _joins(text, at):
    """Whether a joiner or a non-joiner does something where it stands.

    In Arabic and its kin they say how letters join, after a virama how consonants do (RFC 5892,
    Appendix A); between pictures a joiner makes one of two (Unicode Technical Standard 51).
    """
    before, after = text[max(0, at - 3) : at], text[at + 1 : at + 2]
    if text[at] not in JOINERS or not before:
        return False
    letter = next((sign for sign in reversed(before) if not unicodedata.combining(sign)), "")
    arabic = unicodedata.bidirectional(letter or " ") == "AL"
    return arabic or unicodedata.combining(before[-1]) == VIRAMA or _pictures(before[-1], after)


def _pictures(before, after):
    """Whether two signs are pictures; a colour of skin or of the picture may end the first."""
    return _is_picture(after) and (_is_picture(before) or before == "\ufe0f")


def _is_picture(sign):
    return bool(PICTURES.match(sign)) or unicodedata.category(sign or " ") in ("So", "Sm")
