"""The rows of logit_lens: first guesses of every state, and how the answer rises."""

import math

import numpy as np

from report.figures.parts import predicted
from report.figures.parts.figure import Rows
from report.figures.parts.predicted import Shown
from report.kinds.prediction.pieces import Lens

SHOWN = 16
"""Tokens, up to the one that predicts."""


def states(layers: int, after: str) -> list[int]:
    """The states that the map has: the embedding, then one a layer."""
    return [0, *(2 * layer + (1 if after == "attention" else 2) for layer in range(layers))]


def guesses(shown: Shown, after: str) -> Rows:
    """A row a cell of the map."""
    text, lens = shown.sentence, shown.sentence.lens
    layers = len(lens.tokens) // 2
    return [
        {
            "token": token,
            "named": predicted.named(text, token),
            "token_said": f"{token}  “{text.tokens[token].label}”",
            "from_last": shown.row - token,
            "row": number_ - 1,
            "layer": "embedding" if number_ == 0 else str(number_ - 1),
            **_guess(text, lens, state, token),
        }
        for number_, state in enumerate(states(layers, after))
        for token in range(max(0, shown.row - SHOWN + 1), shown.row + 1)
    ]


def _guess(text, lens, state, token):
    first, *others = (lens.words[int(one)] for one in lens.tokens[state, token])
    return {
        "guess": predicted.bare(first),
        "guess_said": f"“{first}”",
        "probability": math.exp(lens.log_probability[state, token, 0]),
        "others": " ".join(f"“{other}”" for other in others),
        "right_said": f"“{text.target(token).label}”",
        "rank": int(lens.target_rank[state, token]),
    }


def rise(shown: Shown) -> Rows:
    """A row a state and word: how probable the word is there, at the token that predicts."""
    text, lens = shown.sentence, shown.sentence.lens
    lines = [("the answer", text.target(shown.row), *of_target(lens, shown.row))]
    last = shown.row == text.rows - 1
    if last and lens.other_rank is not None:
        lines.append(("the other word", text.other(), lens.other_log_probability, lens.other_rank))
    return [
        {
            "state": (state - 1) / 2 - 0.25 if state else -0.5,
            "where": where,
            "line": line,
            "kind": kind,
            "word": f"“{word.label}”",
            "log_probability": float(logs[state]),
            "probability": math.exp(logs[state]),
            "rank": int(ranks[state]),
        }
        for line, (kind, word, logs, ranks) in enumerate(lines)
        for state, where in enumerate(lens.labels)
    ]


def of_target(lens: Lens, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Log probability and rank of what a row asks for, both [states]."""
    return lens.target_log_probability[:, row], lens.target_rank[:, row]
