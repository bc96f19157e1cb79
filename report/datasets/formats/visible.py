"""Which targets a current token may attend to, as a reader's browser knows it (no torch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.damaged import damaged

if TYPE_CHECKING:
    from report.measurements.visible import Visible as Ranges


@dataclass(frozen=True)
class Visible:
    """The targets of every current token, from its first to its last (both included).

    Files hold the visible cells row by row.
    """

    first: np.ndarray
    """int [T]: 0 in causal attention; later in a sliding window."""
    last: np.ndarray
    """int [T]: the current token itself in causal attention; T - 1 in an encoder."""

    @classmethod
    def causal(cls, length: int, window: int | None = None) -> Visible:
        """Every token up to the current one, at most `window` of them."""
        last = np.arange(length)
        first = np.zeros(length, int) if window is None else np.maximum(last - window + 1, 0)
        return cls(first, last)

    @classmethod
    def full(cls, length: int) -> Visible:
        """Every token of the passage, as in an encoder."""
        return cls(np.zeros(length, int), np.full(length, length - 1))

    @classmethod
    def of(cls, ranges: Ranges | None, length: int) -> Visible:
        """The same from measured ranges, or from None, which is causal.

        raises: ReportError if a row is empty or leaves the passage
        """
        if ranges is None:
            return cls.causal(length)
        first, last = np.asarray(ranges.first), np.asarray(ranges.last)
        if first.shape != (length,) or last.shape != (length,):
            sizes = f"{len(first)} and {len(last)} tokens"
            raise damaged(f"visible targets of {sizes}, not of {length}")
        broken = (first < 0) | (first > last) | (last >= length)
        if broken.any():
            row = int(broken.argmax())
            raise damaged(
                f"token {row} sees targets {first[row]} to {last[row]}, not a range within 0 to "
                f"{length - 1}"
            )
        return cls(first.astype(int), last.astype(int))

    def as_json(self) -> dict[str, list[int]]:
        """As a dataset states it."""
        return {"first": self.first.tolist(), "last": self.last.tolist()}

    def mask(self) -> np.ndarray:
        """bool [query, key], true where the current token may attend."""
        targets = np.arange(len(self.first))
        return (targets >= self.first[:, None]) & (targets <= self.last[:, None])

    @property
    def count(self) -> int:
        """Number of visible cells."""
        return int((self.last - self.first + 1).sum())

    @property
    def starts(self) -> np.ndarray:
        """int [T]: `starts[i] + j` is the place of cell i, j among all that files hold."""
        counts = self.last - self.first + 1
        return np.cumsum(counts) - counts - self.first

    @property
    def is_causal(self) -> bool:
        """Whether every token sees exactly itself and all tokens before it."""
        return self.backward and bool((self.first == 0).all() and (self.last == self._own).all())

    @property
    def backward(self) -> bool:
        """Whether no token sees a later one."""
        return bool((self.last <= self._own).all())

    @property
    def window(self) -> int | None:
        """Size of the sliding window: the most targets that a token sees; None without a window."""
        return int((self.last - self.first + 1).max()) if (self.first > 0).any() else None

    @property
    def _own(self):
        return np.arange(len(self.last))
