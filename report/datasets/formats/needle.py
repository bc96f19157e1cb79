"""What heads give to facts hidden in a long text, and what answers lose without some: tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.regions import CHOSEN, RANDOM, STEP

if TYPE_CHECKING:
    from report.measurements.needle import Needles

FILE = "needle.json"

FROM = {
    "answer": "the tokens at which those of the answer are predicted",
    "question": "the tokens of the question",
}
"""Where heads look from -> in words."""

HEADS = {
    **{name: f"probability on the fact, from {words}" for name, words in FROM.items()},
    **{
        f"{name}_elsewhere": f"the same on its place while it stands elsewhere, from {words}"
        for name, words in FROM.items()
    },
    **{
        f"{name}_error": f"standard error of how much more it is, from {words}"
        for name, words in FROM.items()
    },
}
PLACES = {
    "layer": "layer",
    "head": "head",
    "length": "which of the lengths",
    "depth": "at which depth the fact stands",
}
TABLES = {
    "heads": {"layer", "head", "length", "chosen", *HEADS},
    "depths": {*PLACES, "answer", "answer_elsewhere"},
    "losses": {"fact", "length", "depth", "loss"},
    "rises": {"length", "heads", "rise", "error"},
}


def encode(needles: Needles, errors: Sequence[np.ndarray], rise_errors: np.ndarray) -> dict:
    """The table/1 dataset of all heads.

    errors: standard errors of what is given more than elsewhere, [lengths, layers, heads] of each
        of `FROM`; rise_errors: [lengths, 1 + sets]
    """
    given, elsewhere = (each.mean(0) for each in (needles.given, needles.elsewhere))
    lengths, depths, layers, heads, _ = given.shape
    by_head = np.moveaxis(given.mean(1), 0, 2), np.moveaxis(elsewhere.mean(1), 0, 2)
    chosen = np.zeros((layers, heads, lengths), int)
    for layer, head in needles.chosen:
        chosen[layer, head] = 1
    columns = {}
    for at, name in enumerate(FROM):
        columns[name], columns[f"{name}_elsewhere"] = (each[..., at] for each in by_head)
        columns[f"{name}_error"] = np.moveaxis(errors[at], 0, 2)
    of_depths = {
        name: np.moveaxis(each[..., 0], (0, 1), (2, 3))
        for name, each in (("answer", given), ("answer_elsewhere", elsewhere))
    }
    losses, rises = needles.losses, needles.rises.mean((0, 2))
    kinds = [CHOSEN, *[RANDOM] * (rises.shape[1] - 1)] * lengths
    return columnar.encode(
        {
            "heads": _places((layers, heads, lengths))
            | {"chosen": Column("whether it is one that is replaced", "1 or 0", chosen.ravel())}
            | {name: _probability(HEADS[name], columns[name]) for name in HEADS},
            "depths": _places((layers, heads, lengths, depths))
            | {name: _probability(HEADS[name], values) for name, values in of_depths.items()},
            "losses": _places(losses.shape, ("fact", "length", "depth"))
            | {"loss": Column("cross entropy of the answer", "nats a token", losses.ravel(), STEP)},
            "rises": {
                "length": _places(rises.shape, ("length", "heads"))["length"],
                "heads": Column("which are replaced together", f"{CHOSEN} or {RANDOM}", kinds),
                "rise": Column("rise of the loss", "nats a token", rises.ravel(), STEP),
                "error": Column(
                    "its standard error over facts and depths", "nats a token",
                    rise_errors.ravel(), STEP,
                ),
            },
        }
    )  # fmt: skip


def _probability(words, values):
    return Column(words, "probability", np.ravel(values), STEP)


def _places(shape, names=tuple(PLACES)):
    words = PLACES | {"fact": "which of the facts"}
    pairs = zip(names, np.indices(shape), strict=False)
    return {name: Column(words.get(name, name), "index from 0", at.ravel()) for name, at in pairs}


def decode(dataset: dict, shape: tuple[int, int, int, int]) -> dict[str, dict[str, np.ndarray]]:
    """Table name -> column -> array; checked.

    shape: layers, heads, lengths, depths
    raises: ReportError if a table or a column is missing, or is not of all heads
    """
    counted = {
        name: dict(zip(PLACES, size, strict=False))
        for name, size in (("heads", shape[:3]), ("depths", shape))
    }
    return columnar.decode_known(dataset, TABLES, counted)
