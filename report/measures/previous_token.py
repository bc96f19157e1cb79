"""Share of tokens whose largest target is the token just before.

The mean over rows i > 0 of [argmax_j p_ij = i - 1], from 0 to 1. Token 1 counts here and for the
first token, which is both.
source: previous-token heads, Elhage et al. 2021
"""

TITLE = "Attending to the token before"
AXIS = "share of tokens whose top target is the token before"
NUMBER = ".1%"
DOES = "{head} has the token before as its top target most often, for {value} of the tokens"
COUNTED = "A point is a head: how often its top target is the token just before."
ALT = "Fraction of tokens that attend most to the token before"
LOOKS_AT = "the token before"


def rows(attention):
    return attention.is_top(attention.query - 1)
