"""Mean distance of what a token attends to, in tokens.

The mean over rows i > 0 of sum_j p_ij |i - j| / sum_j p_ij, from 0 to the length of a text. No
number where a sink takes all.
"""

TITLE = "Distance"
AXIS = "mean distance to a target (tokens)"
RANGE = 0, None
NUMBER = ".1f"
DOES = "{head} looks farthest, {value} tokens away on average"
COUNTED = "A point is a head: how far away its targets are, on average."
ALT = "Mean distance in tokens of what a token attends to"


def rows(attention):
    return attention.to_mean((attention.query[:, None] - attention.key).abs())
