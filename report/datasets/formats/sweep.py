"""A table of the heads of a model: measures over a corpus, and induction on random tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.measures import Measure

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.models.measure.repetition import Repetition

FILE = "habits.json"

REPEATED = {
    "induction": "mean probability on the token that came after the earlier occurrence of the "
    "current one, random tokens said twice",
    "induction_error": "standard error of that mean over the sequences",
    "unrepeated": "mean probability at the same places where the tokens before were others",
    "previous_random": "mean probability on the token before, random tokens said twice",
}
"""Measure on random tokens, from 0 to 1 -> description. Other columns are measures of
`report.measures` over the corpus, with error_ and even_ before their names."""

STEP = 0.0001

DESCRIPTION = 120
"""Bytes of a column's description, about."""


def encode(corpus: HeadStatistics, repetition: Repetition, measures: Iterable[Measure]) -> dict:
    """The table/1 dataset of one model: table "heads", a row per head.

    measures: columns over the corpus, each with its error_ and even_; one that is NaN for every
        head is left out
    """
    columns = {}
    for measure in measures:
        name, unit, values = measure.name, measure.unit, corpus.mean(measure.name)
        if np.isnan(values).all():
            continue
        off, even = "standard error of that mean over texts", "the same of even attention"
        columns |= {
            name: Column(measure.shows, unit, np.ravel(values), STEP),
            f"error_{name}": Column(off, unit, np.ravel(corpus.error(name)), STEP),
            f"even_{name}": Column(even, unit, np.ravel(corpus.even(name)), STEP),
        }
    values = {
        "induction": repetition.induction.mean(0),
        "induction_error": repetition.induction.std(0, ddof=1) / repetition.sequences**0.5,
        "unrepeated": repetition.unrepeated.mean(0),
        "previous_random": repetition.previous_token.mean(0),
    }
    columns |= {
        name: Column(description, "0 to 1", np.ravel(values[name]), STEP)
        for name, description in REPEATED.items()
    }
    layers, heads = values["induction"].shape
    layer, head = np.divmod(np.arange(layers * heads), heads)
    places = {
        "layer": Column("layer, in the model's order", "index from 0", layer),
        "head": Column("head, in the model's order", "index from 0", head),
    }
    return columnar.encode({"heads": places | columns})


def about_bytes(layers: int, heads: int, measures: int) -> int:
    """About how many bytes the table takes; measures: how many there are over the corpus."""
    columns = 3 * measures + len(REPEATED)
    # a row has two indices and a number of four digits per column, each with a comma
    return layers * heads * (2 * 3 + columns * 5) + columns * DESCRIPTION
