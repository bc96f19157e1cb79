"""Mean attention from punctuation to the text before.

The mean, over the rows i > 0 whose token is punctuation, of 1 - (p_ii + p_i0) / sum_j p_ij: what
these tokens take from others than themselves and the first, from 0 to 1.
"""

TITLE = "Attending from punctuation"
AXIS = "mean probability from punctuation on text before"
NUMBER = ".1%"
DOES = "{head} looks back most from punctuation, with {value} of its attention"
COUNTED = (
    "A point is a head: how much of the attention of punctuation goes to other tokens than itself "
    "and the first, on average."
)


def rows(attention):
    return attention.elsewhere.where(attention.is_punctuation[attention.query], float("nan"))
