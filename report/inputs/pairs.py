"""Two prompts that differ in a word, or a set of such pairs: texts with places such as {name}, and
words that fill these."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from report.text import quoted

PLACE = re.compile(r"(\s*)\{([^\W\d]\w*)\}")
"""A place in a text, with the space before it: most vocabularies have that in the word's token."""

MOST = 100
"""Pairs of a set, at most."""


@dataclass(frozen=True)
class TwoPrompts:
    """A pair, or the pattern of several."""

    clean: str
    corrupted: str
    answer: str
    other: str

    def filled(self, words: Mapping[str, str]) -> "TwoPrompts":
        """With words in its places; words: name of a place -> what stands there."""
        return TwoPrompts(*(filled(getattr(self, each.name), words) for each in fields(self)))


def filled(text: str, words: Mapping[str, str]) -> str:
    """A text with words in its places."""
    return "".join(piece for _, piece in pieces(text, words))


def pieces(text: str, words: Mapping[str, str]) -> list[tuple[str | None, str]]:
    """A text from its beginning to its end: (name of a place, the word that fills it with the space
    before it), or (None, what stands between places)."""
    result, start = [], 0
    for match in PLACE.finditer(text):
        space, name = match.groups()
        result += [(None, text[start : match.start()]), (name, f"{space}{words[name]}")]
        start = match.end()
    return [*result, (None, text[start:])]


def places(text: str) -> list[str]:
    """Names of the places of a text, each once, in their order."""
    return list(dict.fromkeys(match[2] for match in PLACE.finditer(text)))


def rows(fills: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Of each pair what fills its places: the first has the first word of each list, and so on.

    raises: ValueError if there are no lists, if they are not as long as each other, or too long
    """
    sizes = {name: len(words) for name, words in fills.items()}
    if len({*sizes.values()}) != 1:
        listed = ", ".join(f"{name} has {number}" for name, number in sizes.items())
        raise ValueError(
            "must have as many words for each place, since a pair takes one of each: "
            f"{listed or 'it has no place'}"
        )
    number = next(iter(sizes.values()))
    if not 1 <= number <= MOST:
        raise ValueError(f"must have 1 to {MOST} words for each place, not {number}")
    return [dict(zip(fills, words, strict=True)) for words in zip(*fills.values(), strict=True)]


def require_filled(pattern: TwoPrompts, fills: Mapping[str, Sequence[str]]) -> None:
    """Stop for words that do not fit to a pattern.

    raises: ValueError for a place without words, for words without a place, as of `rows`, or for a
        pair whose prompts or answers are the same, or that there is twice
    """
    named = {name for each in fields(pattern) for name in places(getattr(pattern, each.name))}
    if odd := sorted(named ^ fills.keys()):
        here = f"the prompts have {{{odd[0]}}}, and `fills` has no words for it"
        there = f"`fills` has words for {{{odd[0]}}}, which no prompt or answer has"
        raise ValueError(f"does not fit: {here if odd[0] in named else there}")
    seen: dict[TwoPrompts, int] = {}
    for number, words in enumerate(rows(fills), 1):
        pair = pattern.filled(words)
        for first, second in (("clean", "corrupted"), ("answer", "other")):
            if getattr(pair, first) == getattr(pair, second):
                raise ValueError(
                    f"makes a pair whose `{first}` and `{second}` are the same, "
                    f"{spelt(number, words)}; change a word"
                )
        if pair in seen:
            raise ValueError(
                f"makes the same pair twice, {spelt(seen[pair], words)} and pair {number}; change "
                "a word"
            )
        seen[pair] = number


def spelt(number: int, words: Mapping[str, str]) -> str:
    """Which pair of a set it is: number (from 1) and words."""
    listed = ", ".join(f"{name}: {quoted(word)}" for name, word in words.items())
    return f"pair {number} ({listed})"
