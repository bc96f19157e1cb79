"""What findings about a passage ask of every head's attention, read once."""

import numpy as np

from report.datasets.formats.attention_terms import PLACED
from report.figures.parts import score_terms

PLACES = ("first_token", "last_token", "previous_token", "next_token")
"""Targets that are told by their place."""

TERMS = ("content", "mixed", "bias", "position", *PLACED[1:])
"""The terms that can differ between the targets of a token."""


def summary(data) -> dict[str, np.ndarray]:
    """Numbers of every head over a passage of T tokens, from the shards of a `PassageData`.

    returns: dict of float [layer, head]:
        first_token: mean probability that tokens but the first give to it
        last_token: mean probability that tokens but the last give to it
        sink: what no token gets, mean over all tokens
        each of `TERMS`: mean over rows with two targets or more of the standard deviation
            of this term over the targets
        even_<place>: mean of what uniform attention gives to each of `PLACES`
    and largest_target: int [layer, head, T], the index of every token's top target
    """
    shape = (data.layers, data.heads)
    names = ("first_token", "last_token", "sink", *TERMS, *(f"even_{p}" for p in PLACES))
    found = {name: np.zeros(shape) for name in names}
    found["largest_target"] = np.zeros((*shape, data.length), int)
    for at in np.ndindex(*shape):
        attention = data.attention(*at)
        probability, seen = attention.probability, attention.visible.mask()
        found["largest_target"][at] = attention.largest_targets[:, 0]
        found["first_token"][at] = probability[1:, 0].mean()
        found["last_token"][at] = probability[:-1, -1].mean()
        found["sink"][at] = 0 if attention.sink is None else 1 - probability.sum(1).mean()
        for name, share in _even(seen).items():
            found[f"even_{name}"][at] = share
        for name in TERMS:
            if (term := score_terms.term(attention, name)) is not None:
                found[name][at] = _row_spread(term.matrix(), seen)
    return found


def _even(seen):
    """What uniform attention over what is seen, bool [query, key], gives to each of PLACES."""
    even = seen / seen.sum(1, keepdims=True)
    ways = even[1:, 0], even[:-1, -1], np.diagonal(even, -1), np.diagonal(even, 1)
    return dict(zip(PLACES, [way.mean() for way in ways], strict=True))


def _row_spread(matrix, seen):
    """Mean over rows with a choice of the standard deviation over the targets that are seen."""
    choice = seen.sum(1) > 1
    if not choice.any():
        return 0.0
    values, seen = matrix[choice], seen[choice]
    count = seen.sum(1)
    mean = (values * seen).sum(1) / count
    variance = ((values - mean[:, None]) ** 2 * seen).sum(1) / count
    return float(np.sqrt(variance).mean())
