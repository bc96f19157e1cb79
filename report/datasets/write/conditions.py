"""Turns what was measured of the conditions of a study into its folder of datasets."""

from collections.abc import Sequence
from typing import Protocol

from report.datasets.formats import conditions
from report.datasets.formats.measured import ConditionStatistics
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.conditions`."""

    conditions: Sequence[ConditionStatistics]


def write_conditions(files: Folder, measured: Measured, progress: Step) -> None:
    """Write every dataset of a study of conditions.

    progress: called after each layer
    raises: ReportError if a number is not finite
    """
    statistics = measured.conditions
    layers, heads = statistics[0].received.mean.shape[1:3]
    files.write("conditions.json", conditions.encode_texts(statistics))
    files.write("effects.json", conditions.encode_effects(statistics))
    for layer in range(layers):
        for head in range(heads):
            name = f"received/{layer}/{head}.json"
            files.write(name, conditions.encode_received(layer, head, statistics))
        progress(layer + 1, layers)
