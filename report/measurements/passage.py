"""What is measured on one passage: its statistics, and the factors from which any map follows."""

from dataclasses import dataclass, field

import numpy as np
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors
from report.measurements.head_statistics import HeadStatistics


@dataclass(frozen=True)
class Term:
    """One term of a head's scores, with what its values are indexed by.

    name: "content", "bias" or "position"
    per: "cell": values float64 [T, T], term_ij = values[i, j], 0 above the diagonal;
        "target": values [T], term_ij = values[j];
        "target_difference": values [T], term_ij = values[j] - values[i]
    """

    name: str
    per: str
    values: np.ndarray


@dataclass
class PassageMeasurement:
    """One passage through one model (L layers, H heads, T tokens).

    token_ids: [T], the special tokens that the tokenizer adds included
    largest_targets: int32 [L, H, T, 11], by descending probability, -1 where a row has fewer
    marker_count: int32 [L, H, T], fewest largest targets that reach half of the row's probability
    magnitude: float32 [L, H, T], |u| / |x|, a ratio
    alignment: float32 [L, H, T], cos(u, x), in [-1, 1]
    statistics: the same sums as over a corpus, for this passage
    factors: per layer, what `terms` and `probability` are computed from, on the CPU
    """

    token_ids: list[int]
    largest_targets: np.ndarray
    marker_count: np.ndarray
    magnitude: np.ndarray
    alignment: np.ndarray
    statistics: HeadStatistics
    factors: list[Factors] = field(repr=False)

    def terms(self, layer, head):
        """The terms of one head's scores, whose sum gives the model's attention after softmax.

        returns: list of Term (content, bias, position), float64; the row constant is dropped
        """
        factors = self.factors[layer].head(head)
        return [
            Term("content", "cell", _array(decomposition.content(factors).tril())),
            Term("bias", "target", _array(decomposition.bias(factors))),
            Term("position", "target_difference", _array(decomposition.position(factors))),
        ]

    def probability(self, layer, head):
        """The attention of one head, float64 [T, T]: 0 above the diagonal, each row sums to 1."""
        score = decomposition.score(self.factors[layer].head(head))
        later = torch.ones(score.shape[1:], dtype=torch.bool).triu(1)
        return _array(score.masked_fill(later, -torch.inf).softmax(-1))


def _array(tensor):
    """[1, ...] of one head to a numpy array [...]."""
    return tensor[0].numpy()
