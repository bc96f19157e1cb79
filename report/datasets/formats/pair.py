"""What patching heads between two prompts does, and what heads read of earlier parts: tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

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

ERROR, OF_ERROR = "{}_error", "its standard error over pairs"
"""Name of the column beside one of a set's shares, and what it is."""

CHANNELS = {"Q": "queries", "K": "keys", "V": "values", "all": "queries, keys and values"}
"""By which a head reads -> description."""


Shares = tuple["Patched", Mapping[str, np.ndarray], Sequence["Into"], Sequence["Into"]]
"""What was patched; "zero" and "mean" -> [layers, heads], shares of the clean run that are lost;
heads whose edges are drawn; random heads of the same layers."""


def encode(start: int, means: Shares, errors: Shares | None = None) -> dict:
    """The table/1 dataset of a pair of prompts, or of a set of pairs.

    start: the first token that differs
    means: of all pairs; errors: standard errors of the same, None of a single pair
    """
    patched, receivers = means[0], means[2:]
    number = patched.restored.shape[2] - start
    layers, heads = patched.all_restored.shape
    at = np.indices((layers, heads, number)).reshape(3, -1)
    each = np.indices((layers, heads)).reshape(2, -1)

    def at_token(shares, name):
        return getattr(shares[0], name)[:, :, start:].ravel()

    def of_head(shares, name):
        return np.ravel(getattr(shares[0], f"all_{name}", shares[1].get(name)))

    told = [(one, other) for other, heads in enumerate(receivers) for one in heads]
    off = [one for heads in errors[2:] for one in heads] if errors else None
    return columnar.encode(
        {
            "tokens": _places(*at[:2])
            | {"token": Column("which token", "index from 0", at[2] + start)}
            | _shares(AT_TOKEN, at_token, means, errors),
            "heads": _places(*each) | _shares(HEADS, of_head, means, errors),
            "receivers": _receivers(told, off),
            "edges": _edges(told, off),
        }
    )


def _shares(columns, values, means, errors):
    """A column of each, and where there are standard errors one of these."""
    found = {
        name: Column(description, SHARE, values(means, name), STEP)
        for name, description in columns.items()
    }
    if errors:
        found |= {
            ERROR.format(name): Column(f"{name}: {OF_ERROR}", SHARE, values(errors, name), STEP)
            for name in columns
        }
    return found


def _places(layer, head):
    return {
        "layer": Column("layer", "index from 0", layer),
        "head": Column("head", "index from 0", head),
    }


def _receivers(told, off):
    of = [one for one, _ in told]
    columns = {
        name: f"what comes back if it reads all of the clean run by its {words}"
        for name, words in CHANNELS.items()
    }

    def whole(heads, name):
        return np.array([one.whole[list(CHANNELS).index(name)] for one in heads])

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
        | _shares(columns, whole, of, off)
    )


def _edges(told, off):
    kept = [
        (place, by, sender)
        for place, (one, _) in enumerate(told)
        for by, edges in enumerate(one.edges)
        for sender, edge in enumerate(edges)
        if abs(edge) >= LEAST
    ]
    of = [told[place] for place, _, _ in kept]
    senders = [told[place][0].senders[sender] for place, _, sender in kept]

    def edge(heads, _):
        return np.array([heads[place].edges[by, sender] for place, by, sender in kept])

    said = f"what comes back by that path alone, where it is {LEAST} or more"
    return (
        _places([one.layer for one, _ in of], [one.head for one, _ in of])
        | {
            "matched": Column(
                "whether the receiver is a random head", "1 or 0", [other for _, other in of]
            ),
            "from": Column("which kind of part writes", "text", [part.kind for part in senders]),
            "from_layer": Column(
                "its layer; -1 for the embedding", "index from 0", [_or(s.layer) for s in senders]
            ),
            "from_head": Column(
                "its head; -1 where it is none", "index from 0", [_or(s.head) for s in senders]
            ),
            "by": Column(
                "what the receiver reads it by: Q, K or V",
                "text",
                [list(CHANNELS)[by] for _, by, _ in kept],
            ),
        }
        | _shares({"edge": said}, edge, [one for one, _ in told], off)
    )


def _or(place):
    return -1 if place is None else place


def decode(
    table: dict, layers: int, heads: int, tokens: range, errors: bool = False
) -> dict[str, dict[str, np.ndarray]]:
    """Table name -> column -> array, checked.

    heads: of a layer; tokens: from the first that differs on; errors: whether shares have standard
        errors
    raises: ReportError if a table or a column is missing, or has other rows than that
    """
    of_heads = {"layer": layers, "head": heads}
    wanted = {
        "tokens": {"layer", "head", "token", *AT_TOKEN},
        "heads": {"layer", "head", *HEADS},
        "receivers": {"layer", "head", "matched", "senders", *CHANNELS},
        "edges": {"layer", "head", "matched", "from", "from_layer", "from_head", "by", "edge"},
    }
    shares = {*AT_TOKEN, *HEADS, *CHANNELS, "edge"} if errors else set()
    for columns in wanted.values():
        columns |= {ERROR.format(share) for share in columns & shares}
    counted = {"tokens": {**of_heads, "token": tokens}, "heads": of_heads}
    return columnar.decode_known(table, wanted, counted)
