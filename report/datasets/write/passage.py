"""Writes the datasets of one model's measurement of a passage."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from report.datasets.formats import fields, head_statistics, passage, updates
from report.datasets.formats.measured import HeadStatistics, PassageMeasurement
from report.datasets.write.attention import write_attention
from report.datasets.write.folder import Folder


class Measured(Protocol):
    """What was measured on a passage."""

    passage: passage.Passage
    tokens: Sequence[dict]
    measurement: PassageMeasurement
    corpus: HeadStatistics


def write_passage(
    folder: Path,
    measured: Measured,
    provenance: dict,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write every dataset of an article into an empty folder, the manifest last.

    provenance: the manifest's fields that are not about the files themselves
    progress: called with (done, total) after each layer
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    measurement = measured.measurement
    files = Folder(folder)
    files.write("passage.json", passage.encode(measured.passage, measured.tokens))
    sources = {"passage": measurement.statistics, "corpus": measured.corpus}
    files.write("head_statistics.json", head_statistics.encode(sources))
    if measurement.magnitude is not None:
        for layer in range(len(measurement.magnitude)):
            files.write(f"updates/{layer}.json", layer_updates(measurement, layer))
    shards = write_attention(files, measurement, progress)
    read = {"name": measured.passage.name, "tokens": len(measured.tokens)}
    described = {"passage": read, "fields": fields.described(shards)}
    files.write_manifest(provenance | described)


def layer_updates(measurement: PassageMeasurement, layer: int) -> dict:
    """The table/1 dataset of the updates of one layer; ReportError as `updates.encode`."""
    raw = None
    if measurement.raw_magnitude is not None:
        raw = measurement.raw_magnitude[layer], measurement.raw_alignment[layer]
    return updates.encode(
        layer,
        measurement.magnitude[layer],
        measurement.alignment[layer],
        measurement.largest_targets[layer, :, :, 0],
        raw,
    )
