"""What one head does to the predictions of a text (schema prediction-head/1).

By target token, at every row; and for a head that matters, what it promotes and suppresses at the
last row when it reads a token, and which earlier parts its scores there are made of.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from report.datasets.formats.columnar import steps
from report.datasets.formats.prediction import STEP, array, words_of

SCHEMA = "prediction-head/1"

LONG = 64
"""Tokens of a text, beyond which fewer digits are kept."""

LONG_STEP = 0.001
"""Unit of stored effects and probabilities of a long text: as many digits as a tooltip shows."""

SCORE_STEP = 0.001
"""Unit of what heads promote (logits) and of parts of scores."""

WRITTEN = ("promoted", "suppressed")


def step_of(tokens: int) -> float:
    """Unit of stored effects (logits) and probabilities of a text; a value is off by at most half
    of it."""
    return STEP if tokens <= LONG else LONG_STEP


def head_file(sentence: int, layer: int, head: int) -> str:
    """Name of the file of a head on a text; sentence: the text's number."""
    return f"head/{sentence}/{layer}/{head}.json"


def encode(measured: Any, layer: int, head: int, words: Mapping[int, dict]) -> dict:
    """The prediction-head/1 dataset of a head on a text.

    measured: a `report.effects.sentence.Sentence`
    words: id -> "text", perhaps "bytes", of the tokens that it promotes or suppresses
    """
    effects, step = measured.effects, step_of(len(measured.token_ids))
    seen = np.tri(len(measured.asked), effects.effects.shape[-1], dtype=bool)
    told = {
        "schema": SCHEMA,
        "layer": layer,
        "head": head,
        "rows": len(measured.asked),
        "tokens": len(measured.token_ids),
        "step": step,
        "share_step": step,
        "effect": steps(effects.effects[:, layer, head][seen], step),
        "probability": steps(effects.probability[:, layer, head][seen], step),
    }
    if (layer, head) in measured.writes:
        told["writes"] = _writes(measured.writes[layer, head], words)
    if (layer, head) in measured.origins:
        told["origins"] = _origins(measured.origins[layer, head])
    return told


def decode(dataset: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """ "effect" and "probability", float [rows, tokens], 0 where a row does not look.

    raises: ValueError if there are more or fewer numbers than that
    """
    seen = np.tri(dataset["rows"], dataset["tokens"], dtype=bool)
    found = {}
    for name, step in (("effect", dataset["step"]), ("probability", dataset["share_step"])):
        found[name] = np.zeros(seen.shape)
        found[name][seen] = array(dataset[name], (int(seen.sum()),), step)
    return found


def decode_writes(told: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Of "writes" of a dataset: "promoted", "promoted_by", "suppressed", "suppressed_by", each
    [sources, best]; ValueError if there are more or fewer numbers than that."""
    shape, found = (told["sources"], told["best"]), {}
    for name in WRITTEN:
        found[name] = array(told[name], shape, 1).astype(int)
        found[f"{name}_by"] = array(told[f"{name}_by"], shape, told["step"])
    return found


def decode_origins(told: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Of "origins" of a dataset: "score" and "position" [targets]; "by_query" and "by_key"
    [parts, targets]; ValueError if there are more or fewer numbers than that."""
    parts, targets, step = len(told["parts"]["kind"]), told["targets"], told["step"]
    shapes = dict.fromkeys(("score", "position"), (targets,))
    shapes |= dict.fromkeys(("by_query", "by_key"), (parts, targets))
    return {name: array(told[name], shape, step) for name, shape in shapes.items()}


def _writes(writes, words):
    ids = [*writes.promoted.ravel().tolist(), *writes.suppressed.ravel().tolist()]
    told = {
        "step": SCORE_STEP,
        "sources": len(writes.sources),
        "best": writes.promoted.shape[-1],
        "words": words_of(ids, words),
    }
    for name in WRITTEN:
        told[name] = getattr(writes, name).ravel().tolist()
        told[f"{name}_by"] = steps(getattr(writes, f"{name}_by"), SCORE_STEP)
    return told


def _origins(origins):
    return {
        "step": SCORE_STEP,
        "first": origins.targets.start,
        "targets": len(origins.targets),
        "parts": {
            name: [getattr(part, name) for part in origins.parts]
            for name in ("kind", "layer", "head")
        },
        "score": steps(origins.score, SCORE_STEP),
        "position": steps(origins.position, SCORE_STEP),
        "by_query": steps(origins.by_query, SCORE_STEP),
        "by_key": steps(origins.by_key, SCORE_STEP),
    }
