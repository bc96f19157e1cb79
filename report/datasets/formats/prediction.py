"""What a model predicts for a text, and what each part does to that (schema prediction/1).

A row is a token that predicts, from the first on; it asks for the logit of its next token less the
mean of the vocabulary. The last row may ask for another token, and against another. Everything is
kept as whole numbers of a step, in the order of the indices that are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats.columnar import from_steps, steps
from report.datasets.formats.passage import encoded_token, token_label

if TYPE_CHECKING:
    from report.effects.asked import Asked

SCHEMA = "prediction/1"

STEP = 0.0001
"""Unit of stored logits, effects and drops; a value is off by at most half of it."""

PARTS = {
    "heads": ("rows", "layers", "heads"),
    "attention_bias": ("rows", "layers"),
    "feed_forward": ("rows", "layers"),
    "embedding": ("rows",),
    "norm_bias": ("rows",),
    "output_bias": ("rows",),
    "logit": ("rows",),
}
"""Direct effects, and the logit that they sum to -> the shape of each."""

MEAN = "mean"


def sentence_file(sentence: int) -> str:
    """Name of the file of a text; sentence: its number."""
    return f"sentences/{sentence}.json"


def encode(
    prompt: Mapping[str, Any],
    tokens: Sequence[dict],
    measured: Any,
    words: Mapping[int, dict],
) -> dict:
    """The prediction/1 dataset of a text.

    prompt: its "text", "target", "other"
    tokens: [T], as of `passage.encode`
    measured: a `report.effects.sentence.Sentence`
    words: id -> "text", perhaps "bytes", of all tokens that are asked about
    """
    direct = measured.effects.direct
    before = {"before": steps([measured.before], STEP)[0]} if measured.drops else {}
    told = {name: steps(getattr(direct, name), STEP) for name in PARTS}
    return {
        "schema": SCHEMA,
        "text": prompt["text"],
        "asks": measured.asked[-1].position == len(tokens) - 1,
        "tokens": [encoded_token(token) for token in tokens],
        "words": words_of(asked_ids(measured.asked), words),
        "layers": direct.heads.shape[1],
        "heads": direct.heads.shape[2],
        "rows": {
            "token": [one.token for one in measured.asked],
            "against": [None if one.against == MEAN else one.against for one in measured.asked],
        },
        "step": STEP,
        "effects": told,
        "drops": before | {kind: steps(drop, STEP) for kind, drop in measured.drops.items()},
    }


def decode(dataset: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Name of `PARTS`, and "drops.zero" and the like -> float array of its shape.

    raises: ReportError or ValueError if there are more or fewer numbers than that
    """
    sizes = {name: dataset[name] for name in ("layers", "heads")}
    sizes["rows"] = len(dataset["rows"]["token"])
    step, found = dataset["step"], {}
    for name, axes in PARTS.items():
        shape = tuple(sizes[axis] for axis in axes)
        found[name] = array(dataset["effects"][name], shape, step)
    for kind, drop in dataset["drops"].items():
        shape = () if kind == "before" else (sizes["layers"], sizes["heads"])
        drop = [drop] if kind == "before" else drop
        found[f"drops.{kind}"] = array(drop, shape, step)
    if len(dataset["rows"]["against"]) != sizes["rows"]:
        raise damaged(f"{len(dataset['rows']['against'])} rows ask against something")
    return found


def array(values: Sequence[int], shape: tuple[int, ...], step: float) -> np.ndarray:
    """Whole numbers of a step as an array of a shape; ValueError if they are too few or many."""
    return from_steps(values, step).reshape(shape)


def asked_ids(asked: Sequence[Asked]) -> list[int]:
    """All tokens that rows ask about, sorted."""
    ids = {one.token for one in asked}
    return sorted(ids | {one.against for one in asked if isinstance(one.against, int)})


def words_of(ids: Sequence[int], words: Mapping[int, dict]) -> dict[str, str]:
    """Id, as JSON has it -> what a figure shows for that token of the vocabulary."""
    return {
        str(int(token)): token_label(words[int(token)]["text"], words[int(token)].get("bytes"))
        for token in dict.fromkeys(ids)
    }
