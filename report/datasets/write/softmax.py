"""How the scores of a head become probabilities, as a file says it (no torch)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from report.datasets.formats.decoded import Softmax
from report.datasets.formats.visible import Visible

if TYPE_CHECKING:
    from report.measurements.passage import PassageMeasurement


def softmax_of(measurement: PassageMeasurement, layer: int, head: int) -> Softmax:
    """The softmax of one head."""
    factors = measurement.factors[layer]
    return Softmax(
        visible=Visible.of(measurement.visible(layer), measurement.largest_targets.shape[2]),
        softcap=factors.softcap,
        sink=None if factors.sink is None else float(factors.sink[head]),
    )
