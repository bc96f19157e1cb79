"""What each head attends to over many texts, as sums that can be added: figures 4 to 6."""

from dataclasses import dataclass

import numpy as np
import torch

from report.errors import ReportError


@dataclass
class HeadStatistics:
    """Sums over the rows of any number of texts; row 0 of a text is left out.

    In a decoder it has no choice. In an encoder it has, but its "itself" and "first token" are one
    target; it is left out to keep one definition.

    itself_rows, first_token_rows: int64 [layers, heads], rows whose largest target is the current
        token itself, or token 0
    difference_sum: float64 [layers, heads], largest minus second largest probability, summed
    previous_token_rows: int64 [layers, heads], rows whose largest target is the token just before;
        for token 1 that is token 0, and it counts as both
    rows, texts: how many rows (one per token but the first) and texts were counted
    """

    itself_rows: np.ndarray
    first_token_rows: np.ndarray
    difference_sum: np.ndarray
    previous_token_rows: np.ndarray
    rows: int = 0
    texts: int = 0

    @classmethod
    def empty(cls, layers, heads):
        """Nothing counted yet."""
        shape = (layers, heads)
        rows = [np.zeros(shape, np.int64) for _ in range(3)]
        return cls(rows[0], rows[1], np.zeros(shape), rows[2])

    def add_layer(self, layer, sums):
        """Add the sums of `row_sums` over one text in one layer (in place)."""
        for total, part in zip(self._sums(), sums, strict=True):
            total[layer] += part.cpu().numpy()

    def add_text(self, tokens):
        """Count a text of `tokens` tokens, all of whose layers were added (in place)."""
        self.rows += tokens - 1
        self.texts += 1

    def merge(self, other):
        """The statistics of both, as if they had been measured together (a new object).

        raises: ReportError if the two come from models of different shapes
        """
        if self.itself_rows.shape != other.itself_rows.shape:
            raise ReportError(
                f"head statistics of {self.itself_rows.shape} and {other.itself_rows.shape} "
                "(layers, heads) cannot be merged; merge measurements of one model only"
            )
        sums = [mine + others for mine, others in zip(self._sums(), other._sums(), strict=True)]
        return HeadStatistics(*sums, self.rows + other.rows, self.texts + other.texts)

    @property
    def itself(self):
        """Fraction of rows whose largest target is the current token, [layers, heads]."""
        return self.itself_rows / self._counted_rows()

    @property
    def first_token(self):
        """Fraction of rows whose largest target is token 0, [layers, heads], in [0, 1]."""
        return self.first_token_rows / self._counted_rows()

    @property
    def previous_token(self):
        """Fraction of rows whose largest target is the token before, [layers, heads], in [0, 1]."""
        return self.previous_token_rows / self._counted_rows()

    @property
    def concentration(self):
        """Mean of largest minus second largest probability, [layers, heads], in [0, 1]."""
        return self.difference_sum / self._counted_rows()

    def _sums(self):
        totals = (self.itself_rows, self.first_token_rows, self.difference_sum)
        return (*totals, self.previous_token_rows)

    def _counted_rows(self):
        if not self.rows:
            raise ReportError("head statistics are empty; measure at least one text of 2 tokens")
        return self.rows


def row_sums(targets, probability):
    """The sums of `HeadStatistics` over one text in one layer.

    targets, probability: [heads, T, at least 2] as `LargestTargets` finds them
    returns: itself int64 [heads], first token int64 [heads], difference float64 [heads], previous
        token int64 [heads]; row 0 is left out of all of them
    source: previous-token heads, Elhage et al. 2021; the first token as a sink, Xiao et al. 2023
    """
    target, probability = targets[:, 1:, 0], probability[:, 1:, :2].double()
    current = torch.arange(1, targets.shape[1], device=target.device)
    difference = (probability[..., 0] - probability[..., 1]).sum(-1)
    itself, first, previous = (target == found for found in (current, 0, current - 1))
    return itself.sum(-1), first.sum(-1), difference, previous.sum(-1)
