"""What each head writes for words that it reads (table/1): tokens that gain most and lose most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import columnar, portraits
from report.datasets.formats.columnar import Column

FILE = "writes.json"

SIDES = {"gained": "gain", "lost": "lose"}
"""Table -> what its tokens do."""

SHOWN = 6
"""Words that each head is shown with: those for which the token that gains most is farthest above
the mean."""

STEP = 0.1


@dataclass(frozen=True)
class Reading:
    """What a head writes when it reads a word.

    word: id of a token; gained, lost: ids, those that gain or lose most first
    gained_by, lost_by: float [tokens], standard deviations over the vocabulary from its mean
    """

    word: int
    gained: list[int]
    gained_by: np.ndarray
    lost: list[int]
    lost_by: np.ndarray


def encode(found: Any, token_ids: Sequence[int], words: Mapping[int, Mapping[str, str]]) -> dict:
    """The table/1 dataset.

    found: a `report.effects.copying.Copying` of the words `token_ids`
    words: token id -> its "text", and its "bytes" where that is not whole characters
    """
    layers, heads, number, top = found.gained.shape
    shown = min(SHOWN, number)
    order = np.argsort(-found.gained_by[..., 0], axis=2, kind="stable")[..., :shown]
    layer, head = (np.repeat(index, shown) for index in np.indices((layers, heads)))
    tables = {
        "reads": {
            "layer": Column("layer, in the model's order", "index from 0", layer),
            "head": Column("head, in the model's order", "index from 0", head),
            "token": Column("token that is read", "id", np.array(token_ids)[order].ravel()),
        }
    }
    for side, does in SIDES.items():
        ids, by = (
            np.take_along_axis(getattr(found, name), order[..., None], 2).ravel()
            for name in (side, f"{side}_by")
        )
        what = f"of each row of reads the {top} tokens that {does} most"
        tables[side] = {
            "token": Column(what, "id", ids),
            "by": Column("their logits, from the mean", "standard deviations", by, STEP),
        }
    listed = sorted({*token_ids, *(n for side in SIDES for n in tables[side]["token"].values)})
    tables["words"] = {
        "token": Column("token", "id", listed),
        "text": Column("what stands for it", "text", [portraits.label(words[n]) for n in listed]),
    }
    return columnar.encode(tables)


def decode(dataset: dict, layers: int, heads: int) -> tuple[dict, dict[int, str]]:
    """(layer, head) -> its `Reading`s, and token id -> what stands for it; the inverse of `encode`.

    raises: ReportError for a dataset that has other heads, or tokens without words
    """
    tables = columnar.decode(dataset)
    words = dict(zip(*(tables["words"][name].tolist() for name in ("token", "text")), strict=True))
    reads = tables["reads"]
    rows = len(reads["token"])
    shown, left = divmod(rows, layers * heads)
    place = np.repeat(np.arange(layers * heads), shown)
    if left or not shown or (reads["layer"] * heads + reads["head"] != place).any():
        raise damaged(f"{FILE}: is not of {layers * heads} heads, as many words each")
    columns = {"token": reads["token"]}
    for side in SIDES:
        ids, by = tables[side]["token"], tables[side]["by"]
        if not len(ids) or len(ids) % rows:
            raise damaged(f"{FILE}: table {side!r} has {len(ids)} tokens of {rows} words")
        columns |= {side: ids.reshape(rows, -1), f"{side}_by": by.reshape(rows, -1)}
    named = {*columns["token"].tolist(), *(n for side in SIDES for n in columns[side].flat)}
    if missing := named - words.keys():
        raise damaged(f"{FILE}: has no text of token {min(missing)}")
    readings = [
        Reading(
            int(columns["token"][n]),
            columns["gained"][n].tolist(),
            columns["gained_by"][n],
            columns["lost"][n].tolist(),
            columns["lost_by"][n],
        )
        for n in range(rows)
    ]
    return {
        divmod(at, heads): readings[at * shown : (at + 1) * shown] for at in range(layers * heads)
    }, words
