"""Mean attention to what came next after the last earlier occurrence of the same token.

The mean over the rows i > 0 whose token was there before, last at j, of p_i,j+1, from 0 to 1. Token
i itself is no target that came next (j + 1 < i), so a token said twice running is left out.
source: prefix matching, Olsson et al. 2022, who measure it on repeated random tokens
"""

TITLE = "Attending to what came next last time"
AXIS = "mean probability on what came next last time"
NUMBER = ".1%"
DOES = "{head} gives most to what came next last time, {value} of its attention"
COUNTED = (
    "A point is a head: of tokens that were there before, how much attention goes to the token "
    "after the last earlier occurrence."
)


def rows(attention):
    before = attention.last_before()
    return attention.to((before + 1).where((before >= 0) & (before + 1 < attention.query), -1))
