"""Conditions of a study, one dataset a layer (schema condition/1): figures A to E."""

from dataclasses import dataclass

import numpy as np

from report.datasets.passage import token_label
from report.errors import ReportError

STEP = 0.00001
"""Unit of the stored integers; a value is off by at most half of it."""

REDUCTIONS = {
    "mean": "mean of a position's probability over the current tokens that can see it",
    "last": "probability that the last current token gives to a position",
    "all": "a position's probability summed over all current tokens, divided by their number",
}
COMPARED = {
    "lambda": "share of probability left to the tokens (and the sink, if the model has one) that "
    "the first condition has too",
    "total_variation": "half of the summed differences between the patterns over the tokens of "
    "both conditions, each pattern summing to 1",
    "affine_error": "length of what lambda times the first condition's context, plus what the "
    "added tokens' values bring, leaves unexplained of the context, divided by the context's "
    "length",
}
OVER_ROWS = {
    "mean": "mean over the current tokens after the added segment",
    "last": "the last current token only",
}


@dataclass(frozen=True)
class Condition:
    """One condition in one layer (H heads, P positions), as read back from a file.

    tokens: list of str, the first prompt's, as they are shown
    segments: dict of name to range, of the first prompt
    counts: int [P], prompts that have a position
    positions: int [P of the first condition], see `aligned`
    crossings: list of dicts with prompt, token, text, before, after
    received, received_error: dict of reduction to float [H, P]; errors NaN where not known
    compared, compared_error: dict of name to dict of rows to float [H], NaN where not known; empty
        where nothing was added
    """

    name: str
    label: str
    tokens: list[str]
    segments: dict[str, range]
    counts: np.ndarray
    positions: np.ndarray
    crossings: list[dict]
    received: dict[str, np.ndarray]
    received_error: dict[str, np.ndarray]
    compared: dict[str, dict[str, np.ndarray]]
    compared_error: dict[str, dict[str, np.ndarray]]

    def aligned(self, values):
        """Values [..., P] of this condition over the positions of the first one; NaN for none."""
        found = np.asarray(values, float)[..., self.positions]
        return np.where(self.positions < 0, np.nan, found)


def encode(layer, measured):
    """The condition/1 dataset of one layer.

    measured: list of `ConditionStatistics`, see report/measurements/conditions.py
    """
    return {
        "schema": "condition/1",
        "layer": layer,
        "heads": measured[0].received.mean.shape[2],
        "step": STEP,
        "prompts": measured[0].prompts,
        "reductions": REDUCTIONS,
        "compared": COMPARED,
        "over_rows": OVER_ROWS,
        "conditions": [_encode(layer, each) for each in measured],
    }


def decode(dataset):
    """list of `Condition` of a condition/1 dataset.

    raises: ReportError if values are missing or too many
    """
    return [_decode(dataset, each) for each in dataset["conditions"]]


def _encode(layer, statistics):
    text = statistics.first
    found = {
        "name": statistics.name,
        "label": statistics.label,
        "tokens": [token_label(piece["text"], piece.get("bytes")) for piece in text.pieces],
        "segments": [
            {"name": name, "first": text.span(name)[0], "last": text.span(name)[-1]}
            for name in text.texts
            if text.span(name)
        ],
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
        "received": {
            name: _spread(statistics.received, (place, layer))
            for place, name in enumerate(REDUCTIONS)
        },
    }
    if statistics.compared is not None:
        found["compared"] = {
            name: {
                rows: _spread(statistics.compared, (place, row, layer))
                for row, rows in enumerate(OVER_ROWS)
            }
            for place, name in enumerate(COMPARED)
        }
    return found


def _spread(spread, where):
    return {
        "mean": _steps(spread.mean[where]),
        "standard_error": _steps(spread.standard_error[where]),
    }


def _steps(values):
    """Integers, None where a value is NaN."""
    values = np.ravel(values)
    known = np.isfinite(values)
    rounded = np.rint(np.where(known, values, 0) / STEP).astype(np.int64).tolist()
    return [number if there else None for number, there in zip(rounded, known, strict=True)]


def _decode(dataset, content):
    where = f"layer {dataset['layer']}, condition {content['name']!r}"
    heads, positions = dataset["heads"], len(content["counts"])

    def values(spreads, part, columns):
        return {
            name: _values(f"{where}: {name} ({part})", spread[part], dataset["step"], columns)
            for name, spread in spreads.items()
        }

    def compared(part):
        spreads = content.get("compared", {})
        return {name: values(rows, part, (heads,)) for name, rows in spreads.items()}

    received = content["received"]
    first = len(dataset["conditions"][0]["counts"])
    if len(content["positions"]) != first or max(content["positions"]) >= positions:
        raise ReportError(
            f"{where}: positions are not {first} between -1 and {positions - 1}; delete the "
            "dataset and run `make site`."
        )
    return Condition(
        content["name"],
        content["label"],
        content["tokens"],
        {each["name"]: range(each["first"], each["last"] + 1) for each in content["segments"]},
        np.asarray(content["counts"]),
        np.asarray(content["positions"]),
        content["crossings"],
        values(received, "mean", (heads, positions)),
        values(received, "standard_error", (heads, positions)),
        compared("mean"),
        compared("standard_error"),
    )


def _values(where, steps, step, shape):
    if len(steps) != np.prod(shape):
        raise ReportError(
            f"{where} has {len(steps)} values, not {np.prod(shape)}; delete the dataset and run "
            "`make site`."
        )
    numbers = [np.nan if number is None else number * step for number in steps]
    return np.reshape(np.asarray(numbers, float), shape)
