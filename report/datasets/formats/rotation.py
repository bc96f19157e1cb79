"""How a head rotates its queries and keys (RoPE), found from what it rotated.

A rotation turns pairs of components, each by an angle that grows with the place of the token:

    (a, b) at token i  ->  (a cos x - b sin x, b cos x + a sin x),   x = i * frequency

So a file may keep queries and keys as they are before rotation, and a browser rotates them (Su et
al., RoFormer, arXiv 2104.09864, equation 15). Which components are a pair differs from model to
model: a component and the one half of them further on, or neighbours.
"""

from dataclasses import dataclass

import numpy as np

NEAR = 0.01
"""How far the rotation found may be from the measured one, relative to the largest number: models
in half precision round their sines. What is off is corrected where it counts."""


DIGITS = 12
"""Of a frequency in a file: the angle of token 10,000 is then exact to 1e-8."""


@dataclass(frozen=True)
class Rotation:
    """Which components turn, and how fast."""

    pairs: np.ndarray
    """int [pair, 2], components of a query or key."""
    frequencies: np.ndarray
    """float64 [pair], radians a token."""


NONE = Rotation(np.zeros((0, 2), np.int64), np.zeros(0))
"""That of models which rotate nothing."""


def turns(frequencies: np.ndarray, length: int) -> np.ndarray:
    """What the pairs of each token are multiplied by, complex [token, pair]."""
    angle = np.arange(length)[:, None] * frequencies
    return np.cos(angle) + 1j * np.sin(angle)


def found(plain: np.ndarray, rotated: np.ndarray) -> Rotation | None:
    """The rotation that leads from one to the other, or None if it is of another kind.

    plain, rotated: float [any number, token, component], queries and keys as the rotation of token
        0 leaves them, and as that of each token does
    """
    changed = np.flatnonzero((plain != rotated).any((0, 1)))
    if not len(changed):
        return None
    first, number = changed[0], changed[-1] + 1 - changed[0]
    if number % 2:
        return None
    components = first + np.arange(number)
    for pairs in (components.reshape(2, -1).T, components.reshape(-1, 2)):
        rotation = _fitted(plain, rotated, pairs)
        if rotation is not None:
            return rotation
    return None


def _fitted(plain, rotated, pairs):
    """The rotation of given pairs, or None if they are not turned evenly."""
    before, after = (
        side[..., pairs[:, 0]] + 1j * side[..., pairs[:, 1]] for side in (plain, rotated)
    )
    turned = (after * before.conj()).sum(0, dtype=complex)  # [token, pair]
    turned /= np.maximum(np.abs(turned), np.finfo(float).tiny)
    frequencies = np.zeros(len(pairs))
    lag = 1
    while lag < len(turned):  # ever longer lags tell the frequency ever more exactly
        still = turned[lag:] * turned[:-lag].conj() * np.exp(-1j * lag * frequencies)
        frequencies = frequencies + np.angle(still.sum(0)) / lag
        lag *= 2
    error = np.abs(after - before * turns(frequencies, len(turned))).max()
    frequencies = np.array([float(f"{one:.{DIGITS}g}") for one in frequencies])
    return Rotation(pairs, frequencies) if error <= NEAR * np.abs(before).max() else None
