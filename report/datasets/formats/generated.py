"""Effects over generated sentences: sums only, two small tables and the sentences (table/1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from report.datasets.damaged import require_number
from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

if TYPE_CHECKING:
    from report.inputs.generated import Generated

FILE = "generated.json"

STEP = 0.0001
"""Unit of stored effects and drops, in logits."""

KINDS = {
    "direct": "what the head adds to the logit difference by itself",
    "zero": "fall of the logit difference when the head's context is replaced by zeros",
    "mean": "fall of the logit difference when it is replaced by its mean over a corpus",
    "resample": "fall of the logit difference when it is replaced by that of another sentence of "
    "the same form",
}
"""Measure of a head -> description; each with its standard error."""


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the first axis, and its standard error, NaN of a single one."""
    number = len(values)
    if number < 2:
        return values.mean(0), np.full(values.shape[1:], np.nan)
    return values.mean(0), values.std(0, ddof=1) / number**0.5


def encode(sentences: Sequence[Generated], measured: Any) -> dict:
    """The table/1 dataset: "heads", a row a head; "layers", a row a layer; "sentences".

    measured: a `report.measurements.effect_rows.EffectRows`, of as many texts
    """
    direct = measured.rows("heads")
    layers, heads = direct.shape[1:]
    layer, head = np.divmod(np.arange(layers * heads), heads)
    ablated = [name for name in KINDS if name in measured.told[0]]
    of_heads = {"direct": direct, **{name: measured.rows(name) for name in ablated}}
    of_layers = {name: measured.rows(name) for name in ("feed_forward", "attention_bias")}
    written = "what it adds to the logit difference by itself"
    return columnar.encode(
        {
            "heads": {
                "layer": Column("layer, in the model's order", "index from 0", layer),
                "head": Column("head, in the model's order", "index from 0", head),
                **_columns(of_heads, KINDS),
            },
            "layers": {
                "layer": Column("layer", "index from 0", np.arange(layers)),
                **_columns(of_layers, dict.fromkeys(of_layers, written)),
            },
            "sentences": _sentences(sentences, measured),
        }
    )


def _columns(values, described):
    found = {}
    for name, each in values.items():
        mean, error = mean_and_error(each)
        found[name] = Column(f"{described[name]}, mean", "logits", mean.ravel(), STEP)
        found[f"{name}_error"] = Column(
            "standard error of that mean over the sentences", "logits", error.ravel(), STEP
        )
    return found


def _sentences(sentences, measured):
    texts = {
        name: [getattr(one, name) for one in sentences] for name in ("text", "target", "other")
    }
    first = [one.giver_first for one in sentences]
    logit = measured.rows("logit")
    return {
        "text": Column("the sentence", "text", texts["text"]),
        "target": Column("the right answer", "text", texts["target"]),
        "other": Column("the other name", "text", texts["other"]),
        "form": Column("which of the forms", "index from 0", [one.form for one in sentences]),
        "giver_first": Column("whether who gives is named first", "1 or 0", np.asarray(first, int)),
        "logit": Column("logit of the right answer less that of the other", "logits", logit, STEP),
        "first": Column(
            "whether the right answer is the most likely token of all",
            "1 or 0",
            measured.rows("first").astype(int),
        ),
    }


def decode(table: Mapping[str, Any], about: Mapping[str, Any], layers: int, heads: int) -> dict:
    """Table name -> column -> array, checked.

    about: the manifest's "generated"; heads: of a layer
    raises: ReportError if a table has other rows or columns
    """
    measures = ["direct", *about["ablated"]]
    wanted = {
        "heads": {"layer", "head", *measures, *(f"{name}_error" for name in measures)},
        "layers": {
            *("layer", "feed_forward", "feed_forward_error"),
            *("attention_bias", "attention_bias_error"),
        },
        "sentences": {"text", "target", "other", "form", "giver_first", "logit", "first"},
    }
    counted = {"heads": {"layer": layers, "head": heads}, "layers": {"layer": layers}}
    tables = columnar.decode_known(table, wanted, counted)
    require_number("table 'sentences'", tables["sentences"]["text"], about["sentences"])
    return tables
