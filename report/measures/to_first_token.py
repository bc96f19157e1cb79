"""Mean attention to the first token.

The mean over rows i > 0 of p_i0, from 0 to 1; 0 where a window hides token 0.
source: attention sinks, Xiao et al. 2023
"""

TITLE = "Mean attention to the first token"
AXIS = "mean probability on token 0"
NUMBER = ".1%"
DOES = "{head} gives most to the first token, {value} of its attention"
COUNTED = "A point is a head: how much of its attention goes to the first token, on average."


def rows(attention):
    return attention.to(0)
