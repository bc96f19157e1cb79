"""What each head attends to over many texts, as sums that can be added: figures 4 to 6."""

from dataclasses import dataclass

import numpy as np
import torch

from report.errors import ReportError
from report.measurements.targets import two_largest


@dataclass
class HeadStatistics:
    """Sums over the rows of any number of texts; row 0 of a text, which has no choice, is left out.

    itself_rows, first_token_rows: int64 [layers, heads], rows whose largest target is the current
        token itself, or token 0
    difference_sum: float64 [layers, heads], largest minus second largest probability, summed
    rows, texts: how many rows (one per token but the first) and texts were counted
    """

    itself_rows: np.ndarray
    first_token_rows: np.ndarray
    difference_sum: np.ndarray
    rows: int = 0
    texts: int = 0

    @classmethod
    def empty(cls, layers, heads):
        """Nothing counted yet."""
        shape = (layers, heads)
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape))

    def add_block(self, layer, sums):
        """Add the three sums of `block_sums` over some rows of one layer (in place)."""
        totals = (self.itself_rows, self.first_token_rows, self.difference_sum)
        for total, block in zip(totals, sums, strict=True):
            total[layer] += block.cpu().numpy()

    def add_text(self, tokens):
        """Count a text of `tokens` tokens, all of whose blocks were added (in place)."""
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
        return HeadStatistics(
            self.itself_rows + other.itself_rows,
            self.first_token_rows + other.first_token_rows,
            self.difference_sum + other.difference_sum,
            self.rows + other.rows,
            self.texts + other.texts,
        )

    @property
    def itself(self):
        """Fraction of rows whose largest target is the current token, [layers, heads]."""
        return self.itself_rows / self._counted_rows()

    @property
    def first_token(self):
        """Fraction of rows whose largest target is token 0, [layers, heads], in [0, 1]."""
        return self.first_token_rows / self._counted_rows()

    @property
    def concentration(self):
        """Mean of largest minus second largest probability, [layers, heads], in [0, 1]."""
        return self.difference_sum / self._counted_rows()

    def _counted_rows(self):
        if not self.rows:
            raise ReportError("head statistics are empty; measure at least one text of 2 tokens")
        return self.rows


def block_sums(probability, start):
    """The sums of `HeadStatistics` over one block of rows.

    probability: float [heads, rows, keys]; row r is current token start + r, the last key the last
        row's current token at least; rows sum to 1
    returns: itself int64 [heads], first token int64 [heads], difference float64 [heads]; token 0's
        own row is left out of all three
    """
    skipped = 1 if start == 0 else 0
    largest, target, second = two_largest(probability[:, skipped:])
    current = torch.arange(start + skipped, start + probability.shape[1], device=target.device)
    difference = (largest - second).sum(-1, dtype=torch.float64)
    return (target == current).sum(-1), (target == 0).sum(-1), difference
