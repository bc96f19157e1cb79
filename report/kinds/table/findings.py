"""What an article about a table may say: what heads give to its parts, and if that is much.

Repetition is a part of it: copies of a token, and what follows them. All in the first rendering of
the table, of which everything is known.
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.formats.token_classes import CLASSES
from report.figures.parts import score_terms, target_classes
from report.figures.parts.heads import Head, largest
from report.kinds.table.data import TableData


class RepetitionFindings:
    """The part of `report.kinds.table.findings.TableFindings` that looks for repetitions."""

    def __init__(self, data: TableData) -> None:
        self.data = data

    @functools.cached_property
    def repetition(self) -> dict[str, np.ndarray]:
        """What every head gives to repetitions, mean over the tokens of cells with a cell above.

        returns: float [layer, head] by name. copies: what goes to earlier tokens that equal the
            current one. followers: what goes to tokens just after such a copy. either: what goes
            to both. same_column_copies, same_column_followers, same_column_either: the part in the
            same column above
        """
        names = ("copies", "followers", "either")
        shape = self.data.layers, self.data.heads
        found = {name: np.zeros(shape) for each in names for name in (each, f"same_column_{each}")}
        for at in np.ndindex(*shape):
            probability = self.data.attention(*at).probability[self.data.current]
            for name in names:
                member = self._repeated[name]
                found[name][at] = (probability * member).sum(1).mean()
                above = (probability * (member & self._above)).sum(1).mean()
                found[f"same_column_{name}"][at] = above
        return found

    @functools.cached_property
    def even_repetition(self) -> dict[str, float]:
        """What uniform attention would give to copies, followers and either: dict of float."""
        seen = self.data.visible(0, 0).mask()[self.data.current]
        return {
            name: float(((member & seen).sum(1) / seen.sum(1)).mean())
            for name, member in self._repeated.items()
        }

    def even_part(self, kind: str) -> float:
        """The part of what uniform attention gives to the same column above that goes to "copies",
        "followers" or "either"; 0 if there is nothing above."""
        seen = self.data.visible(0, 0).mask()[self.data.current]
        even = seen / seen.sum(1, keepdims=True)
        whole = (even * self._above).sum()
        return float((even * (self._above & self._repeated[kind])).sum() / whole) if whole else 0.0

    def repeater(self, kind: str) -> Head:
        """The `Head` that gives most to "copies" or "followers"."""
        return largest(self.repetition[kind])

    @functools.cached_property
    def _repeated(self):
        """Copies of the current token before it, the tokens after them, and both: bool
        [current, T]."""
        ids = np.array([token.id for token in self.data.tokens])
        places = np.arange(len(ids))
        copies = (ids[:, None] == ids) & (places < places[:, None])
        followers = np.zeros_like(copies)
        followers[:, 1:] = copies[:, :-1]
        followers &= places <= places[:, None]
        current = self.data.current
        found = {"copies": copies, "followers": followers, "either": copies | followers}
        return {name: member[current] for name, member in found.items()}

    @functools.cached_property
    def _above(self):
        return self.data.classes[self.data.current] == list(CLASSES).index("same_column")


BEYOND = 1.5
"""A head that gives a class this many times what uniform attention would give prefers it."""

LEAST, TIMES_EVEN = 0.2, 3
"""A head looks for repetitions if it gives them at least this much of its attention, and this many
times what uniform attention would."""

MOST = 8
"""Heads that are listed, at most."""


def context(data: TableData) -> dict:
    """What templates of articles about a table use: see `report.kinds`.

    `compared` is a list with one entry per model: label, data and the findings; those of the first
    also stand by themselves.
    """
    compared = [{"label": one.label, "data": one, **_of_one(one)} for one in data.models]
    return {"CLASS": target_classes.NAMES, "compared": compared, **_of_one(data)}


def _of_one(data):
    return {
        "find": TableFindings(data),
        "terms": score_terms.names(data),
        "position": score_terms.position(data),
    }


@dataclass(frozen=True)
class Column:
    """What the cells of one column give to the cells above them, in one head."""

    name: str
    share: float
    even: float

    @property
    def less(self) -> bool:
        """Whether that is less than uniform attention would give."""
        return self.share < self.even


@dataclass(frozen=True)
class Reader:
    """A head that prefers the column of the current token, and why."""

    head: Head
    """Its value is what it gives to the same column above."""
    habit: str
    """"copies" or "followers", whichever has more of that."""
    part: float
    """The fraction of its value that goes to this habit."""
    repeated: float
    """The fraction that goes to either."""
    even_repeated: float
    """The same fraction of uniform attention."""
    columns: list[Column | None]
    """One entry a column of the table; None if no token of it is measured."""

    @property
    def explained(self) -> bool:
        """Whether repetition makes up most of the value, and not by chance."""
        return self.repeated > 0.5 and self.repeated >= BEYOND * self.even_repeated


class TableFindings(RepetitionFindings):
    """Numbers of one article, computed from its datasets when they are asked for.

    target: a class of `report.datasets.formats.token_classes.CLASSES`
    rendering: a way to write the table; default: the first, of which all is known
    """

    def shares(self, target: str, rendering: str | None = None) -> np.ndarray:
        """What every head gives to a class, float [layer, head]; 0 if the class does not occur."""
        if target not in self.data.targets:
            return np.zeros((self.data.layers, self.data.heads))
        return self.data.shares(target, rendering or self.data.first.name)

    def mean(self, target: str, rendering: str | None = None) -> float:
        """Mean over all heads of what they give to a class."""
        return float(self.shares(target, rendering).mean())

    def even(self, target: str, rendering: str | None = None) -> float:
        """What uniform attention would give to a class, mean over the layers."""
        if target not in self.data.targets:
            return 0.0
        return float(self.data.even(target, rendering or self.data.first.name).mean())

    def given(self, target: str, head: Head, rendering: str | None = None) -> float:
        """What one head, a `Head`, gives to a class."""
        return float(self.shares(target, rendering)[head.layer, head.head])

    def times(self, target: str, rendering: str | None = None, head: Head | None = None) -> float:
        """`mean` divided by `even`; 0 if uniform attention would give nothing.

        head: the same of one head, a `Head`
        """
        even = self.even(target, rendering)
        given = self.given(target, head, rendering) if head else self.mean(target, rendering)
        return given / even if even else 0.0

    def all_times(self, target: str) -> list[float]:
        """`times` in every rendering: list of float."""
        return [self.times(target, name) for name in self.data.renderings]

    def strongest(self, target: str, rendering: str | None = None) -> Head:
        """The `Head` that gives most to a class."""
        return largest(self.shares(target, rendering))

    def prefers(self, target: str, rendering: str | None = None) -> np.ndarray:
        """Heads that give a class at least `BEYOND` times uniform attention: bool [layer, head]."""
        even = self.even(target, rendering)
        return self.shares(target, rendering) >= BEYOND * even if even else self._none

    def readers(self, target: str = "same_column") -> list[Head]:
        """Heads that prefer a class in every rendering: list of `Head`, largest value first."""
        found = np.all([self.prefers(target, name) for name in self.data.renderings], axis=0)
        return self._listed(found, target)

    def _listed(self, chosen, target):
        values = self.shares(target)
        places = zip(*chosen.nonzero(), strict=True)
        heads = [Head(int(layer), int(head), float(values[layer, head])) for layer, head in places]
        return sorted(heads, key=lambda head: -head.value)

    @functools.cached_property
    def reading(self) -> list[Reader]:
        """The heads that prefer their column, at most `MOST`: list of `Reader`, largest first."""
        heads = self._listed(self.prefers("same_column"), "same_column")[:MOST]
        return [Reader(head, *self._habit(head), self.columns(head)) for head in heads]

    def repeats(self, kind: str) -> bool:
        """Whether the model has a head for "copies" or "followers", beyond chance."""
        return self.repeater(kind).value >= max(LEAST, TIMES_EVEN * self.even_repetition[kind])

    @property
    def opening(self) -> Head:
        """The head that a map opens at, with what it gives to the same column above.

        An induction head if it prefers its column, because its stripes are easy to see; else the
        head that gives its column most.
        """
        head = self.repeater("followers")
        at = head.layer, head.head
        if self.repeats("followers") and self.prefers("same_column")[at]:
            return Head(*at, float(self.shares("same_column")[at]))
        return self.strongest("same_column")

    @functools.cached_property
    def ranked(self) -> list[str]:
        """Classes of the first rendering by `times`, largest first; those without tokens left
        out."""
        names = [name for name in self.data.targets if self.even(name) > 0]
        return sorted(names, key=lambda name: -self.times(name))

    def _habit(self, head):
        at = head.layer, head.head
        kinds = ("copies", "followers", "either")
        *parts, either = (self.repetition[f"same_column_{kind}"][at] for kind in kinds)
        kind = kinds[int(np.argmax(parts))]
        found = float(max(parts) / head.value), float(either / head.value)
        return kind, *found, self.even_part("either")

    def columns(self, head: Head) -> list[Column | None]:
        """What a head gives to the same column above, column by column.

        returns: list of `Column`, None for a column without tokens that are measured
        """
        probability = self.data.attention(head.layer, head.head).probability
        seen = self.data.visible(head.layer, head.head).mask()
        found = []
        for number, name in enumerate(self.data.about["columns"]):
            rows = [i for i in self.data.current if self.data.first.tokens[i].column == number]
            found.append(None)
            if rows:
                above = self.data.classes[rows] == list(CLASSES).index("same_column")
                share = (probability[rows] * above).sum(1).mean()
                even = ((above & seen[rows]).sum(1) / seen[rows].sum(1)).mean()
                found[-1] = Column(name, float(share), float(even))
        return found

    @property
    def _none(self):
        return np.zeros((self.data.layers, self.data.heads), bool)


NAMES = {
    "data": TableData,
    "find": TableFindings,
    **dict.fromkeys(("CLASS", "compared", "terms", "position")),
}
"""Name in templates -> class of what it stands for; None: several, or a plain value."""
