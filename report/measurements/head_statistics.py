"""What each head attends to over many texts, as sums that can be added.

All sums are of whole numbers, so they are the same in every bit in whatever order and groups texts
are added, on one machine or on many.
"""

from dataclasses import dataclass

import numpy as np
import torch

from report.errors import ReportError

UNIT = 2.0**-32
"""Differences of probabilities are counted in multiples of this."""
MOST_ROWS = 2**31
"""The differences of this many rows, each at most 1, add up to less than 64 bits hold."""


@dataclass
class HeadStatistics:
    """Sums over the rows of any number of texts; row 0 of a text is left out.

    In a decoder, row 0 sees one target only. In an encoder it sees all, but "itself" and "first
    token" are the same target there; it is left out to keep one definition.

    itself_rows, first_token_rows: int64 [layers, heads], rows whose largest target is the current
        token itself, or token 0
    difference_units: int64 [layers, heads], largest minus second largest probability, summed over
        the rows of each text and rounded to a multiple of `UNIT`
    previous_token_rows: int64 [layers, heads], rows whose largest target is the token just before;
        for token 1 that is token 0, and it counts as both
    rows, texts: how many rows (one per token but the first) and texts were counted
    """

    itself_rows: np.ndarray
    first_token_rows: np.ndarray
    difference_units: np.ndarray
    previous_token_rows: np.ndarray
    rows: int = 0
    texts: int = 0

    @classmethod
    def empty(cls, layers: int, heads: int) -> "HeadStatistics":
        """Nothing counted yet."""
        return cls(*(np.zeros((layers, heads), np.int64) for _ in range(4)))

    def add_layer(self, layer: int, sums: tuple[torch.Tensor, ...]) -> None:
        """Add the sums of `row_sums` over one text in one layer (in place)."""
        for total, part in zip(self.sums.values(), sums, strict=True):
            if part.is_floating_point():
                part = (part / UNIT).round().long()
            total[layer] += part.cpu().numpy()

    def add_text(self, tokens: int) -> None:
        """Count a text of `tokens` tokens, all of whose layers were added (in place)."""
        self.rows += tokens - 1
        self.texts += 1

    def merge(self, other: "HeadStatistics") -> "HeadStatistics":
        """The statistics of both, as if they had been measured together (a new object).

        raises: ReportError if the two come from models of different shapes, or have too many rows
        """
        if self.itself_rows.shape != other.itself_rows.shape:
            raise ReportError(
                f"head statistics of {self.itself_rows.shape} and {other.itself_rows.shape} "
                "(layers, heads) cannot be merged; merge measurements of one model only"
            )
        if self.rows + other.rows > MOST_ROWS:
            raise ReportError(
                f"the texts have more than {MOST_ROWS:,} tokens, which is as many as are counted; "
                "take fewer texts"
            )
        sums = [mine + other.sums[name] for name, mine in self.sums.items()]
        return HeadStatistics(*sums, self.rows + other.rows, self.texts + other.texts)

    def first_heads(self, number: int) -> "HeadStatistics":
        """The same of the first heads of each layer (a new object)."""
        sums = [value[:, :number].copy() for value in self.sums.values()]
        return HeadStatistics(*sums, self.rows, self.texts)

    @property
    def sums(self) -> dict[str, np.ndarray]:
        """What is added up: dict of name to int64 [layers, heads], the arrays themselves."""
        return {name: value for name, value in vars(self).items() if np.ndim(value)}

    @property
    def difference_sum(self) -> np.ndarray:
        """Largest minus second largest probability, summed over all rows, float64."""
        return self.difference_units * UNIT

    @property
    def itself(self) -> np.ndarray:
        """Fraction of rows whose largest target is the current token, [layers, heads].

        raises: ReportError if nothing was measured
        """
        return self.itself_rows / self._counted_rows()

    @property
    def first_token(self) -> np.ndarray:
        """Fraction of rows whose largest target is token 0, [layers, heads], in [0, 1].

        raises: ReportError if nothing was measured
        """
        return self.first_token_rows / self._counted_rows()

    @property
    def previous_token(self) -> np.ndarray:
        """Fraction of rows whose largest target is the token before, [layers, heads], in [0, 1].

        raises: ReportError if nothing was measured
        """
        return self.previous_token_rows / self._counted_rows()

    @property
    def concentration(self) -> np.ndarray:
        """Mean of largest minus second largest probability, [layers, heads], in [0, 1].

        raises: ReportError if nothing was measured
        """
        return self.difference_sum / self._counted_rows()

    def _counted_rows(self):
        if not self.rows:
            raise ReportError("head statistics are empty; measure at least one text of 2 tokens")
        return self.rows


def row_sums(targets: torch.Tensor, probability: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The sums of `HeadStatistics` over one text in one layer.

    targets, probability: [heads, T, at least 2] as `LargestTargets` finds them
    returns: itself int64 [heads], first token int64 [heads], difference float64 [heads], previous
        token int64 [heads]; row 0 is left out of all of them
    source: previous-token heads, Elhage et al. 2021; the first token as a sink, Xiao et al. 2023
    """
    target, probability = targets[:, 1:, 0], probability[:, 1:, :2].double()
    current = torch.arange(1, targets.shape[1], device=target.device)
    difference = (probability[..., 0] - probability[..., 1]).sum(-1)
    itself, first, previous = (target == place for place in (current, 0, current - 1))
    return itself.sum(-1), first.sum(-1), difference, previous.sum(-1)
