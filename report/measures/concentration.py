"""How far the largest probability of a token is ahead of the second, on average.

The mean over rows i > 0 of the largest minus the second largest p_ij, from 0 to 1; what a sink
takes is no target.
"""

TITLE = "Attention concentration"
AXIS = "largest − second largest probability, mean"
NUMBER = ".3f"
DOES = "In {head} the top target is farthest ahead of the next, by a probability of {value}"
COUNTED = "A point is a head: how far its largest probability is above the second, on average."
ALT = "Mean difference between the largest and the second largest probability"


def rows(attention):
    largest = attention.largest[1].double()
    return largest[..., 0] - largest[..., 1]
