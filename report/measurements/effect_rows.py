"""What was measured of some texts one by one, which can be put together with that of others."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

SCHEMA = "effect-rows/1"


@dataclass
class EffectRows:
    """Effects on what is asked of each text. Means and errors are taken once all are there, in the
    order of the texts, so that they do not depend on how the texts were divided.

    told: number of a text -> name of a measurement -> float64 array, see
        `report.effects.generated.measure_text`
    tokens: of these texts
    failed: number of a text -> why it could not be measured
    """

    told: dict[int, dict[str, np.ndarray]]
    tokens: int = 0
    failed: dict[int, str] = field(default_factory=dict)

    @property
    def texts(self) -> int:
        """How many texts were measured."""
        return len(self.told)

    def rows(self, name: str) -> np.ndarray:
        """A measurement of all texts that have it, in order: float64 [texts, ...]."""
        return np.stack([self.told[n][name] for n in sorted(self.told) if name in self.told[n]])

    def merge(self, other: "EffectRows") -> "EffectRows":
        """Those of both (a new object)."""
        told, failed = self.told | other.told, self.failed | other.failed
        return EffectRows(told, self.tokens + other.tokens, failed)

    def as_json(self) -> dict[str, Any]:
        """The effect-rows/1 dataset of texts none of which failed, every number as it is."""
        told = {
            str(number): {name: np.asarray(values).tolist() for name, values in each.items()}
            for number, each in self.told.items()
        }
        return {"schema": SCHEMA, "tokens": self.tokens, "told": told}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> "EffectRows":
        """What an effect-rows/1 dataset holds, every number as it was."""
        told = {
            int(number): {name: np.array(values, np.float64) for name, values in each.items()}
            for number, each in data["told"].items()
        }
        return cls(told, data["tokens"])
