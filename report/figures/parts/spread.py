"""Some current tokens of a long passage, spread over it: a reader's browser has to be quick."""

import numpy as np


def spread(length: int, most: int) -> np.ndarray:
    """Tokens at equal distances, at most so many, the last one included: int [token].

    Of a passage of no more tokens, all of them.
    """
    apart = stride(length, most)
    return np.arange((length - 1) % apart, length, apart)


def stride(length: int, most: int) -> int:
    """How far apart they are."""
    return -(-length // most)
