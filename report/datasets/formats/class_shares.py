"""The dataset of how each head divides its attention among classes of targets, by rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.head_statistics import ranks
from report.datasets.formats.token_classes import CLASSES

if TYPE_CHECKING:
    from report.models.measure.table import ShareRecorder

STEP = 0.00001
"""Unit of the stored probabilities."""


def encode(shares: dict[str, ShareRecorder]) -> dict:
    """The table/1 dataset of all renderings: a row for each rendering, class, layer and head.

    shares: by the name of the rendering
    A class that no head gives anything to, in any rendering, and that even attention would give
    nothing has no rows. What goes to no token, but to a sink, counts as "other".
    """
    completed = {name: _completed(share.probability) for name, share in shares.items()}
    present = [
        number
        for number in range(len(CLASSES))
        if any((p[..., number] > STEP / 2).any() for p in completed.values())
        or any((share.even[:, number] > 0).any() for share in shares.values())
    ]
    names = list(CLASSES)
    columns = {name: [] for name in ("rendering", "target", "layer", "head")}
    columns |= {name: [] for name in ("probability", "even", "rank")}
    for rendering, probability in completed.items():
        layers, heads = probability.shape[:2]
        layer, head = np.divmod(np.arange(layers * heads), heads)
        for number in present:
            values = probability[..., number]
            columns["rendering"] += [rendering] * len(layer)
            columns["target"] += [names[number]] * len(layer)
            columns["layer"] += layer.tolist()
            columns["head"] += head.tolist()
            columns["probability"] += values.ravel().tolist()
            columns["even"] += np.repeat(shares[rendering].even[:, number], heads).tolist()
            columns["rank"] += ranks(values).ravel().tolist()
    listed = "; ".join(f"{names[number]}: {CLASSES[names[number]]}" for number in present)
    return columnar.encode({"heads": _described(columns, listed)})


def _described(columns, listed):
    """The columns with what they mean, their units and steps; listed: the classes, in words."""
    about = {
        "rendering": ("how the table is written", "name of a rendering"),
        "target": (f"class of target tokens: {listed}", "name of a class"),
        "layer": ("layer, in the model's order", "index from 0"),
        "head": ("head, in the model's order", "index from 0"),
        "probability": (
            "what the head gives to targets of the class, mean over the tokens of cells that have "
            "a cell above",
            "0 to 1",
        ),
        "even": ("what even attention over all visible targets would give", "0 to 1"),
        "rank": ("place of the head when its layer is sorted", "0 = smallest value"),
    }
    stepped = ("probability", "even")
    return {
        name: Column(*about[name], values, STEP if name in stepped else None)
        for name, values in columns.items()
    }


def _completed(probability):
    """Probabilities, float [layer, head, class], with what goes to no token added to "other"."""
    completed = np.array(probability, float)
    completed[..., list(CLASSES).index("other")] += np.maximum(0, 1 - completed.sum(-1))
    return completed
