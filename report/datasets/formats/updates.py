"""What each head of a layer adds to the hidden state, token by token."""

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

RATIO_STEP = 0.0001

CROWD = 0.8
"""Fraction of the first-token points that the outlined region holds at each height."""

WINDOW = 15
"""Tokens above and below that count for one corner of the outline."""


def encode(
    layer: int,
    magnitude: np.ndarray,
    alignment: np.ndarray,
    largest_target: np.ndarray,
    raw: tuple[np.ndarray, np.ndarray] | None = None,
) -> dict:
    """The table/1 dataset of one layer.

    magnitude: float [head, token], length of the update / length of the hidden state
    alignment: float [head, token], cosine of update and hidden state, in [-1, 1]
    largest_target: int [head, token]
    raw: magnitude and alignment before the norm between head and hidden state, for models that have
        one; they become the columns raw_magnitude and raw_alignment
    """
    heads, length = magnitude.shape
    head, token = np.divmod(np.arange(heads * length), length)
    points = {
        "head": Column("head, in the model's order", "index from 0", head),
        "token": Column("current token", "index from 0", token),
        **_measures(magnitude, alignment, "what the head adds to the hidden state"),
        "largest_target": Column(
            "target token with the largest probability", "index from 0", largest_target.ravel()
        ),
    }
    if raw is not None:
        columns = _measures(*raw, "what the head gives to the norm before the hidden state")
        points |= {f"raw_{name}": column for name, column in columns.items()}
    outline = crowded_region(magnitude.ravel(), token, largest_target.ravel() == 0)
    region = {
        "order": Column("place of the corner on the outline", "index from 0", outline["order"]),
        "magnitude": Column(
            f"outline of where {CROWD:.0%} of the points lie whose largest target is token 0",
            "ratio",
            outline["magnitude"],
            RATIO_STEP,
        ),
        "token": Column("height of the corner", "index from 0", outline["token"]),
    }
    return columnar.encode({"points": points, "region": region}, layer=layer)


def _measures(magnitude, alignment, what):
    length = f"length of {what} / length of the hidden state"
    cosine = f"cosine of the angle between {what} and the hidden state"
    return {
        "magnitude": Column(length, "ratio", magnitude.ravel(), RATIO_STEP),
        "alignment": Column(cosine, "-1 to 1", alignment.ravel(), RATIO_STEP),
    }


def crowded_region(
    magnitude: np.ndarray, token: np.ndarray, first: np.ndarray
) -> dict[str, list | np.ndarray]:
    """Outline of the band that holds most points whose largest target is the first token.

    magnitude: float [points]; token: int [points]; first: bool [points]
    returns: order, magnitude and token [corners]: first along the lower quantiles of the magnitude
        within a sliding window of tokens, then back along the upper ones. Empty if fewer than 8
        tokens have such a point. Token 0 is left out: it has no other target
    """
    chosen = first & (token > 0)
    if len(np.unique(token[chosen])) < 8:
        return {"order": [], "magnitude": [], "token": []}
    margin = (1 - CROWD) / 2
    heights, lower, upper = [], [], []
    for height in range(token[chosen].min(), token[chosen].max() + 1):
        window = magnitude[chosen & (np.abs(token - height) <= WINDOW)]
        if len(window) < 4:
            continue
        heights.append(height)
        lower.append(np.quantile(window, margin))
        upper.append(np.quantile(window, 1 - margin))
    corners = np.concatenate([lower, upper[::-1]])
    return {
        "order": np.arange(len(corners)),
        "magnitude": corners,
        "token": np.concatenate([heights, heights[::-1]]).astype(int),
    }
