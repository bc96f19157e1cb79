"""Hides a fact in a long text, and finds its tokens, those of its question, and other places."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import regex

from report.errors import ReportError
from report.inputs.conditions import Segment
from report.inputs.needles import DEPTHS, Needle
from report.models.load.tokenizing import encoded
from report.models.text.segments import segmented
from report.models.text.tokens import reading

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

CLAUSES = regex.compile(r"(?<=\p{P})\s+|\n\s*")
"""What ends a clause of the filler, or a line: a fact may stand there."""

FACT, QUESTION, ANSWER = "fact", "question", "answer"


@dataclass(frozen=True)
class Hidden:
    """A text with a fact in it, or without, as a model reads it (T tokens)."""

    token_ids: list[int]
    places: list[range]
    """Tokens of the places at which the fact may stand, as many of each; [] without it."""
    question: range
    answer: range


class Hiding:
    """The fillers of a model, cut where facts may stand."""

    def __init__(self, loaded: "LoadedModel", text: str):
        """text: the filler, whose clauses are taken from the first on"""
        self.loaded, self.text = loaded, text
        self.cuts = [*(match.start() for match in CLAUSES.finditer(text)), len(text)]
        starts = [start for start, _ in _spans(loaded, text)]
        self.tokens = [bisect_left(starts, cut) for cut in self.cuts]

    def text_of(self, needle: Needle, length: int, depth: int | None) -> Hidden:
        """A text of so many tokens, about, with a fact at one of the `DEPTHS`; None: without it.

        raises: ReportError if the filler is too short, if two places of the fact overlap, or if the
            model's tokens are not those of fact, question and answer
        """
        about = f" {needle.fact.strip()}\n\n{needle.question}{needle.answer}"
        room = length - len(_spans(self.loaded, about))
        if room > self.tokens[-1]:
            raise ReportError(
                f"a text of {length:,} tokens is wanted, and all short texts have "
                f"{self.tokens[-1]:,} of this model; name smaller `lengths`"
            )
        number = max(1, bisect_left(self.tokens, room))  # clauses that have room
        cuts = [self._cut(room * (2 * at + 1) / (2 * DEPTHS), number) for at in range(DEPTHS)]
        edges = [0, *cuts, self.cuts[number - 1]]
        segments = [
            Segment(str(at), self.text[start:end])
            for at, (start, end) in enumerate(pairwise(edges))
        ]
        if depth is not None:
            segments.insert(depth + 1, Segment(FACT, f" {needle.fact.strip()}"))
        segments += [Segment(QUESTION, f"\n\n{needle.question}"), Segment(ANSWER, needle.answer)]
        read = segmented(self.loaded, segments)
        question, answer = (read.span(name, whole=False) for name in (QUESTION, ANSWER))
        if any(each.after == ANSWER for each in read.crossings) or not answer or not question:
            raise ReportError(
                f"the answer {needle.answer!r} has no tokens of its own behind its question; begin "
                "it with the space that is before it, and the question ends without one"
            )
        places = []
        if depth is not None:
            size = len(read.span(FACT, whole=False))
            places = [_place(read, str(at + 1), size) for at in range(DEPTHS)]
            places[depth] = read.span(FACT, whole=False)
            _require_apart([*places, question], length)
        return Hidden(read.token_ids, places, question, answer)

    def _cut(self, tokens, number):
        """The character at which a clause ends, behind about so many tokens."""
        return self.cuts[min(bisect_left(self.tokens, tokens), number - 1)]


def _place(read, name, size):
    """So many tokens from where a segment begins."""
    start = next(iter(read.span(name, whole=False)), 0)
    return range(start, start + size)


def _require_apart(places, length):
    by_start = sorted(places, key=lambda place: place.start)
    if any(a.stop > b.start for a, b in pairwise(by_start)):
        raise ReportError(
            f"a fact has {len(places[0])} tokens, and in a text of {length:,} tokens its "
            f"{DEPTHS} places overlap; shorten it, or name larger `lengths`"
        )


def _spans(loaded, text):
    return encoded(loaded.tokenizer, text, **reading(False))["offset_mapping"]
