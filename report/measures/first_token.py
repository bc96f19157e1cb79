"""Share of tokens whose largest target is the first token.

The mean over rows i > 0 of [argmax_j p_ij = 0], from 0 to 1.
source: attention sinks, Xiao et al. 2023
"""

TITLE = "Attending to the first token"
AXIS = "share of tokens whose top target is token 0"
NUMBER = ".1%"
DOES = "{head} has the first token as its top target most often, for {value} of the tokens"
COUNTED = "A point is a head: how often its top target is the first token."
ALT = "Fraction of tokens that attend most to the first token"
LOOKS_AT = "the first token"


def rows(attention):
    return attention.is_top(0)
