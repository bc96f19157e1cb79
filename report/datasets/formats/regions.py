"""Attention between the regions of a text, what they receive, and what ablations do: tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

if TYPE_CHECKING:
    from report.measurements.regions import Received

FILE, MAP = "regions.json", "regions/{layer}.json"
"""Of all heads; and the maps of those of a layer."""

HEAD = "head_{}"
"""Column of a map: what one head gives."""

FAR = 4
"""How many regions later those are, at least, from which received attention is counted."""

STEP = 0.0001
"""Unit of stored numbers; a value is off by at most half of it."""

SHARES = {
    "same": "probability on its own region",
    "first": "probability on first tokens of regions, without that of the text",
    "last": "probability on last tokens of regions",
}
"""Column -> what each token gives, the mean over all tokens but the text's first."""

EVEN = {f"even_{name}": f"{words}, of even attention" for name, words in SHARES.items()}

UNEVEN = {
    "unevenness": "excess kurtosis over regions of what they receive; 0: as of a normal spread",
    "unevenness_even": "the same of what the regions 0, 2, 4, … look back at",
    "unevenness_odd": "the same of what the regions 1, 3, 5, … look back at",
    "reliability": "correlation over regions of what both of these look back at (Pearson's r)",
}

RECEIVED = {
    "received": "attention from the tokens of all regions at least four later, over what is to be "
    "expected of its length and its distances; unknown for the first, and for the last ones",
    "received_even": "the same of the regions 0, 2, 4, … alone",
    "received_odd": "the same of the regions 1, 3, 5, … alone",
}

RANDOM, CHOSEN = "random", "receivers"
"""Which heads were replaced."""


def encode(
    regions: Sequence[tuple[int, int, str]],
    shares: tuple[np.ndarray, np.ndarray],
    received: Received,
    receivers: Sequence[tuple[int, int]],
    rises: Mapping[str, np.ndarray],
) -> dict:
    """The table/1 dataset of all heads.

    regions: first token, number of tokens and text of each
    shares: of `SHARES`, float [layers, heads, 3]; and of even attention, [layers, 3]
    rises: "zero" and "mean" -> the rise of the loss without the receivers, then without each set of
        random heads: float [1 + sets], nats a token
    """
    layers, heads, number = received.score.shape
    of_heads = dict(zip(UNEVEN, _uneven(received), strict=True))
    for place, name in enumerate(SHARES):
        of_heads[name] = shares[0][..., place]
        of_heads[f"even_{name}"] = np.repeat(shares[1][:, place, None], heads, 1)
    chosen = np.zeros((layers, heads), int)
    for place in receivers:
        chosen[place] = 1
    first, tokens, texts = zip(*regions, strict=True)
    scores = dict(zip(RECEIVED, (received.score, *received.halves), strict=True))
    return columnar.encode(
        {
            "regions": {
                "first": Column("its first token", "index from 0", first),
                "tokens": Column("how many tokens it has", "number", tokens),
                "text": Column("its text", "text", texts),
            },
            "heads": _places(layers, heads)
            | {"receiver": Column("whether it is a receiver head", "1 or 0", chosen.ravel())}
            | {
                name: Column((UNEVEN | SHARES | EVEN)[name], _unit(name), np.ravel(values), STEP)
                for name, values in of_heads.items()
            },
            "received": _places(layers, heads, number)
            | {
                name: Column(RECEIVED[name], "ratio", np.ravel(values), STEP)
                for name, values in scores.items()
            },
            "ablated": _ablated(rises),
        }
    )


def _uneven(received):
    return received.unevenness, *received.of_halves, received.reliability


def _unit(name):
    return "number" if name in UNEVEN else "probability"


def _places(layers, heads, regions=None):
    shape = (layers, heads) if regions is None else (layers, heads, regions)
    names = {"layer": "layer", "head": "head", "region": "region that is looked at"}
    return {
        name: Column(words, "index from 0", at.ravel())
        for (name, words), at in zip(names.items(), np.indices(shape), strict=False)
    }


def _ablated(rises):
    sets = len(next(iter(rises.values()), []))
    values = np.concatenate([np.zeros(0), *rises.values()])
    kinds = [kind for kind in rises for _ in range(sets)]
    heads = [CHOSEN, *[RANDOM] * (sets - 1)] * len(rises)
    return {
        "by": Column("what stands in place of a head's context", "zero or mean", kinds),
        "heads": Column("which heads are replaced together", f"{CHOSEN} or {RANDOM}", heads),
        "rise": Column("rise of the loss on the answer", "nats a token", values, STEP),
    }


def encode_map(between: np.ndarray) -> dict:
    """The table/1 dataset of one layer: what each region gives to each that is not later, or to all
    where one sees later ones.

    between: float [heads, regions, regions]
    """
    number = between.shape[-1]
    later = np.triu(between, 1).any()
    query, key = np.indices((number, number)) if later else np.tril_indices(number)
    columns = {
        "query": Column("region whose tokens look", "index from 0", np.ravel(query)),
        "key": Column("region that is looked at", "index from 0", np.ravel(key)),
    }
    for head, shares in enumerate(between):
        shows = f"probability that head {head} gives to it, the mean over the tokens that look"
        column = Column(shows, "probability", shares[query, key].ravel(), STEP)
        columns[HEAD.format(head)] = column
    return columnar.encode({"map": columns})


def decode(dataset: dict, layers: int, heads: int) -> dict[str, dict[str, np.ndarray]]:
    """Table name -> column -> array, of a file of all heads; checked.

    raises: ReportError if a table or a column is missing, or is not of all heads
    """
    wanted = {
        "regions": {"first", "tokens", "text"},
        "heads": {"layer", "head", "receiver", *UNEVEN, *SHARES, *EVEN},
        "received": {"layer", "head", "region", *RECEIVED},
        "ablated": {"by", "heads", "rise"},
    }
    of_heads = {"layer": layers, "head": heads}
    regions = dataset["tables"]["regions"]["rows"]
    counted = {"heads": of_heads, "received": of_heads | {"region": regions}}
    return columnar.decode_known(dataset, wanted, counted)
