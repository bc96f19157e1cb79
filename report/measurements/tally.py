"""Sums over a batch of a corpus's texts, which can be added to those of other batches."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from report.measurements.head_statistics import HeadStatistics

SCHEMA = "batch/3"


@dataclass
class Tally:
    """Sums over texts, and what became of those that are not in the sums.

    statistics: `HeadStatistics` of the texts that were measured
    tokens: of these texts
    left_out: texts that are too long for the model, or have fewer than 2 tokens
    failed: dict of a text's index to why it could not be measured
    """

    statistics: HeadStatistics
    tokens: int = 0
    left_out: int = 0
    failed: dict[int, str] = field(default_factory=dict)

    @property
    def texts(self) -> int:
        """How many texts were measured."""
        return self.statistics.texts

    def merge(self, other: "Tally") -> "Tally":
        """The tally of both, as if their texts had been measured together (a new object)."""
        return Tally(
            self.statistics.merge(other.statistics),
            self.tokens + other.tokens,
            self.left_out + other.left_out,
            self.failed | other.failed,
        )

    def as_json(self) -> dict[str, Any]:
        """The batch/3 dataset of a tally in which no text failed, but for its seal."""
        of = self.statistics
        counts = {"layers": of.layers, "heads": of.heads, "texts": of.texts, "rows": of.rows}
        counts |= {"tokens": self.tokens, "left_out": self.left_out}
        sums = {name: values.astype(str).tolist() for name, values in of.sums.items()}
        return {"schema": SCHEMA, **counts, "sums": sums}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> "Tally":
        """The tally that a batch/3 dataset holds, every number as it was."""
        whole = np.frompyfunc(int, 1, 1)
        sums = {name: whole(np.array(values, object)) for name, values in data["sums"].items()}
        shape = data["layers"], data["heads"]
        statistics = HeadStatistics(*shape, sums, data["rows"], data["texts"])
        return cls(statistics, data["tokens"], data["left_out"])
