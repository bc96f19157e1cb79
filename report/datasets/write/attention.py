"""Writes the attention of heads, one shard a head: for articles about a passage or a table.

Queries and keys are T x components numbers, cells T x T / 2. So a short passage is written cell by
cell. Without a rotation `attention.encode` writes products as well, which keep terms more exactly;
so these are heads of queries and keys only in passages so long that a browser should not work out
all cells at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import attention, fitting, keys
from report.datasets.formats.fields import Fields
from report.datasets.formats.group import Group
from report.datasets.formats.rotation import NONE, Rotation, found
from report.datasets.formats.visible import Visible
from report.datasets.write import processes
from report.datasets.write.folder import Folder, write_dataset
from report.datasets.write.softmax import softmax_of
from report.files import own_folder

if TYPE_CHECKING:
    from report.measurements.passage import PassageMeasurement

LONG = 200_000
"""Cells up to which a head that does not rotate is written by its cells: a browser then draws its
map at once, without a worker (isMany in raster.js)."""


PLACED = 2_200_000
"""The same of a first layer whose positions are told apart, which takes its cells: about those of a
causal passage of 2,048 tokens. In longer ones, its terms are not told apart."""


@dataclass(frozen=True)
class Groups:
    """The heads of a layer that are written as queries and keys."""

    heads: list[range]
    """Of each key head."""
    rotation: Rotation


def groups(measurement: PassageMeasurement, layer: int) -> Groups | None:
    """The heads of each key head of a layer, or None if its heads are written by their cells."""
    factors = measurement.factors[layer]
    if not hasattr(factors, "query"):  # nothing but scores is known
        return None
    heads, length, components = factors.query.shape
    visible = Visible.of(measurement.visible(layer), length)
    plain = factors.unrotated_query is None or factors.position is not None
    most = LONG if factors.query_place is None else PLACED
    if not shorter(visible.count, length, components) or (plain and visible.count <= most):
        return None
    turned = rotation(factors)
    size, kept = heads // len(factors.key), measurement.largest_targets.shape[1]
    some = [range(n, min(n + size, kept)) for n in range(0, kept, size)]
    return turned and Groups(some, turned)


def shorter(cells: int, length: int, components: int) -> bool:
    """Whether queries and keys take fewer bytes than cells: about one a number, and two a cell."""
    return cells >= length * components


def rotation(factors) -> Rotation | None:
    """How a layer rotates, or None if it is no rotation of pairs that grows with the place.

    It is found from one head's queries and one head's keys: all heads of a layer have one rotation.
    """
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
    """What is written of some heads that share a key head; turned: the rotation of the layer."""
    factors, some = measurement.factors[layer], slice(heads[0], heads[-1] + 1)
    query_bias, key_bias = _array(factors.query_bias), _array(factors.key_bias)
    turns = factors.unrotated_query is not None
    plain = ("unrotated_query", "unrotated_key") if turns else ("query", "key")
    queries, keys = (_array(getattr(factors, name)) for name in plain)
    queries, keys = queries[some], keys[key_head]
    scale = np.float32(factors.scale)
    if query_bias is not None:
        query_bias = query_bias[some]
        queries = queries.astype(float) - query_bias[:, None]  # large ones lose digits in float32
    if key_bias is not None:
        key_bias = key_bias[key_head]
        keys = keys.astype(float) - key_bias
    return Group(
        layer=layer,
        key_head=key_head,
        heads=list(heads),
        rotation=turned,
        queries=scale * queries,
        keys=keys,
        rotated_queries=scale * _array(factors.query)[some],
        rotated_keys=_array(factors.key)[key_head],
        query_bias=None if query_bias is None else scale * query_bias,
        key_bias=key_bias,
        with_row_constant=factors.softcap is not None or factors.sink is not None,
        largest_targets=measurement.largest_targets[layer, some],
        marker_count=measurement.marker_count[layer, some],
        softmaxes=[softmax_of(measurement, layer, head) for head in heads],
        alibi=None if factors.position is None else _array(factors.position)[some],
        plain="mixed" if factors.mixed else "content",
    )


def _array(tensor):
    """A tensor of the libraries that measured as a numpy array."""
    return None if tensor is None else np.asarray(tensor, dtype=np.float32)


CELLS_OF_A_START = 4_000_000
"""Fewer cells (heads x queries x keys) are written before a second process has started."""

BYTES_OF_A_CELL = 150
"""About what one head takes while it is encoded: a dozen and a half arrays of float64."""

BYTES_OF_A_ROW = 40_000
"""The same of a head that is written as queries and keys: each of its arrays has some hundred rows
at a time, so this is for each key."""


@dataclass(frozen=True)
class _Job:
    """Heads of a layer that are written together."""

    layer: int
    heads: Sequence[int]
    key_head: int | None
    """Whose queries and keys are written; None: each head is written by its cells."""
    rotation: Rotation | None = None


@dataclass(frozen=True)
class Written:
    """The shards of all heads, written elsewhere, in place of a measurement's factors."""

    files: dict[str, bytes]
    fields: list[Fields]
    """Of each layer."""


def written(measurement: PassageMeasurement, most: int) -> Written:
    """What `write_attention` writes, to be sent to another machine: a tenth of the factors.

    most: processes
    raises: ReportError as `write_attention`
    """
    with own_folder("attention") as path:
        folder = Folder(path)
        fields = write_attention(folder, measurement, most=most)
        return Written({name: (folder.path / name).read_bytes() for name in folder.files}, fields)


def write_attention(
    files: Folder,
    measurement: PassageMeasurement,
    progress: Callable[[int, int], object] | None = None,
    most: int | None = None,
) -> list[Fields]:
    """Write the shards of all heads, in as many processes as there are processors.

    progress: called with (done, total) after each layer
    most: processes; None: no limit
    returns: the fields of each layer's shards, as the heads of a layer have the same
    raises: ReportError as `Folder.write`
    """
    if isinstance(measurement.factors, Written):
        for name, content in measurement.factors.files.items():
            files.write_bytes(name, content)
        return measurement.factors.fields
    layers, heads, length = measurement.largest_targets.shape[:3]
    planned = list(_planned(measurement))
    by_cells = any(job.key_head is None for job in planned)
    memory = BYTES_OF_A_CELL * length**2 if by_cells else BYTES_OF_A_ROW * length
    enough = layers * heads * length**2 >= CELLS_OF_A_START
    number = min(processes.number(memory), most or len(planned)) if enough else 1
    jobs = (partial(_arguments, files.path, measurement, job) for job in planned)
    of_layers, written = [], {}
    with processes.calls(write_heads, jobs, min(number, len(planned))) as done:
        for job, (facts, fields) in zip(planned, done, strict=True):
            written |= facts
            if job.heads[-1] == heads - 1:
                of_layers.append(fields)
                if progress:
                    progress(job.layer + 1, layers)
    # the heads first, whose sizes tell what a reader fetches at a step
    files.files |= dict(sorted(written.items(), key=lambda item: item[0].startswith("keys/")))
    return of_layers


def _planned(measurement: PassageMeasurement) -> Iterator[_Job]:
    """Which heads are written together, layer after layer."""
    layers, heads = measurement.largest_targets.shape[:2]
    for layer in range(layers):
        found = groups(measurement, layer)
        if found is None:
            yield from (_Job(layer, [head], None) for head in range(heads))
        else:
            for key_head, some in enumerate(found.heads):
                yield _Job(layer, some, key_head, found.rotation)


def name(layer: int, head: int) -> str:
    """Name of a shard within its folder of datasets."""
    return f"attention/{layer}/{head}.json"


def write_heads(folder: Path, parts: dict | Group) -> tuple[dict[str, dict], Fields]:
    """Write one head, or the heads of a group and their keys.

    parts: arguments of `attention.encode`, or a group
    returns: "bytes" and "sha256" of each file, and the fields of a shard
    raises: ReportError as `attention.encode`, `fitting.encode` and `Folder.write`
    """
    if isinstance(parts, Group):
        of_keys, shards = fitting.encode(parts)
        datasets = {keys.name(parts.layer, parts.key_head): of_keys}
    else:
        datasets, shards = {}, [attention.encode(**parts)]
    datasets |= {name(shard["layer"], shard["head"]): shard for shard in shards}
    facts = {name: write_dataset(folder / name, data) for name, data in datasets.items()}
    return facts, Fields.of(shards[0])


def attention_shard(measurement: PassageMeasurement, layer: int, head: int) -> dict:
    """The attention/3 dataset of one head; ReportError as `attention.encode`."""
    return attention.encode(**_parts(measurement, layer, head))


def attention_datasets(
    measurement: PassageMeasurement, layer: int, head: int
) -> list[tuple[dict, int]]:
    """The datasets of one head as they are written, each with how many heads share it.

    raises: ReportError as `write_heads`
    """
    found = groups(measurement, layer)
    if found is None:
        return [(attention_shard(measurement, layer, head), 1)]
    key_head, heads = next((n, heads) for n, heads in enumerate(found.heads) if head in heads)
    group = group_of(measurement, layer, key_head, [head], found.rotation)
    of_keys, shards = fitting.encode(group)
    return [(shards[0], 1), (of_keys, len(heads))]


def _arguments(folder, measurement, job):
    """The arguments of `write_heads`."""
    if job.key_head is None:
        return folder, _parts(measurement, job.layer, *job.heads)
    return folder, group_of(measurement, job.layer, job.key_head, job.heads, job.rotation)


def _parts(measurement, layer, head):
    """The arguments of `attention.encode`, without anything of the libraries that measured."""
    return {
        "layer": layer,
        "head": head,
        "terms": [
            attention.PlainTerm(term.name, term.per, term.values, term.pair)
            for term in measurement.terms(layer, head)
        ],
        "probability": measurement.probability(layer, head),
        "marker_count": measurement.marker_count[layer, head],
        "largest_targets": measurement.largest_targets[layer, head],
        "softmax": softmax_of(measurement, layer, head),
    }
