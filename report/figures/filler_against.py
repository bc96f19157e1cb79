"""Does it matter what a filler says? Meaningless tokens against a sentence of the same length."""

from report.figures import _controls, _received, _terms
from report.text import number

NAME = "filler_against"


def title(data):
    one, other = data.lines.values()
    return f"{one} vs {_received.lower(other)}"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    return _received.left_out(data, 2)


def caption(data):
    one, other = data.lines.values()
    return (
        "All positions of a prompt with one part or another before the question, of as many tokens "
        f"and in the same place: “{one}” or “{other}”. {_received.explained(data)}"
    )


def controls(data):
    return [_received.reduction_control()]


def columns(data):
    """Panels side by side: one a model."""
    return len(data.places)


def boxes(data):
    """The room of each panel."""
    return _received.boxes(data, 1)


def panels(data):
    """Titles of the panels."""
    return [place.title for place in data.places]


def legends(data):
    """What the lines are."""
    return [_received.legend(_lines(data))]


def _lines(data):
    return _received.styled(data, _received.BLUE, _received.ORANGE)


def _panel(data, number):
    _received.check(NAME, data, 2)
    return {"place": data.places[number], "lines": _lines(data), "cut": False}


def chart(data, panel=0, **state):
    at = _controls.at_state(controls(data), state)
    return _received.chart(NAME, **_panel(data, panel), controls=at)


def rows(data, panel=0, **state):
    return _received.rows(**_panel(data, panel), **_controls.values(controls(data), state))


def alt(data, panel=0, **state):
    return _received.alt(**_panel(data, panel), **_controls.values(controls(data), state))


def seen(data, **state):
    """What one addition gets of the weight that the other gets, panel by panel."""
    at = _controls.values(controls(data), state)
    one, other = (
        [_received.inside(place, condition, **at) for place in data.places]
        for condition in data.lines
    )
    first, second = data.lines.values()
    if min(other) <= 0 or any(value != value for value in one + other):
        return f"“{first}” and “{second}” cannot be compared in every panel."
    times = [mine / theirs for mine, theirs in zip(one, other, strict=True)]
    order = ", from the left panel to the right one" if len(times) > 1 else ""
    return (
        f"In the part that was added, a token of “{first}” gets "
        f"{_terms.listed(number(each) for each in times)} times the average weight that a token of "
        f"“{second}” gets{order}."
    )
