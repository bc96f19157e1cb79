"""What an atlas of heads may say: which heads do something, how surely, and whether it matters."""

from collections.abc import Iterable

import numpy as np

from report.errors import ReportError
from report.figures.parts.groups import Group, groups, nearest
from report.figures.parts.heads import Head, HeadFindings, ranks
from report.kinds.atlas.data import AtlasData, AtlasModels


def context(data: AtlasData | AtlasModels) -> dict:
    """What templates of atlases use: `find`, of the first model, and `each`, of all of them."""
    each = [Findings(model) for model in data.models]
    return {"find": each[0], "each": each}


class Findings(HeadFindings):
    """Numbers of one model's atlas; its sources are "corpus" and "control"."""

    def head(self, layer: int, head: int) -> Head:
        """A head by its place, without a number."""
        return Head(layer, head, np.nan)

    def sorted(self, measure: str) -> list[Head]:
        """All heads, the highest value first."""
        return _sorted(self.values(measure))

    def rank(self, measure: str, at: Head) -> int:
        """The place of a head among all heads, 1 for the highest value."""
        values = self.values(measure)
        return int((values > values[at.layer, at.head]).sum()) + 1

    def at_least(self, measure: str, value: float) -> list[Head]:
        """The heads that reach a value, the highest first."""
        return [head for head in self.sorted(measure) if head.value >= value]

    def mean(self, measure: str, heads: Iterable[Head] | None = None) -> float:
        """The mean of a measure over some heads, or over all that it applies to."""
        values = self.values(measure)
        chosen = values if heads is None else [values[head.layer, head.head] for head in heads]
        return float(np.nanmean(chosen))

    def median(self, measure: str) -> float:
        """What half of all heads stay below."""
        return float(np.nanmedian(self.values(measure)))

    def most(self, measure: str, heads: Iterable[Head]) -> float:
        """The largest value of some heads."""
        return max(self.value(measure, head) for head in heads)

    def falls_most(self, measure: str, number: int) -> list[Head]:
        """So many heads whose values fall most on the control, each with its fall."""
        return _sorted(self.values(measure) - self.values(measure, "control"))[:number]

    def share_at(self, at: Head, distance: int) -> float:
        """The share of its attention that a head gives so many tokens away, 0 to 1, where the bins
        of the dataset begin; -1: to the first token of the text."""
        table = self.data.portrait("distances", at.layer, at.head)
        return float(table["share"][table["distance"] == distance].sum())

    def strength(self, at: Head) -> tuple[float, float]:
        """The largest probability that a head gives to another token than the first of the text,
        mean over tokens: in the text in which that is largest, and in the middle of all texts."""
        scores = self.data.scores(at.layer, at.head)
        best = self.data.examples(at.layer, at.head)[0]
        return best.score, float(np.median([*scores.values()]))

    def most_read(self, at: Head) -> tuple[str, float, float]:
        """The token that gets most of a head's attention beyond its frequency: its text, its share,
        and what even attention would give; the first token of each text left out."""
        table = self.data.portrait("tokens", at.layer, at.head)
        place = table["side"].tolist().index("to")
        word = self.data.word(int(table["token"][place]))
        return word, float(table["value"][place]), float(table["usual"][place])

    def writers(self, by: str, reader: Head) -> list[Head]:
        """The heads in lower layers, each with how much a head reads of it, the most first.

        by: "q", "k" or "v", for its queries, keys or values
        raises: ReportError where that was not measured
        """
        return _known(self._composition(by)[reader.layer, reader.head])

    def readers(self, by: str, writer: Head) -> list[Head]:
        """The heads in higher layers, each with how much it reads of a head, the most first."""
        return _known(self._composition(by)[:, :, writer.layer, writer.head])

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups of heads with like profiles, more so than by chance, those of low layers first;
        each with its number, its `labels`, its likeness and its traits."""
        return groups(self.data)[0]

    def nearest(self, at: Head, number: int = 10) -> list[Head]:
        """The heads most like one: each with the mean difference of their places among all heads,
        over the measures that apply to every head, 0 to 1."""
        return nearest(self.data, at.layer, at.head, number)

    @property
    def chance(self) -> float:
        """What both are expected to give if what is written were turned at random."""
        self._composition("k")
        return self.data.composition.baseline

    def _composition(self, by):
        if reason := self.data.why_not_composed:
            raise ReportError(f"which heads of {self.data.name} compose is not known: {reason}")
        if self.data.composition is None:
            raise ReportError(
                f"which heads of {self.data.name} compose was not measured; say "
                "`composition: true`, and run `freeze --composition`"
            )
        return self.data.composition.scores[by]

    def correlation(self, first: str, second: str) -> float:
        """Rank correlation of two measures over all heads, from -1 to 1; ties by their mean rank.

        source: Spearman 1904
        """
        pairs = np.stack([self.values(each).ravel() for each in (first, second)])
        pairs = pairs[:, ~np.isnan(pairs).any(0)]
        return float(np.corrcoef([ranks(values) for values in pairs])[0, 1])


def _sorted(values):
    heads = [Head(layer, head, float(v)) for (layer, head), v in np.ndenumerate(values)]
    return sorted(heads, key=lambda head: -np.nan_to_num(head.value, nan=-np.inf))


def _known(values):
    return [head for head in _sorted(values) if not np.isnan(head.value)]


NAMES = {"data": AtlasData, "find": Findings, "each": list}
"""Name in templates -> class of what it stands for."""
