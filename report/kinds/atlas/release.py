"""All heads of an atlas in one table, as others take it: CSV, and a table/1 dataset with units.

A row is a head; of a measure NAME, the columns are NAME, error_NAME, control_NAME and place_NAME.
"""

import csv
import io
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.head_statistics import STEP
from report.kinds.atlas import beside, sentences
from report.kinds.atlas.data import AtlasData, AtlasModels

TABLE = "heads"
"""What the table of a table/1 dataset is called."""

ONE_HEAD = ("head_distances", "head_tokens", "head_examples", "head_writes", "composition")
"""Figures of one head, in the order in which its page has them."""

WITH_FIELD = "heads_by_two"
"""The figure with a field that finds heads."""

QUESTIONS = {
    "to_previous_token": ("previous", "look at the token before"),
    "induction": ("induction", "find what came next last time"),
    "to_line_end": ("line ends", "look at line ends"),
}
"""Measure -> what finds its heads in that field, and what these heads do."""

DIGITS = 10
"""Significant digits of a number in CSV; what is kept has fewer."""


def release(data: AtlasData | AtlasModels) -> Iterator[tuple[str, str | dict]]:
    """Name and content of each file, two a model: its text as CSV, and a table/1 dataset."""
    for model in data.models:
        columns = table(model)
        yield f"{model.path.name}.csv", _csv(columns)
        yield f"{model.path.name}.json", columnar.encode({TABLE: columns})


def questions(data: AtlasData | AtlasModels) -> tuple[int, dict[str, str]]:
    """How many heads its largest model has; and the state of the figure with a field, in an
    address, that answers a question -> what the heads do that are asked for."""
    first, *others = data.models
    measured = set(first.words).intersection(*(each.words for each in others))
    return max(each.layers * each.heads for each in data.models), {
        f"across={name},found={quote(typed)}": words
        for name, (typed, words) in QUESTIONS.items()
        if name in measured
    }


def table(data: AtlasData) -> dict[str, Column]:
    """The columns of one model's heads, by name; their numbers are those of its datasets."""
    layer, head = np.divmod(np.arange(data.layers * data.heads), data.heads)
    columns = {
        "layer": Column("layer, in the model's order", "index from 0", layer),
        "head": Column("head, in the model's order", "index from 0", head),
    }
    for name, words in data.words.items():
        control = beside.CONTROLS.get(name, beside.SHUFFLED)
        values, unit = data.of_heads(name, name, "corpus"), words.unit
        errors = data.of_heads(f"error_{name}", name, "corpus")
        controls = data.of_heads(name, name, "control")
        places = sentences.ranks(values)
        place = "place among all heads of the model; null where the measure does not apply"
        columns |= {
            name: Column(words.shows, unit, values.ravel(), STEP),
            f"error_{name}": Column("standard error of the mean", unit, errors.ravel(), STEP),
            f"control_{name}": Column(f"the same of {control}", unit, controls.ravel(), STEP),
            f"place_{name}": Column(place, "1 = highest value", places.ravel(), 1),
        }
    return columns


def _csv(columns):
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    cells = [[_cell(value) for value in column.values] for column in columns.values()]
    lines.writerows(zip(*cells, strict=True))
    return text.getvalue()


def _cell(value):
    return "" if np.isnan(value) else f"{value:.{DIGITS}g}"


def heads(data: AtlasData | AtlasModels) -> Iterator[tuple[AtlasData, list[list[str]]]]:
    """Each model, and by layer and head what it does most, and in a second line if it matters."""
    for model in data.models:
        yield model, sentences.by_head(model)
