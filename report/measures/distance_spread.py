"""How far apart the targets of a token are: the standard deviation of their distances, in tokens.

The mean over rows i > 0 of the square root of sum_j q_ij (|i - j| - m_i)^2, where q_ij is p_ij
divided by what row i gives to tokens at all, and m_i the mean of the distances |i - j| so weighted.
"""

TITLE = "Spread of distances"
AXIS = "standard deviation of the distance to a target (tokens)"
RANGE = 0, None
NUMBER = ".1f"
DOES = "the targets of {head} are farthest apart, with a standard deviation of {value} tokens"
COUNTED = "A point is a head: how far apart its targets are, on average."
ALT = "Mean standard deviation of the distance in tokens of what a token attends to"


def rows(attention):
    away = (attention.query[:, None] - attention.key).abs().double()
    share = attention.probability.double() / attention.given[..., None]
    mean = (share * away).sum(-1, keepdim=True)
    return (share * (away - mean) ** 2).sum(-1).sqrt()
