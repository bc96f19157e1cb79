"""Writes the attention of heads, one shard a head: for articles about a passage or a table."""

from report.datasets.formats import attention
from report.datasets.formats.measured import PassageMeasurement
from report.datasets.write.folder import Folder


def write_layer(files: Folder, measurement: PassageMeasurement, layer: int) -> dict:
    """Write the shards of a layer; returns the last, as the heads of a layer have the same fields.

    raises: ReportError as `Folder.write`
    """
    for head in range(measurement.largest_targets.shape[1]):
        shard = attention_shard(measurement, layer, head)
        files.write(f"attention/{layer}/{head}.json", shard)
    return shard


def attention_shard(measurement: PassageMeasurement, layer: int, head: int) -> dict:
    """The attention/3 dataset of one head; ReportError as `attention.encode`."""
    factors = measurement.factors[layer]
    return attention.encode(
        layer,
        head,
        measurement.terms(layer, head),
        measurement.probability(layer, head),
        measurement.marker_count[layer, head],
        measurement.largest_targets[layer, head],
        attention.Softmax(
            visible=measurement.visible(layer),
            softcap=factors.softcap,
            sink=None if factors.sink is None else float(factors.sink[head]),
        ),
    )
