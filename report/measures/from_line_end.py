"""Mean attention from line ends to the text before.

The mean, over the rows i > 0 whose token ends a line, of 1 - (p_ii + p_i0) / sum_j p_ij: what
these tokens take from others than themselves and the first, from 0 to 1.
"""

TITLE = "Attending from line ends"
AXIS = "mean probability from line ends on text before"
NUMBER = ".1%"
DOES = "{head} looks back most from line ends, with {value} of their attention"
COUNTED = (
    "A point is a head: how much of the attention of line ends goes to other tokens than "
    "themselves and the first, on average."
)


def rows(attention):
    return attention.elsewhere.where(attention.is_line_end[attention.query], float("nan"))
