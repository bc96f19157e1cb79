"""Writes the attention of heads, one shard a head: for articles about a passage or a table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import fitting, sides
from report.datasets.formats.attention import DecodedTerm, Softmax
from report.datasets.formats.group import Group, Head, head_of_cells
from report.datasets.formats.rotation import NONE, Rotation, found
from report.datasets.formats.visible import Visible
from report.datasets.write import processes
from report.datasets.write.folder import Folder, write_dataset
from report.files import own_folder

if TYPE_CHECKING:
    from report.measurements.passage import PassageMeasurement


@dataclass(frozen=True)
class _Job:
    """Heads of a layer that are written together."""

    layer: int
    heads: Sequence[int]
    key_head: int | None
    """Whose queries and keys are written; None: one head, by its cells."""
    rotation: Rotation | None = None


def _jobs(measurement: PassageMeasurement, layer: int) -> list[_Job]:
    """Which heads of a layer are written together: those of a key head, if queries and keys are
    known and how these are rotated."""
    factors, number = measurement.factors[layer], measurement.largest_targets.shape[1]
    turned = rotation(factors)
    if turned is None:
        return [_Job(layer, [head], None) for head in range(number)]
    size = len(factors.query) // len(factors.key)
    shared = [range(n, min(n + size, number)) for n in range(0, number, size)]
    return [_Job(layer, heads, key_head, turned) for key_head, heads in enumerate(shared)]


def rotation(factors) -> Rotation | None:
    """How a layer rotates, or None where that is no rotation of pairs that grows with the place, or
    nothing but scores is known.

    It is found from one head's queries and one head's keys: all heads of a layer have one rotation.
    """
    if not hasattr(factors, "query"):
        return None
    if factors.unrotated_query is None:
        return NONE
    if factors.position is not None:
        return None  # no model is known that does both
    names = ("unrotated_query", "unrotated_key"), ("query", "key")
    return found(*(np.stack([_array(getattr(factors, n)[0]) for n in side]) for side in names))


def group_of(
    measurement: PassageMeasurement,
    layer: int,
    key_head: int,
    heads: Sequence[int],
    turned: Rotation,
) -> Group:
    """Some heads that share a key head, to be written; turned: the rotation of the layer."""
    factors, group = measurement.factors[layer], slice(heads[0], heads[-1] + 1)
    query_bias, key_bias = _array(factors.query_bias), _array(factors.key_bias)
    turns = factors.unrotated_query is not None
    plain = ("unrotated_query", "unrotated_key") if turns else ("query", "key")
    queries, keys = (_array(getattr(factors, name)) for name in plain)
    queries, keys = queries[group], keys[key_head]
    scale = np.float32(factors.scale)
    if query_bias is not None:
        query_bias = query_bias[group]
        queries = queries.astype(float) - query_bias[:, None]  # large ones lose digits in float32
    if key_bias is not None:
        key_bias = key_bias[key_head]
        keys = keys.astype(float) - key_bias
    placed = {}
    if factors.query_place is not None:
        placed["query_place"] = scale * _array(factors.query_place)[group]
        placed["key_place"] = _array(factors.key_place)[key_head]
    return Group(
        layer=layer,
        key_head=key_head,
        heads=list(heads),
        rotation=turned,
        queries=scale * queries,
        keys=keys,
        rotated_queries=scale * _array(factors.query)[group],
        rotated_keys=_array(factors.key)[key_head],
        query_bias=None if query_bias is None else scale * query_bias,
        key_bias=key_bias,
        with_row_constant=factors.softcap is not None or factors.sink is not None,
        largest_targets=measurement.largest_targets[layer, group],
        marker_count=measurement.marker_count[layer, group],
        softmaxes=[_softmax(measurement, layer, head) for head in heads],
        alibi=None if factors.position is None else _array(factors.position)[group],
        plain="mixed" if factors.mixed else "content",
        **placed,
    )


def _softmax(measurement, layer, head):
    """How the scores of one head become probabilities."""
    factors = measurement.factors[layer]
    return Softmax(
        visible=Visible.of(measurement.visible(layer), measurement.largest_targets.shape[2]),
        softcap=factors.softcap,
        sink=None if factors.sink is None else float(factors.sink[head]),
    )


def _array(tensor):
    """A tensor of the libraries that measured as a numpy array."""
    return None if tensor is None else np.asarray(tensor.float())  # numpy has no bfloat16


CELLS_OF_A_START = 4_000_000
"""Fewer cells (heads x queries x keys) are written before a second process has started."""

KEPT = 8
"""Groups of heads whose shards are kept once they were made."""

BYTES_OF_A_CELL = 150
"""About what one head takes while it is encoded: a dozen and a half arrays of float64."""

BYTES_OF_A_ROW = 40_000
"""The same of a head that is written as queries and keys: each of its arrays has some hundred rows
at a time, so this is for each key."""


@dataclass(frozen=True)
class Written:
    """The shards of all heads, written elsewhere, in place of a measurement's factors."""

    files: dict[str, bytes]


def to_send(measurement: PassageMeasurement, most: int) -> Written:
    """What `write_attention` writes, to be sent to another machine: a tenth of the factors.

    most: processes
    raises: ReportError as `write_attention`
    """
    with own_folder("attention") as path:
        folder = Folder(path)
        write_attention(folder, measurement, most=most)
        return Written({name: (folder.path / name).read_bytes() for name in folder.files})


def write_attention(
    files: Folder,
    measurement: PassageMeasurement,
    progress: Callable[[int, int], object] | None = None,
    most: int | None = None,
) -> None:
    """Write the shards of all heads, in as many processes as there are processors.

    progress: called with (done, total) after each layer
    most: processes; None: no limit
    raises: ReportError as `Folder.write`
    """
    if isinstance(measurement.factors, Written):
        for name, content in measurement.factors.files.items():
            files.write_bytes(name, content)
        return
    layers, heads, length = measurement.largest_targets.shape[:3]
    planned = [job for layer in range(layers) for job in _jobs(measurement, layer)]
    by_cells = any(job.key_head is None for job in planned)
    memory = BYTES_OF_A_CELL * length**2 if by_cells else BYTES_OF_A_ROW * length
    enough = layers * heads * length**2 >= CELLS_OF_A_START
    number = min(processes.number(memory), most or len(planned)) if enough else 1
    jobs = (partial(_arguments, files.path, measurement, job) for job in planned)
    by_name = {}
    with processes.calls(write_heads, jobs, min(number, len(planned))) as done:
        for job, facts in zip(planned, done, strict=True):
            by_name |= facts
            if progress and job.heads[-1] == heads - 1:
                progress(job.layer + 1, layers)
    # the heads first, whose sizes tell what a reader fetches at a step
    files.files |= dict(sorted(by_name.items(), key=lambda item: item[0].startswith("keys/")))


def attention_makers(
    measurement: PassageMeasurement,
) -> Iterator[tuple[str, Callable[[], dict]]]:
    """Every shard that `write_attention` writes: its name, and what makes it.

    What is made raises ReportError as `write_heads`.
    """

    @functools.lru_cache(maxsize=KEPT)
    def made(layer, place):
        return _datasets(_heads(measurement, jobs(layer)[place]))

    jobs = functools.cache(partial(_jobs, measurement))
    layers, heads = measurement.largest_targets.shape[:2]
    for layer in range(layers):
        for head in range(heads):
            file = name(layer, head)
            yield (
                file,
                lambda layer=layer, head=head, file=file: made(
                    layer, next(n for n, job in enumerate(jobs(layer)) if head in job.heads)
                )[file],
            )
        for place, job in enumerate(jobs(layer)):
            if job.key_head is not None:
                file = sides.name(layer, job.key_head)
                yield file, lambda layer=layer, place=place, file=file: made(layer, place)[file]


def name(layer: int, head: int) -> str:
    """Name of a shard within its folder of datasets."""
    return f"attention/{layer}/{head}.json"


def write_heads(folder: Path, heads: Group | Head) -> dict[str, dict]:
    """Write one head by its cells, or the heads of a group and their keys.

    returns: "bytes" and "sha256" of each file
    raises: ReportError as `fitting.encode` and `Folder.write`
    """
    datasets = _datasets(heads).items()
    return {name: write_dataset(folder / name, data) for name, data in datasets}


def _datasets(heads):
    """Name -> dataset, of heads that are written together; their keys come first."""
    of_keys, shards = _encoded(heads)
    return {sides.name(key["layer"], key["key_head"]): key for key in of_keys} | {
        name(shard["layer"], shard["head"]): shard for shard in shards
    }


def _encoded(heads):
    """The datasets of the keys, if there are any, and of the heads."""
    if isinstance(heads, Head):
        return [], [fitting.encode_cells(heads)]
    of_keys, shards = fitting.encode(heads)
    return [of_keys], shards


def attention_datasets(
    measurement: PassageMeasurement, layer: int, head: int
) -> list[tuple[dict, int]]:
    """The datasets of one head as they are written, each with how many heads share it.

    raises: ReportError as `write_heads`
    """
    job = next(job for job in _jobs(measurement, layer) if head in job.heads)
    of_keys, shards = _encoded(_heads(measurement, replace(job, heads=[head])))
    return [(shards[0], 1), *((key, len(job.heads)) for key in of_keys)]


def scores_dataset(measurement: PassageMeasurement, layer: int, head: int) -> dict:
    """The attention/4 dataset of one head by its scores alone, cell by cell: of a short text that
    is less than its queries and keys, and needs no other file.

    raises: ReportError as `fitting.encode_cells`
    """
    score = DecodedTerm("score", "cell", measurement.score(layer, head))
    return fitting.encode_cells(
        head_of_cells(
            layer,
            head,
            [score],
            measurement.probability(layer, head),
            measurement.marker_count[layer, head],
            measurement.largest_targets[layer, head],
            _softmax(measurement, layer, head),
        )
    )


def _arguments(folder, measurement, job):
    """The arguments of `write_heads`."""
    return folder, _heads(measurement, job)


def _heads(measurement, job):
    """What is written of some heads, without anything of the libraries that measured."""
    layer = job.layer
    if job.rotation is not None:
        return group_of(measurement, layer, job.key_head, job.heads, job.rotation)
    (head,) = job.heads
    return head_of_cells(
        layer,
        head,
        measurement.terms(layer, head),
        measurement.probability(layer, head),
        measurement.marker_count[layer, head],
        measurement.largest_targets[layer, head],
        _softmax(measurement, layer, head),
    )
