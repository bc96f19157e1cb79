"""Mean attention to the token itself.

The mean over rows i > 0 of p_ii, from 0 to 1.
"""

TITLE = "Mean attention to the token itself"
AXIS = "mean probability on the token itself"
NUMBER = ".1%"
DOES = "{head} gives most to the token itself, {value} of its attention"
COUNTED = "A point is a head: how much of its attention goes to the token itself, on average."


def rows(attention):
    return attention.to(attention.query)
