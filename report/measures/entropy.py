"""Mean entropy of a token's attention, in bits.

The mean over rows i > 0 of -sum_j q_ij log2 q_ij, where q_ij is p_ij divided by what row i gives to
tokens at all: 0 for one target, log2 n for n targets alike. No number where a sink takes all.
"""

TITLE = "Entropy"
AXIS = "mean entropy of attention (bits)"
RANGE = 0, None
DOES = "{head} spreads its attention most, with {value} bits on average"
COUNTED = "A point is a head: how widely it spreads its attention, on average."
ALT = "Mean entropy of a token's attention in bits"


def rows(attention):
    probability, given = attention.probability, attention.given
    nats = -(probability * probability.clamp(min=1e-30).log()).sum(-1).double()  # 0 log 0 is 0
    return (nats / given + given.log()) / 0.6931471805599453  # nats in a bit
