"""Scores by which induction and previous-token heads are found, on repeated random tokens.

The induction score is the prefix-matching score of Olsson et al. 2022. They repeat 25 random tokens
four times. Here a span occurs twice, and its score is compared with that of the same tokens at the
same places after a span of other tokens.
"""

import numpy as np

from report.errors import ReportError


def repeated_sequence(ordinary: np.ndarray, length: int, begin_id: int, seed: int) -> np.ndarray:
    """Begin token, `length` different random tokens, the same again: int [1 + 2 length].

    ordinary: int, the token ids to draw from, special tokens left out. None is drawn twice, so that
        there is one earlier occurrence.
    raises: ReportError if there are fewer of them than `length`
    """
    span, _ = _span(ordinary, length, seed)
    return np.concatenate([[begin_id], span, span])


def unrepeated_sequence(ordinary: np.ndarray, length: int, begin_id: int, seed: int) -> np.ndarray:
    """The second half of `repeated_sequence` after `length` other tokens: int [1 + 2 length].

    So the same tokens stand at the same places, and none of them was there before.

    raises: ReportError if there are fewer ordinary tokens than twice `length`
    """
    span, rng = _span(ordinary, length, seed)
    others = np.setdiff1d(ordinary, span)
    _require(others, length, 2 * length)
    return np.concatenate([[begin_id], rng.choice(others, length, replace=False), span])


def _span(ordinary, length, seed):
    _require(ordinary, length, length)
    rng = np.random.default_rng(seed)
    return rng.choice(ordinary, length, replace=False), rng


def _require(tokens, length, wanted):
    if len(tokens) < length:
        there = len(tokens) + wanted - length
        raise ReportError(
            f"{wanted} different tokens wanted of a vocabulary of {there}; take a model "
            "that has as many"
        )


def induction_probability(probability: np.ndarray, length: int) -> np.ndarray:
    """Mean probability on the token that came after the earlier occurrence of the current one.

    probability: float [..., query, key] on a sequence as of `repeated_sequence`
    length: tokens in the repeated span
    returns: float [...], the mean over every current token of the second copy, in [0, 1]
    source: induction heads, Elhage et al. 2021; prefix matching, Olsson et al. 2022
    """
    current = np.arange(length + 1, 2 * length + 1)
    return probability[..., current, current - length + 1].mean(-1)


def previous_token_probability(probability: np.ndarray) -> np.ndarray:
    """Mean probability on the token just before the current one.

    probability: float [..., query, key], at least 3 tokens
    returns: float [...], the mean over every current token but the first two, in [0, 1]: the first
        has no token before it, that of the second is the first token, which heads attend to for
        other reasons
    source: previous-token heads, Elhage et al. 2021
    """
    current = np.arange(2, probability.shape[-1])
    return probability[..., current, current - 1].mean(-1)
