"""Conditions of a study: their tokens, attention that positions receive, and effects of fillers.

conditions.json                  schema conditions/1
received/<layer>/<head>.json     schema received/1
effects.json                     schema table/1, tables "effects" and "layers"
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.datasets.formats.passage import token_label, visible

if TYPE_CHECKING:
    from report.measurements.conditions import ConditionStatistics
    from report.models.text.segments import Crossing

TEXTS_SCHEMA = "conditions/1"
RECEIVED_SCHEMA = "received/1"

STEP = 0.00002
"""Unit of the stored probabilities; a value is off by at most half of it."""

EFFECT_STEP = 0.0001
"""The unit of the stored effects."""

REDUCTIONS = ("mean", "last", "all")
"""How attention that a position receives is reduced over queries; see the schema conditions/1."""

MEASURES = {
    "lambda": "share of probability that does not go to the added segment, but to all other tokens "
    "(and the sink, if the model has one); a token over the edge of that segment is one of them",
    "total_variation": "half of the summed differences between the patterns over the tokens of "
    "both conditions, each pattern summing to 1",
    "affine_error": "length of what lambda times the first condition's context, plus what the "
    "added tokens' values bring, leaves unexplained of the context, divided by the context's "
    "length",
}
"""Measure of what an added segment changes for a current token -> description."""

ROWS = ("mean", "last")
"""Queries after the added segment that effects are of: the mean over all, or the last one."""

CALLED = {"filler": "“{label}”", "system": "the instruction", "begun": "the answer’s beginning"}
"""Segment of a prompt -> its name in sentences, if not "the" and its own."""

EXAMPLES = 3
"""Most tokens that a sentence quotes."""


def called(segment: str, label: str) -> str:
    """The name of a segment within a sentence; label: of the condition."""
    if segment.startswith("template"):
        return "the chat template"
    return CALLED.get(segment, f"the {segment}").replace("{label}", label)


def over_edges(
    model: str, conditions: Iterable[tuple[str, int, Sequence[dict], bool]]
) -> list[str]:
    """A sentence per edge between segments that tokens cross: which tokens, and where they count.

    conditions: of each its label, the number of prompts, its crossings as in conditions/1, and
        whether the tokens count for neither segment; else they count for the first
    """
    found = {}
    for label, prompts, crossings, left_out in conditions:
        edges = {}
        for each in crossings:
            edges.setdefault((each["before"], each["after"]), []).append(each)
        for (before, after), here in edges.items():
            texts = list(dict.fromkeys(f"“{each['text']}”" for each in here))
            more = f" and {len(texts) - EXAMPLES} more" if len(texts) > EXAMPLES else ""
            clause = (
                f"in {len({each['prompt'] for each in here})} of {prompts} prompts, one token "
                f"({', '.join(texts[:EXAMPLES])}{more}) is the end of {called(before, label)} and "
                f"the beginning of {called(after, label)}, so it counts for "
                f"{'neither' if left_out else 'the first of them, as it was measured'}."
            )
            found.setdefault(clause, []).append(f"“{label}”")
    return [f"{model}, {' and '.join(labels)}: {clause}" for clause, labels in found.items()]


def crossing(prompt: int, found: Crossing) -> dict:
    """An entry of "crossings" in conditions/1; prompt: its index, from 0."""
    return {
        "prompt": prompt,
        "token": found.token,
        "text": token_label(found.text, found.raw_bytes),
        "before": found.before,
        "after": found.after,
    }


def encode_texts(measured: Sequence[ConditionStatistics]) -> dict:
    """The conditions/1 dataset; measured: one per condition, the first without additions."""
    base = measured[0].first.texts
    return {
        "schema": TEXTS_SCHEMA,
        "prompts": measured[0].prompts,
        "reductions": list(REDUCTIONS),
        "conditions": [_encode_text(statistics, base) for statistics in measured],
    }


def encode_received(layer: int, head: int, measured: Sequence[ConditionStatistics]) -> dict:
    """The received/1 dataset of one head; measured: one per condition."""
    return {
        "schema": RECEIVED_SCHEMA,
        "layer": layer,
        "head": head,
        "step": STEP,
        "conditions": {
            condition.name: {
                name: {
                    "mean": columnar.steps(condition.received.mean[place, layer, head], STEP),
                    "standard_error": columnar.steps(
                        condition.received.standard_error[place, layer, head], STEP
                    ),
                }
                for place, name in enumerate(REDUCTIONS)
            }
            for condition in measured
        },
    }


def decode_received(dataset: dict) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Decode received/1, the attention that positions receive from a head.

    returns: condition -> reduction -> (mean, standard error) over prompts, each float [positions];
        an error is NaN where a single prompt has the position
    raises: ArithmeticError if a number overflows
    """
    return {
        name: {
            reduction: _decode_spread(dataset["step"], values)
            for reduction, values in reductions.items()
        }
        for name, reductions in dataset["conditions"].items()
    }


def encode_effects(measured: Sequence[ConditionStatistics]) -> dict:
    """The table/1 dataset of effects of added segments: "effects" per head, "layers" per layer.

    measured: one per condition; those without an added segment have no rows
    """
    changed = [condition for condition in measured if condition.compared is not None]
    heads = measured[0].received.mean.shape[2]
    by_head = _columns(changed, "compared", heads)
    by_layer = _columns(changed, "of_layers", None)
    return columnar.encode({"effects": by_head, "layers": by_layer})


def _encode_text(statistics, base):
    text = statistics.first
    new = [name for name in text.texts if name not in base]
    tokens = [
        token_label(token["text"], token.get("bytes"), token.get("part")) for token in text.tokens
    ]
    shown = [
        _in_line(token.get("part"), label) for token, label in zip(text.tokens, tokens, strict=True)
    ]
    return {
        "name": statistics.name,
        "label": statistics.label,
        "tokens": tokens,
        **({"shown": shown} if shown != tokens else {}),
        "segments": [
            {"name": name, "first": text.span(name)[0], "last": text.span(name)[-1]}
            for name in text.texts
            if text.span(name)
        ],
        "added": new[0] if new else None,
        "counts": statistics.received.count.tolist(),
        "positions": list(statistics.positions),
        "crossings": [crossing(prompt, found) for prompt, found in statistics.crossings],
    }


def _in_line(part, label):
    """The text of a token in a line: of a character in several tokens, the first shows it whole."""
    if not part:
        return label
    return visible(part["of"]) if part["number"] == 1 else ""


def _decode_spread(step, values):
    with np.errstate(over="raise"):
        mean, error = (columnar.from_steps(values[of], step) for of in ("mean", "standard_error"))
        return mean, error


def _columns(changed, spreads, heads):
    """Columns of a table: a row for each condition, entry of ROWS, layer and, unless None, head.

    spreads: attribute of the effects, means and errors [measure, ROWS, layer] or [..., layer, head]
    """
    keys = ("condition", "rows", "layer", "head") if heads else ("condition", "rows", "layer")
    columns = {name: [] for name in keys}
    for name in MEASURES:
        columns |= {name: [], f"{name}_error": []}
    for condition in changed:
        spread = getattr(condition, spreads)
        for place, rows in enumerate(ROWS):
            pairs = np.stack([spread.mean, spread.standard_error], 1)[:, :, place]
            layer, *head = (index.ravel().tolist() for index in np.indices(pairs.shape[2:]))
            columns["condition"] += [condition.name] * len(layer)
            columns["rows"] += [rows] * len(layer)
            columns["layer"] += layer
            if heads:
                columns["head"] += head[0]
            for (mean, error), name in zip(pairs, MEASURES, strict=True):
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
    described = {name: Column(*about[name], columns[name]) for name in columns if name in about}
    over = "mean over prompts" if heads else "mean over the heads of a layer, then over prompts"
    for name, description in MEASURES.items():
        unit = "fraction" if name == "affine_error" else "0 to 1"
        described[name] = Column(f"{over}: {description}", unit, columns[name], EFFECT_STEP)
        error = f"standard error of {name} over prompts"
        described[f"{name}_error"] = Column(error, unit, columns[f"{name}_error"], EFFECT_STEP)
    return described
