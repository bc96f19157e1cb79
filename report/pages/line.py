"""A line of text for the home page: what one head looks at from each of its words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from report.datasets.read.study import StudyData
from report.kinds.passage.data import PassageData
from report.pages.page import Page

AROUND = 12
"""Tokens on each side of the opening one, at most; fewer where its sentence begins or ends."""

WHOLE = 28
"""A target within as many tokens is shown with all from the first one."""

LEAST = 0.02
"""A share of attention that is shaded."""


@dataclass(frozen=True)
class Word:
    """A token of the line."""

    index: int
    """Its place in the text."""
    text: str
    """Without the spaces around it."""
    spaced: bool
    """Whether a space stands before it."""
    looks: dict[int, float]
    """Tokens of the line that it looks at -> share of its attention, largest first."""
    skips: bool
    """Whether tokens are left out before it."""


@dataclass(frozen=True)
class Line:
    """Two pieces of a passage, in one of which a head looks at the other."""

    page: Page
    model: str
    layer: int
    head: int
    opens: int
    """The token that the line is shaded from until a reader points at another."""
    words: list[Word]


def line_of(pages: Sequence[Page], datas: Sequence[StudyData]) -> Line | None:
    """The line of the first article that shades its passage from a token by one head; None if none
    does, or if its tokens are no whole characters. datas: one a page"""
    for page, (data, *_) in zip(pages, (each.models for each in datas), strict=True):
        opens, at = page.opens, page.head
        if opens is None or at is None or at[0] >= data.layers or at[1] >= data.heads:
            continue
        words = _words(data, at, opens)
        if not any(data.tokens[word.index].part for word in words):
            return Line(page, data.label, *at, opens, words)
    return None


def _sentence(tokens, at):
    """The places around a token, in its sentence as far as that is near."""
    ends = [n for n, token in enumerate(tokens) if token.text.strip()[-1:] in {*".!?"}]
    first = max((n + 1 for n in ends if n < at), default=0)
    last = min((n for n in ends if n >= at), default=len(tokens) - 1)
    return range(max(first, at - AROUND), min(last, at + AROUND) + 1)


def _words(data: PassageData, at, opens):
    probability = data.attention(*at).probability
    target = int(probability[opens].argmax())
    pieces = [_sentence(data.tokens, each) for each in sorted({target, opens})]
    if target < WHOLE:
        pieces.append(range(target))
    places = sorted({place for piece in pieces for place in piece})
    return [
        Word(
            index,
            " ".join(data.tokens[index].text.split()),
            data.tokens[index].text[:1].isspace(),
            {
                there: float(probability[index, there])
                for there in sorted(places, key=lambda each: -probability[index, each])
                if probability[index, there] >= LEAST
            },
            index > before + 1,
        )
        for before, index in pairwise([-1, *places])
    ]
