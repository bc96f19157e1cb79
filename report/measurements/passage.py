"""What is measured on one passage: its statistics, and the factors from which any map follows."""

from dataclasses import dataclass, field, replace

import numpy as np

from report.measurements import decomposition
from report.measurements.decomposition import Term
from report.measurements.factors import Factors, Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.visible import Visible


@dataclass
class PassageMeasurement:
    """One passage through one model (L measured layers, H heads, T tokens).

    token_ids: [T], the special tokens that the tokenizer adds included
    largest_targets: int32 [L, H, T, 11], by descending probability, -1 where a row has fewer
    marker_count: int32 [L, H, T], fewest largest targets that reach half of the row's probability
    statistics: the same sums as over a corpus, for this passage
    factors: per layer, what `terms` and `probability` are computed from, on the CPU;
        once heads are written on another machine, what `report.datasets.write` has in their place
    magnitude: float32 [L, H, T], |u| / |x|, a ratio, of the updates as they reach the hidden state;
        None where updates cannot be measured
    alignment: float32 [L, H, T], cos(u, x), in [-1, 1]; or None likewise
    raw_magnitude, raw_alignment: the same before the norm that follows the attention; None in
        models without one, where they are equal to the others
    """

    token_ids: list[int]
    largest_targets: np.ndarray
    marker_count: np.ndarray
    statistics: HeadStatistics
    factors: list[Factors | Scores] = field(repr=False)
    magnitude: np.ndarray | None = None
    alignment: np.ndarray | None = None
    raw_magnitude: np.ndarray | None = None
    raw_alignment: np.ndarray | None = None

    def first_heads(self, number: int) -> "PassageMeasurement":
        """The same without all but the first heads of each layer, whose factors still hold them."""
        kept = {
            name: value[:, :number]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        }
        return replace(self, statistics=self.statistics.first_heads(number), **kept)

    def visible(self, layer: int) -> Visible:
        """Which targets each token sees in a layer, a `Visible`."""
        return self.factors[layer].range()

    def terms(self, layer: int, head: int) -> list[Term]:
        """The terms of one head's scores, whose sum gives the model's attention after softmax.

        returns: list of `Term` with values as float64 arrays of one head, [T, T] or [T]
        """
        terms = decomposition.terms(self.factors[layer].head(head))
        return [replace(term, values=_array(term.values)) for term in terms]

    def probability(self, layer: int, head: int) -> np.ndarray:
        """The attention of one head, float64 [T, T]: 0 where a target is not visible.

        Each row sums to 1; with a sink, to what the sink leaves.
        """
        return _array(decomposition.probability(self.factors[layer].head(head)))

    def row(self, layer: int, token: int) -> np.ndarray:
        """What one current token gives to all targets, float64 [head, T]: of all heads of a layer a
        row of `probability`."""
        heads = self.largest_targets.shape[1]
        return decomposition.row(self.factors[layer], token)[:heads].numpy()

    def score(self, layer: int, head: int) -> np.ndarray:
        """What enters one head's softmax before a cap, float64 [T, T]; 0 where a target is not
        visible."""
        factors = self.factors[layer].head(head)
        return _array(decomposition.score(factors).masked_fill(~factors.range().mask(), 0.0))

    def rotary_terms(self, layer: int, head: int) -> dict[str, np.ndarray] | None:
        """The four-way split of a rotated score with biases: dict of name to float64 [T, T].

        None where the model has no such scores, see `decomposition.rotary_terms`.
        """
        terms = decomposition.rotary_terms(self.factors[layer].head(head))
        return terms and {name: _array(values) for name, values in terms.items()}


def _array(tensor):
    """[1, ...] of one head to a numpy array [...]."""
    return tensor[0].numpy()
