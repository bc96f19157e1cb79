"""How deep a filler's effect goes: one head of several layers, without a filler and with it."""

from report.figures import _controls, _received

NAME = "filler_layers"


def title(data):
    place = data.places[0]
    head = place.head + _received.COUNTED_FROM
    return f"{place.model.name} Head {head} from layer to layer"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    return _received.left_out(data, 2)


def caption(data):
    without, with_it = data.lines.values()
    return (
        f"“{without}” is the prompt as it is, “{with_it}” the one with "
        f"{_received.named(data)}, which are cut out here, so that both lines are over the same "
        "tokens; positions are those of the prompt without them. Heads of the same number in "
        f"different layers have nothing in common but their number. {_received.explained(data)}"
    )


def controls(data):
    return [_received.reduction_control()]


def columns(data):
    """Panels side by side: one a layer."""
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
    return _received.styled(data, _received.BLUE, _received.RED)


def _panel(data, number):
    _received.check(NAME, data, 2)
    return {"place": data.places[number], "lines": _lines(data), "cut": True}


def chart(data, panel=0, **state):
    at = _controls.at_state(controls(data), state)
    return _received.chart(NAME, **_panel(data, panel), controls=at)


def rows(data, panel=0, **state):
    return _received.rows(**_panel(data, panel), **_controls.values(controls(data), state))


def alt(data, panel=0, **state):
    return _received.alt(**_panel(data, panel), **_controls.values(controls(data), state))


def seen(data, **state):
    return _received.seen_kept(data, **_controls.values(controls(data), state))
