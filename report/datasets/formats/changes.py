"""The dataset of what changed: every measure of every head in the reference, and its change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.measures import Measure

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics

FILE = "changes.json"

REFERENCE, CHANGE, ERROR, HALVES = "reference_{}", "change_{}", "error_{}", "halves_{}"
"""Columns of a measure; {}: its name."""

STEP, FINE = 1e-4, 1e-6
"""Of a value, and of a change, which may be much smaller."""


def encode(halves: tuple[HeadStatistics, HeadStatistics], measures: Sequence[Measure]) -> dict:
    """The table/1 dataset "changes": a row a head, four columns a measure that applies.

    halves: sums over each half of the texts, see `models.measure.difference.compare`
    """
    of_all = halves[0].merge(halves[1])
    heads = of_all.layers * of_all.heads
    layer, head = np.divmod(np.arange(heads), of_all.heads)
    columns = {
        "layer": Column("layer, in the model's order", "index from 0", layer),
        "head": Column("head, in the model's order", "index from 0", head),
    }
    for measure in measures:
        name, unit = measure.name, measure.unit
        before, change = f"reference/{name}", f"change/{name}"
        if np.isnan(of_all.mean(before)).all():
            continue
        apart = halves[0].mean(before) - halves[1].mean(before)
        numbers = {
            REFERENCE: (f"{measure.shows} In the reference.", of_all.mean(before), STEP),
            CHANGE: ("the same in the model, less that", of_all.mean(change), FINE),
            ERROR: ("standard error of the change over texts", of_all.error(change), FINE),
            HALVES: ("the reference over one half of the texts, less the other", apart, STEP),
        }
        columns |= {
            column.format(name): Column(said, unit, np.ravel(values), step)
            for column, (said, values, step) in numbers.items()
        }
    return columnar.encode({"changes": columns})
