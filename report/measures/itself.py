"""Share of tokens whose largest target is the token itself.

The mean over rows i > 0 of [argmax_j p_ij = i], from 0 to 1.
"""

TITLE = "Attending to itself"
AXIS = "share of tokens whose top target is themselves"
NUMBER = ".1%"
DOES = "{head} has the current token itself as its top target most often, for {value} of the tokens"
COUNTED = "A point is a head: how often its top target is the current token itself."
ALT = "Fraction of tokens that attend most to themselves"
LOOKS_AT = "the token itself"


def rows(attention):
    return attention.is_top(attention.query)
