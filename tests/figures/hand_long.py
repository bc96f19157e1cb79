"""A passage of 2,048 tokens read by one layer of two made heads: what it costs a page to be long.

Scores are ALiBi and a product of four numbers a token, so that any cell can be worked out by
itself, and tests need not read the file to know what it should say.
"""

import functools
from types import SimpleNamespace

import numpy as np

from report.datasets import store
from report.datasets.formats import attention, fitting, passage
from report.datasets.formats.attention import Softmax
from report.datasets.formats.group import Group
from report.datasets.formats.rotation import NONE, Rotation
from report.kinds.passage.data import PassageData
from tests.figures import hand_made

LENGTH, HEADS = 2048, 2
RARE = 1900, 77
"""A cell, current and target token, that gets nearly all of its row, alone among low ones."""


def study(folder):
    """`PassageData` over files in `folder`."""
    for head in range(HEADS):
        _write(folder, _group(head))
    return _with_manifest(folder, "alibi")


def rotary_study(folder):
    """The same of two heads that rotate what they read and share their keys, and the probabilities
    of their files, [head, query, key]."""
    of_keys, shards = _write(folder, _rotary_group())
    given = [attention.decode(shard | {"keys": of_keys}).probability for shard in shards]
    return _with_manifest(folder, "rotary"), given


def _write(folder, group):
    store.write(folder / "passage.json", _passage())
    of_keys, shards = fitting.encode(group)
    store.write(folder / shards[0]["keys"], of_keys)
    for shard in shards:
        store.write(folder / "attention" / "0" / f"{shard['head']}.json", shard)
    return of_keys, shards


def _with_manifest(folder, kind):
    manifest = hand_made.manifest(hand_made.KINDS[kind])
    manifest["model"] |= {
        "num_hidden_layers": 1,
        "layers_measured": 1,
        "num_attention_heads": HEADS,
    }
    manifest["passage"]["tokens"] = LENGTH
    store.write(folder / "manifest.json", store.sealed(manifest))
    return PassageData(folder)


def words():
    """The text of every token, all different."""
    return [f" w{number}" for number in range(LENGTH)]


@functools.cache
def sides(head):
    """Queries and keys, float64 [token, component]."""
    rng = np.random.default_rng(head)
    queries, keys = (np.pad(side, ((0, 0), (0, 1))) for side in rng.normal(0, 1.2, (2, LENGTH, 3)))
    current, target = RARE
    queries[current, 3] = keys[target, 3] = (60 - queries[current] @ keys[target]) ** 0.5
    return queries, keys


@functools.cache
def scores(head):
    """The two terms of every visible cell, float64 [query, key]: content and position."""
    queries, keys = sides(head)
    places = np.arange(LENGTH)
    return queries @ keys.T, -SLOPE * (places[:, None] - places)


SLOPE = 0.01


@functools.cache
def probability(head):
    """[query, key], the softmax of `scores`, 0 where nothing is visible."""
    score = np.where(np.tri(LENGTH, dtype=bool), sum(scores(head)), -np.inf)
    weight = np.exp(score - score.max(1, keepdims=True))
    return weight / weight.sum(1, keepdims=True)


def _passage():
    pieces = [{"id": n, "text": word} for n, word in enumerate(words())]
    about = {"name": "hand", "title": "By hand", "source": "", "licence": "CC0", "language": "en"}
    return passage.encode(SimpleNamespace(**about), pieces)


def _group(head):
    """One head that has a key head of its own."""
    queries, keys = sides(head)
    given = probability(head)
    order = np.argpartition(-given, 10, axis=1)[:, :11]
    largest = np.take_along_axis(order, np.argsort(-np.take_along_axis(given, order, 1)), 1)
    largest[largest > np.arange(LENGTH)[:, None]] = -1
    known = np.where(largest >= 0, np.take_along_axis(given, largest, 1), 0)
    count = np.minimum(
        (np.cumsum(known, 1) < 0.5).sum(1) + 1, np.minimum(np.arange(LENGTH) + 1, 11)
    )
    return Group(
        layer=0,
        key_head=head,
        heads=[head],
        rotation=NONE,
        queries=queries[None],
        keys=keys,
        rotated_queries=queries[None],
        rotated_keys=keys,
        query_bias=None,
        key_bias=None,
        with_row_constant=False,
        largest_targets=largest[None],
        marker_count=count[None],
        softmaxes=[Softmax()],
        alibi=SLOPE * np.arange(LENGTH)[None],
    )


def _rotary_group():
    """Two heads of one key head, of four components in two pairs that turn."""
    rng = np.random.default_rng(7)
    rotation = Rotation(np.array([[0, 1], [2, 3]]), np.array([0.3, 0.002]))
    queries = rng.normal(0.4, 1, (HEADS, LENGTH, 4))
    keys = rng.normal(0.4, 1, (LENGTH, 4))
    turning = np.exp(1j * np.arange(LENGTH)[:, None] * rotation.frequencies)

    def turned(plain):
        pairs = (plain[..., ::2] + 1j * plain[..., 1::2]) * turning
        return np.stack([pairs.real, pairs.imag], -1).reshape(plain.shape)

    rotated = turned(queries), turned(keys)
    seen = np.tri(LENGTH, dtype=bool)
    scores = np.where(seen, rotated[0] @ rotated[1].T, -np.inf)
    largest = np.argsort(-scores, axis=2, kind="stable")[:, :, :11]
    largest[np.broadcast_to(largest > np.arange(LENGTH)[:, None], largest.shape)] = -1
    return Group(
        layer=0,
        key_head=0,
        heads=range(HEADS),
        rotation=rotation,
        queries=queries,
        keys=keys,
        rotated_queries=rotated[0],
        rotated_keys=rotated[1],
        query_bias=None,
        key_bias=None,
        with_row_constant=False,
        largest_targets=largest,
        marker_count=np.minimum(np.arange(LENGTH) + 1, 3)[None].repeat(HEADS, 0),
        softmaxes=[Softmax()] * HEADS,
    )
