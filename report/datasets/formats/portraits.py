"""Portraits of heads over many texts (table/1): how far they look, at which tokens, and texts."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.passage import token_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from report.measurements.portraits import Portraits

FILE = "portraits.json"

STEP = 0.0001

MANY = 3
"""Texts that have a token, at least, for it to be named."""

NAMED = 8
"""Tokens of a head that are named, on each side."""

STRONGER_THAN = (90, 70, 50, 30, 10)
"""Per cent of the texts of the sample that a shown text is stronger than, about, the best apart."""


def encode(
    portraits: Portraits,
    words: Mapping[int, Mapping[str, str]],
    examples: bool,
    parts: Mapping[int, Mapping[int, str]],
) -> dict:
    """The table/1 dataset.

    words: token id -> its "text", and its "bytes" where that is not whole characters
    examples: whether tokens and texts are in it
    parts: number of a text -> place of a token -> which part of which character it is
    """
    layers, heads = portraits.layers, portraits.heads
    bins = len(portraits.starts) + 1
    layer, head = (index.ravel() for index in np.indices((layers, heads)))
    even = np.broadcast_to(portraits.even, portraits.distances.shape)
    tables = {
        "distances": _of_heads(np.repeat(layer, bins), np.repeat(head, bins))
        | {
            "distance": Column(
                "the smallest distance of the bin; -1 for the first token of the text",
                "tokens",
                np.tile([-1, *portraits.starts], layers * heads),
            ),
            "share": Column(
                "mean probability on the targets of the bin",
                "0 to 1",
                portraits.distances.ravel() * portraits.unit / portraits.rows,
                STEP,
            ),
            "even": Column(
                "the same of even attention over what is visible",
                "0 to 1",
                even.ravel() * portraits.unit / portraits.rows,
                STEP,
            ),
        }
    }
    if examples:
        tables |= _tokens(portraits) | _texts(portraits, parts)
        listed = sorted({*tables["tokens"]["token"].values, *tables["ids"]["token"].values})
        tables["words"] = {
            "token": Column("token", "id", listed),
            "text": Column("what stands for it", "text", [label(words[each]) for each in listed]),
        }
    return columnar.encode(tables)


def label(word: Mapping[str, str]) -> str:
    """The text of a token, or "⟨e2 80⟩" where it is not whole characters; word: as of `encode`."""
    return token_label("", word["bytes"]) if "bytes" in word else word["text"]


def _of_heads(layer, head):
    return {
        "layer": Column("layer, in the model's order", "index from 0", layer),
        "head": Column("head, in the model's order", "index from 0", head),
    }


def _tokens(portraits):
    """The tokens that each head looks at, or is strong at, beyond their frequency."""
    layers, heads = portraits.layers, portraits.heads
    ids = np.array(sorted(portraits.tokens), int)
    counted = np.array([portraits.tokens[token] for token in ids.tolist()], np.int64)
    counted = counted.reshape(len(ids), 2 + layers + 2 * layers * heads)
    texts, number = counted[:, 0], counted[:, 1]
    even = np.repeat(counted[:, 2 : 2 + layers] * portraits.unit, heads, axis=1)
    gets, strong = np.split(counted[:, 2 + layers :] * portraits.unit, 2, axis=1)
    share, expected = (part / np.maximum(part.sum(0), portraits.unit) for part in (gets, even))
    mean = strong.sum(0) / max(1, number.sum())
    at = strong / np.maximum(number, 1)[:, None]
    excess = strong - number[:, None] * mean
    rows: dict[str, list] = {name: [] for name in ("head", "side", "place", "value", "usual")}
    for head in range(layers * heads):
        for side, by, value, usual in (
            ("to", share[:, head] - expected[:, head], share[:, head], expected[:, head]),
            ("from", excess[:, head], at[:, head], np.full(len(ids), mean[head])),
        ):
            order = np.argsort(-by, kind="stable")
            chosen = [n for n in order if texts[n] >= MANY and by[n] > 0][:NAMED]
            rows["head"] += [head] * len(chosen)
            rows["side"] += [side] * len(chosen)
            rows["place"] += chosen
            rows["value"] += value[chosen].tolist()
            rows["usual"] += usual[chosen].tolist()
    place = np.array(rows["place"], int)
    layer, head = np.divmod(np.array(rows["head"], int), heads)
    return {
        "tokens": _of_heads(layer, head)
        | {
            "side": Column(
                "to: tokens that get attention; from: that give it", "text", rows["side"]
            ),
            "token": Column("token", "id", ids[place].tolist()),
            "texts": Column("texts that have it after their first token", "texts", texts[place]),
            "number": Column("how often they have it", "tokens", number[place]),
            "value": Column(
                "to: share of all attention that goes to it, where the first token of a text is "
                "left out; from: mean of the largest probability that it gives to another token "
                "than the first",
                "0 to 1",
                rows["value"],
                STEP,
            ),
            "usual": Column(
                "to: the share that even attention would give; from: the mean over all tokens",
                "0 to 1",
                rows["usual"],
                STEP,
            ),
        }
    }


def _texts(portraits, parts):
    """The texts that each head is shown with, and how strong it is in all those of the sample."""
    sample = sorted(portraits.sample)
    chosen, scores = [], []
    for place in range(portraits.layers * portraits.heads):
        of = np.array([portraits.readings[number][place].score for number in sample], np.int64)
        scores.append(of)
        for best, number in _chosen(portraits, place, sample, of):
            weaker = of < portraits.readings[number][place].score
            chosen.append((place, best, round(100 * float(weaker.mean())), number))
    shown = np.array(chosen, int).reshape(-1, 4)
    readings = [portraits.readings[number][place] for place, *_, number in chosen]
    spans = _spans(chosen, readings)
    layer, head = np.divmod(shown[:, 0], portraits.heads)
    score = "mean over tokens of the largest probability on another token than the first"
    return {
        "examples": _of_heads(layer, head)
        | {
            "best": Column("place among all texts; 0: not among the best", "rank", shown[:, 1]),
            "above": Column("texts of the sample that are weaker", "per cent", shown[:, 2]),
            "text": Column("number of the text", "index from 0", shown[:, 3]),
            "score": Column(
                score, "0 to 1", [each.score * portraits.unit for each in readings], STEP
            ),
            "start": Column("its first token here", "index from 0", [e.start for e in readings]),
            "tokens": Column("how many are here", "tokens", [len(e.target) for e in readings]),
        },
        "looks": {
            "strength": Column(
                "of each token of each example: the largest probability on another than the first",
                "per cent",
                _joined(readings, "strength"),
            ),
            "target": Column(
                "that token; -1 where there is none", "index from 0", _joined(readings, "target")
            ),
        },
        "sample": {"text": Column("numbers of texts", "index from 0", sample)},
        "scores": {
            "score": Column(
                f"{score}, of each head a row for each text of the sample",
                "0 to 1",
                np.concatenate(scores) * portraits.unit,
                STEP,
            )
        },
    } | _shown(portraits, parts, spans)


def _shown(portraits, parts, spans):
    """The tokens of the texts that heads are shown with, and which are parts of characters."""
    used = [portraits.texts[number][first:last] for number, (first, last) in spans.items()]
    parted = [
        (number, place, part)
        for number, (first, last) in spans.items()
        for place, part in parts.get(number, {}).items()
        if first <= place < last
    ]
    return {
        "texts": {
            "text": Column("number of a text", "index from 0", [*spans]),
            "start": Column(
                "its first in ids", "index from 0", [first for first, _ in spans.values()]
            ),
            "tokens": Column("its tokens in ids", "tokens", [*map(len, used)]),
        },
        "ids": {"token": Column("tokens of texts", "id", [*chain.from_iterable(used)])},
        "parts": {
            "text": Column("number of a text", "index from 0", [each[0] for each in parted]),
            "place": Column("a token of it", "index from 0", [each[1] for each in parted]),
            "part": Column("which part of a character it is", "text", [e[2] for e in parted]),
        },
    }


def _chosen(portraits, place, sample, scores):
    """(place among the best or 0, number) of the texts that a head is shown with."""
    best = portraits.best(*divmod(place, portraits.heads))
    chosen = {number: rank for rank, number in enumerate(best, 1)}
    order = np.argsort(scores, kind="stable")
    for per_cent in STRONGER_THAN if sample else ():
        chosen.setdefault(sample[order[round(per_cent / 100 * (len(order) - 1))]], 0)
    return [(rank, number) for number, rank in chosen.items()]


def _spans(shown, readings):
    """Number of a text -> the tokens of it that examples show, from and to, in order."""
    spans: dict[int, tuple[int, int]] = {}
    for (*_, number), reading in zip(shown, readings, strict=True):
        first, last = reading.start, reading.start + len(reading.target)
        low, high = spans.get(number, (first, last))
        spans[number] = min(low, first), max(high, last)
    return dict(sorted(spans.items()))


def _joined(readings, name):
    return np.concatenate([np.zeros(0, int), *(getattr(each, name) for each in readings)])
