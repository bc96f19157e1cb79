"""What patching heads between two prompts does, and what heads read of earlier parts: tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.errors import ReportError

if TYPE_CHECKING:
    from report.effects.patching import Patched
    from report.effects.paths import Into

FILE = "pair.json"

STEP = 0.0001
"""Unit of stored shares; a value is off by at most half of it."""

LEAST = 0.0005
"""Edges of smaller shares are left out."""

SHARE = "share of the way from the corrupted run to the clean one"

AT_TOKEN = {
    "restored": "what comes back of the clean run with the head's clean output in the corrupted "
    "one, at that token",
    "lost": "what is lost of the clean run with the head's corrupted output in it, at that token",
}
"""Column of the table of tokens -> description."""

HEADS = {
    "restored": "the same as of single tokens, at all of them at once",
    "lost": "the same as of single tokens, at all of them at once",
    "zero": "what is lost of the clean run with zeros in place of the head's output",
    "mean": "what is lost of the clean run with the head's mean output over other texts",
}
"""Column of the table of heads -> description."""

CHANNELS = {"Q": "queries", "K": "keys", "V": "values", "all": "queries, keys and values"}
"""By which a head reads -> description."""


def encode(
    start: int,
    patched: Patched,
    ablated: Mapping[str, np.ndarray],
    receivers: Sequence[Into],
    matched: Sequence[Into],
) -> dict:
    """The table/1 dataset of a pair of prompts.

    start: the first token that differs
    ablated: "zero" and "mean" -> [layers, heads], shares of the clean run that are lost
    receivers: heads whose edges are drawn; matched: random heads of the same layers
    """
    number = patched.restored.shape[2] - start
    of_heads = {"restored": patched.all_restored, "lost": patched.all_lost} | dict(ablated)
    layers, heads = patched.all_restored.shape
    at = np.indices((layers, heads, number)).reshape(3, -1)
    each = np.indices((layers, heads)).reshape(2, -1)
    shares = {name: getattr(patched, name)[:, :, start:].ravel() for name in AT_TOKEN}
    told = [*((one, 0) for one in receivers), *((one, 1) for one in matched)]
    return columnar.encode(
        {
            "tokens": _places(*at[:2])
            | {"token": Column("which token", "index from 0", at[2] + start)}
            | {
                name: Column(description, SHARE, shares[name], STEP)
                for name, description in AT_TOKEN.items()
            },
            "heads": _places(*each)
            | {
                name: Column(description, SHARE, np.ravel(of_heads[name]), STEP)
                for name, description in HEADS.items()
            },
            "receivers": _receivers(told),
            "edges": _edges(told),
        }
    )


def _places(layer, head):
    return {
        "layer": Column("layer", "index from 0", layer),
        "head": Column("head", "index from 0", head),
    }


def _receivers(told):
    of = [one for one, _ in told]
    return (
        _places([one.layer for one in of], [one.head for one in of])
        | {
            "matched": Column(
                "whether it is a random head of a receiver's layer, to compare with",
                "1 or 0",
                [other for _, other in told],
            ),
            "senders": Column(
                "parts before its layer that write something else in the clean run",
                "number",
                [int(one.edges.any(0).sum()) for one in of],
            ),
        }
        | {
            name: Column(
                f"what comes back if it reads all of the clean run by its {words}",
                SHARE,
                np.array([one.whole[place] for one in of]),
                STEP,
            )
            for place, (name, words) in enumerate(CHANNELS.items())
        }
    )


def _edges(told):
    rows = [
        (one.layer, one.head, other, part.kind, part.layer, part.head, name, edge)
        for one, other in told
        for name, edges in zip(CHANNELS, one.edges, strict=False)
        for part, edge in zip(one.senders, edges, strict=True)
        if abs(edge) >= LEAST
    ]
    layer, head, other, kind, from_layer, from_head, channel, edge = (
        zip(*rows, strict=True) if rows else [()] * 8
    )
    none = [-1 if place is None else place for place in from_layer]
    no_head = [-1 if place is None else place for place in from_head]
    return _places(layer, head) | {
        "matched": Column("whether the receiver is a random head", "1 or 0", other),
        "from": Column("which kind of part writes", "text", kind),
        "from_layer": Column("its layer; -1 for the embedding", "index from 0", none),
        "from_head": Column("its head; -1 where it is none", "index from 0", no_head),
        "by": Column("what the receiver reads it by: Q, K or V", "text", channel),
        "edge": Column(
            f"what comes back by that path alone, where it is {LEAST} or more", SHARE, edge, STEP
        ),
    }


def decode(
    table: Mapping[str, Any], layers: int, heads: int, tokens: int
) -> dict[str, dict[str, np.ndarray]]:
    """Table name -> column -> array, checked.

    heads: of a layer; tokens: from the first that differs on
    raises: ReportError if a table or a column is missing, or has other rows than that
    """
    tables = columnar.decode(table)
    wanted = {
        "tokens": {"layer", "head", "token", *AT_TOKEN},
        "heads": {"layer", "head", *HEADS},
        "receivers": {"layer", "head", "matched", "senders", *CHANNELS},
        "edges": {"layer", "head", "matched", "from", "from_layer", "from_head", "by", "edge"},
    }
    for name, columns in wanted.items():
        odd = sorted(columns ^ tables.get(name, {}).keys())
        if odd:
            raise ReportError(f"table {name!r} has other columns than it should: {odd[0]!r}")
    for name, shape in (("tokens", (layers, heads, tokens)), ("heads", (layers, heads))):
        expected = np.indices(shape)[:2].reshape(2, -1)
        found = np.array([tables[name]["layer"], tables[name]["head"]])
        if found.shape != expected.shape or (found != expected).any():
            raise ReportError(f"table {name!r} is not of {layers} layers of {heads} heads")
    return tables
