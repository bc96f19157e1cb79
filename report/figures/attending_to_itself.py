"""How often a token's largest target is the token itself, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.figures.parts.head_sorted import ASPECT, PHONE_ASPECT, controls, rows, use  # noqa: F401

Y_TITLE = "share of tokens whose largest target is themselves"
NUMBER = ".1%"


def title(data):
    return "Attending to itself"


def caption(data):
    return head_sorted.caption(data, "How often the largest target of a token is the token itself.")


def chart(data, **state):
    return head_sorted.chart(
        data, "attending_to_itself", title(data), "itself", Y_TITLE, NUMBER, state
    )


def alt(data, **state):
    return head_sorted.alt(
        data, "Fraction of tokens that attend most to themselves", "itself", NUMBER, state
    )


def seen(data, **state):
    does = (
        "{head} has the current token itself as its largest target most often, for {value} of the "
        "tokens"
    )
    return head_sorted.seen(data, "itself", does, state)
