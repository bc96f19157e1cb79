"""Which targets a current token may attend to, as a reader's browser knows it (no torch)."""

from dataclasses import dataclass

import numpy as np

from report.errors import ReportError


@dataclass(frozen=True)
class Visible:
    """The targets of every current token, from its first to its last (both included).

    Arrays are in the order of the file: the visible cells row by row.
    """

    first: np.ndarray
    """int [T]: 0 in causal attention; later in a sliding window."""
    last: np.ndarray
    """int [T]: the current token itself in causal attention; T - 1 in an encoder."""

    @classmethod
    def causal(cls, length, window=None):
        """Every token up to the current one, at most `window` of them."""
        last = np.arange(length)
        first = np.zeros(length, int) if window is None else np.maximum(last - window + 1, 0)
        return cls(first, last)

    @classmethod
    def full(cls, length):
        """Every token of the passage, as in an encoder."""
        return cls(np.zeros(length, int), np.full(length, length - 1))

    @classmethod
    def of(cls, ranges, length):
        """The same from any object with `first` and `last`, or from None, which is causal.

        raises: ReportError if a row is empty or leaves the passage
        """
        if ranges is None:
            return cls.causal(length)
        first, last = np.asarray(ranges.first), np.asarray(ranges.last)
        if first.shape != (length,) or last.shape != (length,):
            raise ReportError(
                f"visible targets of {len(first)} and {len(last)} tokens, not of {length}; "
                "delete the dataset and run `make site`."
            )
        broken = (first < 0) | (first > last) | (last >= length)
        if broken.any():
            row = int(broken.argmax())
            raise ReportError(
                f"token {row} sees targets {first[row]} to {last[row]}; allowed is a range within "
                f"0 to {length - 1}. Delete the dataset and run `make site`."
            )
        return cls(first.astype(int), last.astype(int))

    def as_json(self):
        """As a dataset states it."""
        return {"first": self.first.tolist(), "last": self.last.tolist()}

    def mask(self):
        """bool [query, key], true where the current token may look."""
        targets = np.arange(len(self.first))
        return (targets >= self.first[:, None]) & (targets <= self.last[:, None])

    @property
    def count(self):
        """How many cells are visible."""
        return int((self.last - self.first + 1).sum())

    @property
    def is_causal(self):
        """Whether every token sees exactly itself and all tokens before it."""
        return self.backward and bool((self.first == 0).all() and (self.last == self._own).all())

    @property
    def backward(self):
        """Whether no token sees a later one."""
        return bool((self.last <= self._own).all())

    @property
    def window(self):
        """Most targets that a token sees, where a sliding window cuts the first off; else None."""
        return int((self.last - self.first + 1).max()) if (self.first > 0).any() else None

    @property
    def _own(self):
        return np.arange(len(self.last))
