"""Cuts a text into regions: words, sentences, lines, paragraphs, turns of a chat, cells of a table,
what the author marks, or what a pattern matches.

Regions lie side by side from the first character to the last, so every token is in exactly one. One
begins with a character that is seen; white space and hidden marks belong to the region before it.
"""

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from unicodedata import category

import regex

from report.errors import ReportError

SECONDS = 2
"""How long a pattern may take for a whole text; usual are some milliseconds."""

REPEATED = 10_000
"""How often a pattern may say, by numbers in braces, that something is repeated: what is repeated
is copied so often before anything is matched, and recursion is copied without end."""

ROLES = regex.compile(r"(?mi)^(system|user|assistant|tool):\s*")
"""How a turn of a chat begins."""

SIGNS = ("|", "\t", ";", ",")
"""What stands between the cells of a table; the first that some lines have alike is taken."""

COUNTS = regex.compile(r"\{(?:\d*,)?(\d+)(?=,?\})")
RECURSION = regex.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
SPREAD_OUT = regex.compile(r"\(\?\w*x")
"""The flag by which white space does not count, not even in the numbers of `COUNTS`."""

WORDS = regex.compile(r"(?w)\b(?=\S)")
"""Where a word or a sign begins: the word boundaries of Unicode Standard Annex 29."""

SENTENCES = regex.compile(
    r"""
    (?:
        (?<! [.!?…؟۔।॥։።]) [.!?…؟۔।॥։።]++               # all of them at once: each is tried once
        ["'”’»)\]]*+ \s+ (?! [\s\p{Ll}] )               # white space, and no small letter
      | [。！？｡]+ [”’」』）"]* \s*                          # where no space stands between
      | \n [^\S\n]* \n \s*                             # a blank line ends what has no full stop
    )
    """,
    regex.VERBOSE,
)
"""What ends a sentence. After an abbreviation with a capital letter behind it, one is ended too."""


class RegionsError(ReportError):
    """A text cannot be cut as `regions` in the front matter says."""

    key = "regions"
    """Whose place messages name."""


ADDED = -1
"""In place of the number of a region: tokens that are no text."""

LINES, PARAGRAPHS = regex.compile(r"\n\s*"), regex.compile(r"\n[^\S\n]*\n\s*")


def _after(pattern: regex.Pattern) -> Callable[[str], list[int]]:
    return lambda text: [match.end() for match in pattern.finditer(text)]


def _turns(text):
    starts = [match.start() for match in ROLES.finditer(text)]
    if not starts or text[: starts[0]].strip():
        raise RegionsError(
            "`regions: roles` cuts a text before lines that begin with who speaks (`system:`, "
            "`user:`, `assistant:` or `tool:`), and the first line does not; begin it so"
        )
    return starts


def turns(text: str) -> list[tuple[str, str]]:
    """The turns of a chat: who speaks, in small letters, and what.

    raises: ReportError if the text does not begin with who speaks, or one says nothing
    """
    starts = _turns(text)
    pieces = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    named = [(ROLES.match(each)[1].lower(), ROLES.sub("", each, 1).strip()) for each in pieces]
    if empty := [role for role, words in named if not words]:
        raise RegionsError(f"a turn of the {empty[0]} says nothing; write its text behind `:`")
    return named


def _cells(text):
    """Where cells of tables begin, and what follows a table. One is made of lines that follow each
    other and have the same sign between cells, as often; not counted within quotes."""
    lines = [match.span() for match in regex.finditer(r"[^\n]*\n|[^\n]+$", text)]
    for sign in SIGNS:
        pattern = regex.compile(f'"[^"\\n]*"|({regex.escape(sign)})')
        between = [[m.span() for m in pattern.finditer(text, *line) if m[1]] for line in lines]
        counts = [0, *map(len, between), 0]
        table = [
            bool(here) and here in (before, after)
            for before, here, after in zip(counts, counts[1:], counts[2:], strict=False)
        ]
        if any(table):
            return [
                place
                for (start, end), signs, whether in zip(lines, between, table, strict=True)
                if whether
                for place in (start, *_within(text, end, sign, signs), end)
            ]
    raise RegionsError(
        "`regions: cells` finds no table in the text: no two lines that follow each other have as "
        "many of the signs | ; , or tabs; write the table so, or cut the text otherwise"
    )


def _within(text, end, sign, signs):
    """Where cells begin in a line that ends there: at a bar, as Markdown has it before each and
    behind the last one; else behind the sign."""
    bars = [a for a, b in signs if text[b:end].strip()]
    return bars if sign == "|" else [b for _, b in signs]


SPLIT: dict[str, Callable[[str], list[int]]] = {
    "words": lambda text: [match.start() for match in WORDS.finditer(text)],
    "sentences": _after(SENTENCES),
    "lines": _after(LINES),
    "paragraphs": _after(PARAGRAPHS),
    "roles": _turns,
    "cells": _cells,
}
"""Name -> where regions of a text begin, besides at its beginning."""


def beginnings(
    text: str, by: str | None = None, pattern: str | None = None, marks: Sequence[str] = ()
) -> list[int]:
    """The characters at which regions begin, increasing; the first is 0.

    by: a name of `SPLIT`
    pattern: a regular expression instead: a match is a region, and so is what lies between two; a
        match of no characters only cuts
    marks: parts of the text instead: one is a region wherever it stands, and so is what lies
        between two
    raises: ReportError for a pattern that cannot be read, takes long, or matches nowhere; for a
        mark that is not in the text; for a text without turns or cells
    """
    places = SPLIT[by](text) if by else _marked(text, marks) if marks else _edges(text, pattern)
    seen = {_skip(text, place) for place in places}
    return [0, *sorted(seen - {_skip(text, 0), len(text)})]


def _marked(text, marks):
    patterns = [regex.compile(regex.escape(mark.strip())) for mark in marks]
    places = [[at for match in each.finditer(text) for at in match.span()] for each in patterns]
    for mark, edges in zip(marks, places, strict=True):
        if not edges:
            raise RegionsError(
                f"the text has no {mark.strip()!r}, which `marks` of `regions` has; write a part "
                "of the text as it stands there"
            )
    return [place for edges in places for place in edges]


def _edges(text, pattern):
    times = math.prod(int(most) or 1 for most in COUNTS.findall(pattern))
    if times > REPEATED or RECURSION.search(pattern) or SPREAD_OUT.search(pattern):
        raise RegionsError(
            f"the pattern {pattern!r} of `regions` calls itself, repeats something more than "
            f"{REPEATED:,} times, or is spread out by (?x); write a simpler one"
        )
    try:
        matches = list(regex.finditer(pattern, text, timeout=SECONDS))
    except (RecursionError, MemoryError) as error:
        raise RegionsError(
            f"the pattern {pattern!r} of `regions` takes too much memory; write a simpler one"
        ) from error
    except (regex.error, ValueError, OverflowError) as error:
        raise RegionsError(
            f"the pattern {pattern!r} of `regions` is no regular expression ({error}); mend it"
        ) from error
    except TimeoutError as error:
        raise RegionsError(
            f"the pattern {pattern!r} of `regions` takes more than {SECONDS} seconds for "
            f"{len(text)} characters; write one that needs less, and does not repeat what is "
            "repeated, as (a+)+ does"
        ) from error
    if not matches:
        raise RegionsError(
            f"the pattern {pattern!r} of `regions` matches nothing in the text; take one that does"
        )
    return [edge for match in matches for edge in match.span()]


def _skip(text, place, end=None):
    """The first character from a place on that is seen, or the end."""
    end = len(text) if end is None else end
    while place < end and (text[place].isspace() or category(text[place]) in ("Cc", "Cf")):
        place += 1
    return place


def pieces(
    text: str, begin: Sequence[int], spans: Sequence[tuple[int, int]], added: Sequence[int]
) -> list[int]:
    """Which piece of a text each token is of, int [T] from 0 on, never falling; or `ADDED`.

    text: what was cut to tokens; begin: of the pieces, as of `beginnings`
    spans: of each token, the characters from and before which it lies; added: whether it is one
        that the tokenizer added, which is no text
    A token that lies over a border is of the piece in which its first character that is seen lies;
    one of white space, of the piece that it follows.
    """
    places, number = [], 0
    for (start, end), special in zip(spans, added, strict=True):
        seen = _skip(text, start, end)
        if not special:
            number = max(number, bisect(begin, seen if seen < end else start) - 1)
        places.append(ADDED if special else number)
    return places


def first_tokens(piece: Sequence[int]) -> list[int]:
    """The first token of each region, increasing, the first 0; piece: as of `pieces`."""
    return [0, *(at for at, (a, b) in enumerate(pairwise(piece), 1) if a != b)]


def numbered(piece: Sequence[int]) -> list[int]:
    """The region of each token, int [T] from 0 on, never falling: a piece that has a token, or
    added tokens side by side; piece: as of `pieces`."""
    changes = (here != before for before, here in pairwise(piece))
    return list(accumulate(changes, initial=0))
