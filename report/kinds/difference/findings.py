"""Findings of an article about two models: which heads moved, by how much, and in what."""

from dataclasses import dataclass

import numpy as np

from report.datasets.formats import changes
from report.errors import ReportError
from report.figures.parts.heads import Head, HeadFindings, head_label, largest
from report.kinds.difference.beside import COSINE, DISTANCE
from report.kinds.difference.data import DifferenceData, DifferenceModels
from report.measures import Measure


def context(data: DifferenceData | DifferenceModels) -> dict:
    """Names in templates: `find`, findings of the first model, and `each`, those of all."""
    each = [Findings(model) for model in data.models]
    return {"find": each[0], "each": each}


@dataclass(frozen=True)
class Change:
    """What changed at a head."""

    layer: int
    head: int
    words: Measure
    """Of the measure."""
    reference: float
    """Its value in the reference."""
    change: float
    """Model less reference."""
    error: float
    """Standard error of the change over texts."""
    halves: float
    """How far two halves of the texts are apart in the reference, without sign."""

    @property
    def label(self) -> str:
        """The usual short name, counting from 0: "L5H1"."""
        return head_label(self.layer, self.head)

    @property
    def now(self) -> float:
        """Its value in the model."""
        return self.reference + self.change

    @property
    def text(self) -> str:
        """The change in words: "Entropy from 1.20 to 1.35"."""
        before, now = map(self.words.as_text, (self.reference, self.now))
        return f"{self.words.title} from {before} to {now}"


@dataclass(frozen=True)
class Cell:
    """What a token gives to another in one head."""

    current: str
    """The token that looks."""
    target: str
    """The token that is looked at."""
    reference: float
    """The probability in the reference."""
    change: float
    """Model less reference."""

    @property
    def now(self) -> float:
        """The probability in the model."""
        return self.reference + self.change


class Findings(HeadFindings):
    """Numbers of one model beside the reference."""

    data: DifferenceData

    @property
    def label(self) -> str:
        """What the model is called."""
        return self.data.label

    @property
    def loss(self) -> float:
        """Mean cross entropy of a next token, nats; NaN of a model that predicts none."""
        return _number(self.data.about["losses"]["model"])

    @property
    def loss_of_reference(self) -> float:
        """The same of the reference."""
        return _number(self.data.about["losses"]["reference"])

    @property
    def heads(self) -> list[Head]:
        """All heads with the distance of their attention from the reference, the farthest first."""
        values = self.values(DISTANCE.name)
        heads = [Head(layer, head, float(v)) for (layer, head), v in np.ndenumerate(values)]
        return sorted(heads, key=lambda head: -head.value)

    @property
    def mean(self) -> float:
        """The mean distance of attention over all heads."""
        return float(self.values(DISTANCE.name).mean())

    @property
    def median(self) -> float:
        """The distance that half of all heads stay below."""
        return float(np.median(self.values(DISTANCE.name)))

    def distance(self, at: Head) -> float:
        """The distance of one head."""
        return self.value(DISTANCE.name, at)

    def distance_error(self, at: Head) -> float:
        """Its standard error over texts."""
        return float(self.error(DISTANCE.name)[at.layer, at.head])

    def cosine(self, at: Head) -> float:
        """Mean cosine of what a head adds in both models; NaN where updates were not measured."""
        if COSINE.name not in self.data.measures:
            return float("nan")
        return self.value(COSINE.name, at)

    def layer_mean(self, layer: int) -> float:
        """The mean distance over the heads of a layer."""
        return self.layer_means(DISTANCE.name)[layer]

    def change(self, measure: str, at: Head) -> Change:
        """What changed at a head in a measure."""
        columns = (changes.REFERENCE, changes.CHANGE, changes.ERROR, changes.HALVES)
        values = [self.data.column(column, measure)[at.layer, at.head] for column in columns]
        words = self.data.words[measure]
        return Change(at.layer, at.head, words, *map(float, values[:3]), abs(float(values[3])))

    def changes(self, measure: str) -> list[Change]:
        """The changes of all heads in a measure, the largest, of either sign, first."""
        known = ~np.isnan(self.data.column(changes.CHANGE, measure))
        heads = [Head(*map(int, at), np.nan) for at in np.argwhere(known)]
        return sorted((self.change(measure, at) for at in heads), key=lambda c: -abs(c.change))

    def clear(self, measure: str) -> int:
        """How many heads changed by more than twice the standard error, and by more than two halves
        of the texts are apart in the reference."""
        return sum(
            abs(each.change) > max(2 * each.error, each.halves) for each in self.changes(measure)
        )

    @property
    def mapped(self) -> list[Head]:
        """The heads whose attention over a text is kept, the one that moved most first, with their
        distance."""
        values = self.values(DISTANCE.name)
        return [Head(*at, float(values[at])) for at in self.data.mapped]

    def cells(self, at: Head) -> list[Cell]:
        """What a head of `mapped` does over that text, the cell that changed most first.

        raises: ReportError for a head whose attention is not kept
        """
        head = at.layer, at.head
        if head not in self.data.mapped:
            raise ReportError(f"no map of {at.label} is kept; {self._maps()}")
        before, now = self.data.pair(self.data.mapped.index(head))
        change = now.probability - before.probability
        names = [token.name.strip() or token.name for token in self.data.tokens]
        places = np.argwhere(before.visible.mask())
        order = np.argsort(-np.abs(change[tuple(places.T)]), kind="stable")
        return [
            Cell(names[i], names[j], float(before.probability[i, j]), float(change[i, j]))
            for i, j in places[order].tolist()
        ]

    def _maps(self):
        """Which maps are kept, a clause."""
        names = ", ".join(head_label(*each) for each in self.data.mapped)
        return f"there are those of {names}" if names else self.data.no_maps

    def top(self, measure: str) -> Head:
        """The head with most of a measure in the reference, with its value there."""
        return largest(self.data.column(changes.REFERENCE, measure))

    def likeness(self, measure: str) -> float:
        """Correlation over heads of a measure in the reference with that in the model, from -1 to
        1: 1 where each head does it as much as before."""
        before, change = (
            self.data.column(column, measure) for column in (changes.REFERENCE, changes.CHANGE)
        )
        known = ~np.isnan(before + change)
        return float(np.corrcoef(before[known], (before + change)[known])[0, 1])

    def goes_with_distance(self, measure: str) -> float:
        """Correlation over heads of how much a measure changed, without sign, with how far
        attention moved, from -1 to 1: near 0 where the one says nothing of the other."""
        change = np.abs(self.data.column(changes.CHANGE, measure))
        known = ~np.isnan(change)
        pairs = [change[known], self.values(DISTANCE.name)[known]]
        return float(np.corrcoef(pairs)[0, 1])

    def correlation(self, other: "Findings") -> float:
        """Correlation over heads of the distance with that of another model, from -1 to 1."""
        pairs = [of.values(DISTANCE.name).ravel() for of in (self, other)]
        return float(np.corrcoef(pairs)[0, 1])


def _number(value):
    return float("nan") if value is None else float(value)


NAMES = {"data": DifferenceData, "find": Findings, "each": list}
"""Name in templates -> class of what it stands for."""
