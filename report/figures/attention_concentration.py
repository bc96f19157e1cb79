"""How far the largest target stands out from the second, head by head and layer by layer."""

from report.figures.parts import head_sorted
from report.figures.parts.head_sorted import ASPECT, PHONE_ASPECT, controls, rows, use  # noqa: F401

Y_TITLE = "largest − second largest probability, mean"
NUMBER = ".3f"


def title(data):
    return "Attention concentration"


def caption(data):
    return head_sorted.caption(
        data,
        "How far the largest probability of a token is above its second largest, on average.",
    )


def chart(data, **state):
    return head_sorted.chart(
        data, "attention_concentration", title(data), "concentration", Y_TITLE, NUMBER, state
    )


def alt(data, **state):
    return head_sorted.alt(
        data,
        "Mean difference between the largest and the second largest probability",
        "concentration",
        NUMBER,
        state,
    )


def seen(data, **state):
    does = "{head} is the most concentrated, its largest target {value} ahead of the next"
    return head_sorted.seen(data, "concentration", does, state)
