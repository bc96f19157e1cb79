"""Mean attention to line ends.

The mean over rows i > 0 of the sum of p_ij over the tokens j that end a line, from 0 to 1.
"""

TITLE = "Attending to line ends"
AXIS = "mean probability on line ends"
NUMBER = ".1%"
DOES = "{head} gives most to line ends, {value} of its attention"
COUNTED = "A point is a head: how much of its attention goes to line ends, on average."


def rows(attention):
    return attention.to_all(attention.is_line_end)
