"""What earlier hidden states of a text would predict (schema prediction-lens/1).

States: the embedding, then of each layer the one after its attention, and the one after its
feed-forward: 2 * layer + 1, and 2 * layer + 2.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from report.datasets.formats.columnar import steps
from report.datasets.formats.prediction import array, words_of

SCHEMA = "prediction-lens/1"

STEP = 0.01
"""Unit of stored log probabilities, in nats."""


def lens_file(sentence: int) -> str:
    """Name of the file of a text; sentence: its number."""
    return f"lens/{sentence}.json"


def encode(measured: Any, words: Mapping[int, dict]) -> dict:
    """The prediction-lens/1 dataset of a text.

    measured: a `report.effects.sentence.Sentence`
    words: id -> "text", perhaps "bytes", of the tokens that are likely somewhere
    """
    lens, asked = measured.lens, measured.asked
    told = {"target": (lens.asked[..., 0], lens.ranks[..., 0])}
    if isinstance(asked[-1].against, int):
        told["other"] = (lens.asked[:, -1, 1], lens.ranks[:, -1, 1])
    return {
        "schema": SCHEMA,
        "states": len(lens.tokens),
        "rows": len(asked),
        "best": lens.tokens.shape[-1],
        "step": STEP,
        "words": words_of(lens.tokens.ravel().tolist(), words),
        "tokens": lens.tokens.ravel().tolist(),
        "log_probability": steps(lens.log_probabilities, STEP),
        **{
            name: {"log_probability": steps(logs, STEP), "rank": ranks.ravel().tolist()}
            for name, (logs, ranks) in told.items()
        },
    }


def decode(dataset: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of a prediction-lens/1 dataset.

    returns: "tokens" int and "log_probability" float [states, rows, best]; "target.rank" and
        "target.log_probability" [states, rows]; perhaps "other.…" [states], of the last row
    raises: ValueError if there are more or fewer numbers than that
    """
    states, rows, best = (dataset[name] for name in ("states", "rows", "best"))
    shape, step = (states, rows, best), dataset["step"]
    found = {
        "tokens": array(dataset["tokens"], shape, 1).astype(int),
        "log_probability": array(dataset["log_probability"], shape, step),
    }
    for name, size in (("target", (states, rows)), ("other", (states,))):
        if name in dataset:
            logs, ranks = dataset[name]["log_probability"], dataset[name]["rank"]
            found[f"{name}.log_probability"] = array(logs, size, step)
            found[f"{name}.rank"] = array(ranks, size, 1).astype(int)
    return found
