"""Mean attention to the token just before.

The mean over rows i > 1 of p_i,i-1, from 0 to 1. Token 1 is left out: the token before it is the
first one, which heads attend to for other reasons.
source: previous-token heads, Elhage et al. 2021
"""

TITLE = "Mean attention to the token before"
AXIS = "mean probability on the token before"
NUMBER = ".1%"
DOES = "{head} gives most to the token before, {value} of its attention"
COUNTED = "A point is a head: how much of its attention goes to the token before, on average."


def rows(attention):
    return attention.to(attention.query - 1).where(attention.query > 1, float("nan"))
