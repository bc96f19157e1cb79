"""What an article about a passage may say about updates: what heads add to the hidden state."""

import functools

import numpy as np

from report.datasets.read.passage import PassageData
from report.figures import alignment_vs_magnitude
from report.figures.parts.heads import Head, MagnitudeRatio, largest

FEWEST_POINTS = 8
"""A median of fewer points than this is not quoted."""


class UpdateFindings:
    """The part of `report.findings.passage.Findings` that reads the update datasets.

    Magnitude: length of an update over that of the hidden state it is added to. Alignment, or
    orientation: the cosine of the two, between -1 and 1.
    """

    def __init__(self, data: PassageData) -> None:
        self.data = data

    @functools.cached_property
    def raw_ratio(self) -> float | None:
        """How many times longer updates are before the norm that rescales them, as a median.

        None for a model without such a norm.
        """
        tables = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        if "raw_magnitude" not in tables[0]:
            return None
        ratios = [t["raw_magnitude"] / np.maximum(t["magnitude"], 1e-9) for t in tables]
        return float(np.median(np.concatenate(ratios)))

    def median_magnitude(self, layer: int) -> float:
        """Median over tokens and heads of a layer's update magnitude."""
        return float(np.median(self.data.updates(layer)["points"]["magnitude"]))

    @functools.cached_property
    def strongest_update(self) -> Head:
        """The `Head` with the largest median update magnitude."""
        return largest(np.median(self._per_token("magnitude"), axis=2))

    def opposing(self, layer: int | None = None) -> float:
        """Fraction of updates (of a layer, or of all) that point against the hidden state."""
        alignment = self._per_token("alignment")
        return float(((alignment if layer is None else alignment[layer]) < 0).mean())

    def opposing_by_layer(self) -> tuple[tuple[int, float], tuple[int, float]]:
        """Two pairs (layer, fraction) of `opposing`: where it is largest, and where smallest.

        If most updates of all layers oppose the hidden state, the layer with the largest fraction
        comes first, else the one with the smallest.
        """
        found = [(layer, self.opposing(layer)) for layer in range(self.data.layers)]
        ordered = sorted(found, key=lambda each: each[1], reverse=self.opposing() > 0.5)
        return ordered[0], ordered[-1]

    @functools.cached_property
    def most_opposing(self) -> Head:
        """The `Head` with the smallest mean alignment."""
        means = self._per_token("alignment").mean(2)
        found = largest(-means)
        return Head(found.layer, found.head, -found.value)

    @functools.cached_property
    def most_aligned(self) -> Head:
        """The `Head` with the largest mean alignment."""
        return largest(self._per_token("alignment").mean(2))

    @functools.cached_property
    def mean_size_of_orientation(self) -> float:
        """Mean over all updates of their orientation without its sign, between 0 and 1."""
        return float(np.abs(self._per_token("alignment")).mean())

    @functools.cached_property
    def length_with_orientation(self) -> list[int]:
        """Where longer updates of a layer point: -1 against the hidden state, 1 along with it, 0
        if length says little. The caption of `alignment_vs_magnitude` says the same."""
        tables = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        return [alignment_vs_magnitude.tendency(points)[0] for points in tables]

    @functools.cached_property
    def first_token_updates(self) -> list[MagnitudeRatio]:
        """Are updates shorter where the top target is the first token? Compared layer by layer.

        This also compares heads of a layer: those that look there often with those that do not.

        returns: one ratio for every layer with at least `FEWEST_POINTS` points of either kind, the
            smallest first; token 0 is left out
        """
        found = [self._first_token_ratio(layer) for layer in range(self.data.layers)]
        return sorted(filter(None, found), key=lambda each: each.ratio)

    @functools.cached_property
    def first_token_updates_of_heads(self) -> list[MagnitudeRatio]:
        """The same head by head, so that no head is compared with another."""
        shape = self.data.layers, self.data.heads
        found = [self._first_token_ratio(*at) for at in np.ndindex(*shape)]
        return sorted(filter(None, found), key=lambda each: each.ratio)

    def _first_token_ratio(self, layer, head=None):
        points = self.data.updates(layer)["points"]
        keep = points["token"] > 0
        if head is not None:
            keep &= points["head"] == head
        first = points["largest_target"][keep] == 0
        magnitude = points["magnitude"][keep]
        if min(first.sum(), (~first).sum()) < FEWEST_POINTS:
            return None
        at_first, elsewhere = np.median(magnitude[first]), np.median(magnitude[~first])
        return MagnitudeRatio(layer, float(at_first), float(elsewhere), head)

    def _column(self, name):
        layers = range(self.data.layers)
        return np.concatenate([self.data.updates(layer)["points"][name] for layer in layers])

    def _per_token(self, name):
        """A column of the update tables as [layer, head, token]."""
        return self._column(name).reshape(self.data.layers, self.data.heads, -1)
