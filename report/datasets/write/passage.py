"""Writes the datasets of one model's measurement of a passage."""

from collections.abc import Sequence
from typing import Protocol

from report.datasets.formats import fields, head_statistics, passage, updates
from report.datasets.formats.measured import HeadStatistics, PassageMeasurement
from report.datasets.write import prediction
from report.datasets.write.attention import write_attention
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured on a passage."""

    passage: passage.Passage
    tokens: Sequence[dict]
    measurement: PassageMeasurement
    corpus: HeadStatistics
    prediction: prediction.Measured | None
    """What heads do to its next tokens, if that was measured."""


def write_passage(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write every dataset of an article.

    progress: called after each layer
    returns: the manifest's passage and fields
    raises: ReportError if a number is not finite
    """
    measurement = measured.measurement
    files.write("passage.json", passage.encode(measured.passage, measured.tokens))
    sources = {"passage": measurement.statistics, "corpus": measured.corpus}
    files.write("head_statistics.json", head_statistics.encode(sources))
    if measurement.magnitude is not None:
        for layer in range(len(measurement.magnitude)):
            files.write(f"updates/{layer}.json", layer_updates(measurement, layer))
    if measured.prediction is not None:
        prediction.write_prediction(files, measured.prediction, lambda *_: None)
    shards = write_attention(files, measurement, progress)
    read = {"name": measured.passage.name, "tokens": len(measured.tokens)}
    return {"passage": read, "fields": fields.described(shards)}


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
