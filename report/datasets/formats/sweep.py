"""The habits of all heads of a model: one small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.models.measure.repetition import Repetition

FILE = "habits.json"

MEASURES = {
    "first_token": "fraction of tokens whose largest target is token 0",
    "previous_token": "fraction of tokens whose largest target is the token before",
    "itself": "fraction of tokens whose largest target is the token itself",
    "concentration": "mean difference of the largest and the second largest probability of a token",
    "induction": "mean probability on the token that came after the earlier occurrence of the "
    "current one, random tokens said twice",
    "induction_error": "standard error of that mean over the sequences",
    "unrepeated": "mean probability at the same places where the tokens before were others",
    "previous_random": "mean probability on the token before, random tokens said twice",
}
"""Measure of a head, from 0 to 1 -> description; all leave out token 0 of a text."""

STEP = 0.0001


def encode(corpus: HeadStatistics, repetition: Repetition) -> dict:
    """The table/1 dataset of one model: "heads", a row a head."""
    of_corpus = ("first_token", "previous_token", "itself", "concentration")
    values = {name: getattr(corpus, name) for name in of_corpus} | {
        "induction": repetition.induction.mean(0),
        "induction_error": repetition.induction.std(0, ddof=1) / repetition.sequences**0.5,
        "unrepeated": repetition.unrepeated.mean(0),
        "previous_random": repetition.previous_token.mean(0),
    }
    layers, heads = corpus.first_token.shape
    layer, head = np.divmod(np.arange(layers * heads), heads)
    places = {
        "layer": Column("layer, in the model's order", "index from 0", layer),
        "head": Column("head, in the model's order", "index from 0", head),
    }
    measures = {
        name: Column(description, "0 to 1", np.ravel(values[name]), STEP)
        for name, description in MEASURES.items()
    }
    return columnar.encode({"heads": places | measures})


def about_bytes(layers: int, heads: int) -> int:
    """About how many bytes the table of a model takes: in a row two indices, and of each measure a
    number of four digits, all with a comma."""
    return layers * heads * (2 * 3 + len(MEASURES) * 5)
