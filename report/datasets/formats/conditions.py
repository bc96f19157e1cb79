"""Conditions of a study: their tokens, what a head gives each position, and what fillers change.

conditions.json                  schema conditions/1
received/<layer>/<head>.json     schema received/1
effects.json                     schema table/1, tables "effects" and "layers"
"""

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.passage import token_label
from report.errors import ReportError

STEP = 0.00002
"""Unit of the stored probabilities; a value is off by at most half of it."""

EFFECT_STEP = 0.0001

REDUCTIONS = ("mean", "last", "all")
"""What a position receives over current tokens; see the schema conditions/1."""

MEASURES = {
    "lambda": "share of probability left to the tokens (and the sink, if the model has one) that "
    "the first condition has too; 1 less it goes to the added segment",
    "total_variation": "half of the summed differences between the patterns over the tokens of "
    "both conditions, each pattern summing to 1",
    "affine_error": "length of what lambda times the first condition's context, plus what the "
    "added tokens' values bring, leaves unexplained of the context, divided by the context's "
    "length",
}
"""What a condition with an added segment changes, current token by current token."""

ROWS = ("mean", "last")
"""Over the current tokens after the added segment: their mean, or the last one only."""


def encode_texts(measured):
    """The conditions/1 dataset.

    measured: list of `ConditionStatistics`, see report/measurements/conditions.py
    """
    base = measured[0].first.texts
    return {
        "schema": "conditions/1",
        "prompts": measured[0].prompts,
        "reductions": list(REDUCTIONS),
        "conditions": [_encode_text(each, base) for each in measured],
    }


def encode_received(layer, head, measured):
    """The received/1 dataset of one head; measured: as above."""
    return {
        "schema": "received/1",
        "layer": layer,
        "head": head,
        "step": STEP,
        "conditions": {
            each.name: {
                name: {
                    "mean": columnar.steps(each.received.mean[place, layer, head], STEP),
                    "standard_error": columnar.steps(
                        each.received.standard_error[place, layer, head], STEP
                    ),
                }
                for place, name in enumerate(REDUCTIONS)
            }
            for each in measured
        },
    }


def decode_received(dataset):
    """What every position receives from a head: dict of condition to dict of reduction to a pair.

    returns: the pairs are mean and standard error over prompts, float [positions]; errors NaN where
        one prompt has the position
    raises: ReportError if there are more of one than of the other
    """
    return {
        name: {
            reduction: _decode_spread(dataset, name, reduction, values)
            for reduction, values in reductions.items()
        }
        for name, reductions in dataset["conditions"].items()
    }


def encode_effects(measured):
    """The table/1 dataset of what the added segments change: tables "effects" and "layers".

    measured: as above; conditions without an added segment have no rows
    """
    changed = [each for each in measured if each.compared is not None]
    heads = measured[0].received.mean.shape[2]
    by_head = _columns(changed, "compared", heads)
    by_layer = _columns(changed, "of_layers", None)
    return columnar.encode({"effects": by_head, "layers": by_layer})


def _encode_text(statistics, base):
    text = statistics.first
    new = [name for name in text.texts if name not in base]
    return {
        "name": statistics.name,
        "label": statistics.label,
        "tokens": [token_label(token["text"], token.get("bytes")) for token in text.tokens],
        "segments": [
            {"name": name, "first": text.span(name)[0], "last": text.span(name)[-1]}
            for name in text.texts
            if text.span(name)
        ],
        "added": new[0] if new else None,
        "counts": statistics.received.count.tolist(),
        "positions": list(statistics.positions),
        "crossings": [
            {
                "prompt": prompt,
                "token": crossing.token,
                "text": token_label(crossing.text),
                "before": crossing.before,
                "after": crossing.after,
            }
            for prompt, crossing in statistics.crossings
        ],
    }


def _decode_spread(dataset, name, reduction, values):
    mean, error = values["mean"], values["standard_error"]
    if len(mean) != len(error):
        raise ReportError(
            f"layer {dataset['layer']} head {dataset['head']}, condition {name!r}: {reduction} has "
            f"{len(mean)} means and {len(error)} errors; delete the dataset and run `make site`."
        )
    pair = columnar.from_steps(mean, dataset["step"]), columnar.from_steps(error, dataset["step"])
    if any(np.isinf(each).any() for each in pair):
        raise ReportError(
            f"layer {dataset['layer']} head {dataset['head']}, condition {name!r}: {reduction} has "
            "numbers that are too large; delete the dataset and run `make site`."
        )
    return pair


def _columns(changed, spreads, heads):
    """The columns of a table with a row for each condition, of ROWS, layer, and head if given."""
    keys = ("condition", "rows", "layer", "head") if heads else ("condition", "rows", "layer")
    columns = {name: [] for name in keys}
    for name in MEASURES:
        columns |= {name: [], f"{name}_error": []}
    for each in changed:
        spread = getattr(each, spreads)
        for place, rows in enumerate(ROWS):
            found = np.stack([spread.mean, spread.standard_error], 1)[:, :, place]
            layer, *head = (index.ravel().tolist() for index in np.indices(found.shape[2:]))
            columns["condition"] += [each.name] * len(layer)
            columns["rows"] += [rows] * len(layer)
            columns["layer"] += layer
            if heads:
                columns["head"] += head[0]
            for (mean, error), name in zip(found, MEASURES, strict=True):
                columns[name] += mean.ravel().tolist()
                columns[f"{name}_error"] += error.ravel().tolist()
    return _described(columns, heads)


def _described(columns, heads):
    about = {
        "condition": ("compared with the first condition of conditions.json", "name"),
        "rows": (
            "current tokens after the added segment: mean of all, or the last",
            "mean or last",
        ),
        "layer": ("layer, in the model's order", "index from 0"),
        "head": ("head, in the model's order", "index from 0"),
    }
    found = {name: Column(*about[name], columns[name]) for name in columns if name in about}
    over = "mean over prompts" if heads else "mean over the heads of a layer, then over prompts"
    for name, description in MEASURES.items():
        unit = "fraction" if name == "affine_error" else "0 to 1"
        said = f"{over}: {description}"
        found[name] = Column(said, unit, columns[name], EFFECT_STEP)
        error = f"standard error of {name} over prompts"
        found[f"{name}_error"] = Column(error, unit, columns[f"{name}_error"], EFFECT_STEP)
    return found
