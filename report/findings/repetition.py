"""What an article about a table may say about repetition: copies of a token, and what follows them.

All in the first rendering of the table, of which everything is known.
"""

import functools

import numpy as np

from report.datasets.formats.token_classes import CLASSES
from report.datasets.read.table import TableData
from report.figures.parts.heads import Head, largest


class RepetitionFindings:
    """The part of `report.findings.table.TableFindings` that looks for repetitions."""

    def __init__(self, data: TableData) -> None:
        self.data = data

    @functools.cached_property
    def repetition(self) -> dict[str, np.ndarray]:
        """What every head gives to repetitions, mean over the tokens of cells with a cell above.

        returns: float [layer, head] by name. copies: what goes to earlier tokens that equal the
            current one. followers: what goes to tokens just after such a copy.
            same_column_copies, same_column_followers: the part in the same column above
        """
        names = ("copies", "followers")
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
        """What uniform attention would give to copies and followers: dict of float."""
        seen = self.data.visible(0, 0).mask()[self.data.current]
        return {
            name: float(((member & seen).sum(1) / seen.sum(1)).mean())
            for name, member in self._repeated.items()
        }

    def even_part(self, kind: str) -> float:
        """The part of what uniform attention gives to the same column above that goes to copies or
        followers; 0 if there is nothing above."""
        seen = self.data.visible(0, 0).mask()[self.data.current]
        even = seen / seen.sum(1, keepdims=True)
        whole = (even * self._above).sum()
        return float((even * (self._above & self._repeated[kind])).sum() / whole) if whole else 0.0

    def repeater(self, kind: str) -> Head:
        """The `Head` that gives most to "copies" or "followers"."""
        return largest(self.repetition[kind])

    @functools.cached_property
    def _repeated(self):
        """Copies of the current token before it, and the tokens after them: bool [current, T]."""
        ids = np.array([token.id for token in self.data.tokens])
        places = np.arange(len(ids))
        copies = (ids[:, None] == ids) & (places < places[:, None])
        followers = np.zeros_like(copies)
        followers[:, 1:] = copies[:, :-1]
        followers &= places <= places[:, None]
        current = self.data.current
        return {"copies": copies[current], "followers": followers[current]}

    @functools.cached_property
    def _above(self):
        return self.data.classes[self.data.current] == list(CLASSES).index("same_column")
