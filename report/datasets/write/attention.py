"""Writes the attention of heads, one shard a head: for articles about a passage or a table."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from report.datasets.formats import attention
from report.datasets.formats.fields import Fields
from report.datasets.formats.measured import PassageMeasurement
from report.datasets.formats.visible import Visible
from report.datasets.write import processes
from report.datasets.write.folder import Folder, write_dataset

CELLS_OF_A_START = 4_000_000
"""Fewer cells (heads x queries x keys) are written before a second process has started."""

BYTES_OF_A_CELL = 150
"""About what one head takes while it is encoded: a dozen and a half arrays of float64."""


def write_attention(
    files: Folder,
    measurement: PassageMeasurement,
    progress: Callable[[int, int], object] | None = None,
) -> list[Fields]:
    """Write the shards of all heads, in as many processes as there are processors.

    progress: called with (done, total) after each layer
    returns: the fields of each layer's shards, as the heads of a layer have the same
    raises: ReportError as `Folder.write`
    """
    layers, heads, length = measurement.largest_targets.shape[:3]
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    enough = len(places) * length**2 >= CELLS_OF_A_START
    number = processes.number(BYTES_OF_A_CELL * length**2) if enough else 1
    jobs = (partial(_job, files.path, measurement, *place) for place in places)
    of_layers = []
    with processes.calls(write_shard, jobs, min(number, len(places))) as done:
        for (layer, head), (facts, fields) in zip(places, done, strict=True):
            files.files[name(layer, head)] = facts
            if head == heads - 1:
                of_layers.append(fields)
                if progress:
                    progress(layer + 1, layers)
    return of_layers


def name(layer: int, head: int) -> str:
    """Name of a shard within its folder of datasets."""
    return f"attention/{layer}/{head}.json"


def write_shard(path: Path, parts: dict) -> tuple[dict, Fields]:
    """Write one head; parts: arguments of `attention.encode`.

    returns: the file's "bytes" and "sha256", and its fields
    raises: ReportError as `attention.encode` and `Folder.write`
    """
    shard = attention.encode(**parts)
    return write_dataset(path, shard), Fields.of(shard)


def attention_shard(measurement: PassageMeasurement, layer: int, head: int) -> dict:
    """The attention/3 dataset of one head; ReportError as `attention.encode`."""
    return attention.encode(**_parts(measurement, layer, head))


def _job(folder, measurement, layer, head):
    """The arguments of `write_shard`."""
    return folder / name(layer, head), _parts(measurement, layer, head)


def _parts(measurement, layer, head):
    """The arguments of `attention.encode`, without anything of the libraries that measured."""
    factors = measurement.factors[layer]
    probability = measurement.probability(layer, head)
    return {
        "layer": layer,
        "head": head,
        "terms": [
            attention.PlainTerm(term.name, term.per, term.values, term.pair)
            for term in measurement.terms(layer, head)
        ],
        "probability": probability,
        "marker_count": measurement.marker_count[layer, head],
        "largest_targets": measurement.largest_targets[layer, head],
        "softmax": attention.Softmax(
            visible=Visible.of(measurement.visible(layer), len(probability)),
            softcap=factors.softcap,
            sink=None if factors.sink is None else float(factors.sink[head]),
        ),
    }
