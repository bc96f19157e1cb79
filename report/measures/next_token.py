"""Share of tokens whose largest target is the token just after, in models that see it.

The mean over rows i > 0 that have a token after them of [argmax_j p_ij = i + 1], from 0 to 1. No
number for a decoder, which sees no later token.
"""

TITLE = "Attending to the next token"
AXIS = "share of tokens whose top target is the token after"
NUMBER = ".1%"
DOES = "{head} has the token after as its top target most often, for {value} of the tokens"
COUNTED = "A point is a head: how often its top target is the token just after."
ALT = "Fraction of tokens that attend most to the token after"
LOOKS_AT = "the token after"


def rows(attention):
    return attention.is_top(attention.query + 1, only_visible=True)
