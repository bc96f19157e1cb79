"""Mean attention to earlier occurrences of the same token.

The mean over the rows i > 0 whose token was there before of the sum of p_ij over the earlier places
j of that token, from 0 to 1.
source: duplicate token heads, Wang et al. 2022
"""

TITLE = "Attending to the same token before"
AXIS = "mean probability on earlier occurrences of the token"
NUMBER = ".1%"
DOES = "{head} gives most to earlier occurrences of the same token, {value} of its attention"
COUNTED = "A point is a head: how much a token that was there before gives to where it was."


def rows(attention):
    ids = attention.token_ids
    same = ids[attention.query][:, None] == ids[attention.key]
    same &= attention.key < attention.query[:, None]
    given = (attention.probability * same).sum(-1).double()
    return given.where(attention.last_before() >= 0, float("nan"))
