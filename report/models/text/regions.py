"""Cuts a text into regions: words, sentences, lines, paragraphs, or what a pattern matches.

Regions lie side by side from the first character to the last, so every token is in exactly one. One
begins with a character that is seen; white space and hidden marks belong to the region before it.
"""

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from unicodedata import category

import regex

from report.errors import ReportError

SECONDS = 2
"""How long a pattern may take for a whole text; usual are some milliseconds."""

REPEATED = 10_000
"""How often a pattern may say, by numbers in braces, that something is repeated: what is repeated
is copied so often before anything is matched, and recursion is copied without end."""

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

ADDED = -1
"""In place of the number of a region: tokens that are no text."""

LINES, PARAGRAPHS = regex.compile(r"\n\s*"), regex.compile(r"\n[^\S\n]*\n\s*")


def _after(pattern: regex.Pattern) -> Callable[[str], list[int]]:
    return lambda text: [match.end() for match in pattern.finditer(text)]


SPLIT: dict[str, Callable[[str], list[int]]] = {
    "words": lambda text: [match.start() for match in WORDS.finditer(text)],
    "sentences": _after(SENTENCES),
    "lines": _after(LINES),
    "paragraphs": _after(PARAGRAPHS),
}
"""Name -> where regions of a text begin, besides at its beginning."""


def beginnings(text: str, by: str | None = None, pattern: str | None = None) -> list[int]:
    """The characters at which regions begin, increasing; the first is 0.

    by: "words", "sentences", "lines" or "paragraphs"
    pattern: a regular expression instead: a match is a region, and so is what lies between two; a
        match of no characters only cuts
    raises: ReportError for a pattern that cannot be read, takes long, or matches nowhere
    """
    places = SPLIT[by](text) if pattern is None else _edges(text, pattern)
    seen = {_skip(text, place) for place in places}
    return [0, *sorted(seen - {_skip(text, 0), len(text)})]


def _edges(text, pattern):
    times = math.prod(int(most) or 1 for most in COUNTS.findall(pattern))
    if times > REPEATED or RECURSION.search(pattern) or SPREAD_OUT.search(pattern):
        raise ReportError(
            f"the pattern {pattern!r} of `regions` calls itself, repeats something more than "
            f"{REPEATED:,} times, or is spread out by (?x); write a simpler one"
        )
    try:
        matches = list(regex.finditer(pattern, text, timeout=SECONDS))
    except (RecursionError, MemoryError) as error:
        raise ReportError(
            f"the pattern {pattern!r} of `regions` takes too much memory; write a simpler one"
        ) from error
    except (regex.error, ValueError, OverflowError) as error:
        raise ReportError(
            f"the pattern {pattern!r} of `regions` is no regular expression ({error}); mend it"
        ) from error
    except TimeoutError as error:
        raise ReportError(
            f"the pattern {pattern!r} of `regions` takes more than {SECONDS} seconds for "
            f"{len(text)} characters; write one that needs less, and does not repeat what is "
            "repeated, as (a+)+ does"
        ) from error
    if not matches:
        raise ReportError(
            f"the pattern {pattern!r} of `regions` matches nothing in the text; take one that does"
        )
    return [edge for match in matches for edge in match.span()]


def _skip(text, place, end=None):
    """The first character from a place on that is seen, or the end."""
    end = len(text) if end is None else end
    while place < end and (text[place].isspace() or category(text[place]) in ("Cc", "Cf")):
        place += 1
    return place


def regions(
    text: str, begin: Sequence[int], spans: Sequence[tuple[int, int]], added: Sequence[int]
) -> list[int]:
    """The region of each token, int [T] from 0 on, never falling; only regions with a token count.

    text: what was cut to tokens; begin: as of `beginnings`
    spans: of each token, the characters from and before which it lies; added: whether it is one
        that the tokenizer added, which is no text: such tokens side by side are a region
    A token that lies over a border is of the region in which its first character that is seen lies;
    one of white space, of the region that it follows.
    """
    numbers, before, number = [], None, 0
    for (start, end), special in zip(spans, added, strict=True):
        seen = _skip(text, start, end)
        if not special:
            number = max(number, bisect(begin, seen if seen < end else start))
        here = ADDED if special else number
        numbers.append((numbers[-1] if numbers else -1) + (here != before))
        before = here
    return numbers
