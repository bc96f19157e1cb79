"""Which heads are written as queries and keys, and what of a measurement that takes.

Queries and keys are T x components numbers, cells T x T / 2. So a short passage is written cell by
cell. Without a rotation `attention.encode` writes products as well, which keep terms more exactly;
so these are heads of queries and keys only in passages so long that a browser should not work out
all cells at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from report.datasets.formats.group import Group
from report.datasets.formats.measured import PassageMeasurement
from report.datasets.formats.rotation import NONE, Rotation, found
from report.datasets.formats.visible import Visible
from report.datasets.write.softmax import softmax_of

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
