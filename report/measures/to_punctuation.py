"""Mean attention to punctuation.

The mean over rows i > 0 of the sum of p_ij over the tokens j that are punctuation, from 0 to 1.
"""

TITLE = "Attending to punctuation"
AXIS = "mean probability on punctuation"
NUMBER = ".1%"
DOES = "{head} gives most to punctuation, {value} of its attention"
COUNTED = "A point is a head: how much of its attention goes to punctuation, on average."


def rows(attention):
    return attention.to_all(attention.is_punctuation)
