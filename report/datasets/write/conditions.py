"""Turns what was measured of the conditions of a study into its folder of datasets."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from report.datasets.formats import conditions
from report.datasets.formats.measured import ConditionStatistics
from report.datasets.write.folder import Folder


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.conditions`."""

    conditions: Sequence[ConditionStatistics]


def write_conditions(
    folder: Path,
    measured: Measured,
    provenance: dict,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write every dataset of a study of conditions into an empty folder, the manifest last.

    provenance: the manifest's fields that are not about the files themselves
    progress: called with (done, total) after each layer
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    statistics, files = measured.conditions, Folder(folder)
    layers, heads = statistics[0].received.mean.shape[1:3]
    files.write("conditions.json", conditions.encode_texts(statistics))
    files.write("effects.json", conditions.encode_effects(statistics))
    for layer in range(layers):
        for head in range(heads):
            name = f"received/{layer}/{head}.json"
            files.write(name, conditions.encode_received(layer, head, statistics))
        if progress:
            progress(layer + 1, layers)
    files.write_manifest(provenance)
