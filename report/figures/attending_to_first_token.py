"""How often a token's largest target is the first token, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.figures.parts.head_sorted import ASPECT, PHONE_ASPECT, controls, rows, use  # noqa: F401

Y_TITLE = "share of tokens whose largest target is token 0"
NUMBER = ".1%"


def title(data):
    return "Attending to the first token"


def caption(data):
    return head_sorted.caption(data, "How often the largest target of a token is the first token.")


def chart(data, **state):
    return head_sorted.chart(
        data, "attending_to_first_token", title(data), "first_token", Y_TITLE, NUMBER, state
    )


def alt(data, **state):
    return head_sorted.alt(
        data, "Fraction of tokens that attend most to the first token", "first_token", NUMBER, state
    )


def seen(data, **state):
    does = "{head} has the first token as its largest target most often, for {value} of the tokens"
    return head_sorted.seen(data, "first_token", does, state)
