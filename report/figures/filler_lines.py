"""What a filler changes about the attention that a head gives: without it, with it, and where."""

from report.figures import _controls, _received, _terms
from report.figures._received import use  # noqa: F401 (a figure has it)

NAME = "filler_lines"


def title(data):
    models = list(dict.fromkeys(place.model.name for place in data.places))
    return f"Attention with and without {_received.named(data)}: {_terms.listed(models)}"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    return _received.left_out(data, 2)


def caption(data):
    rules = ", between dashed rules," if data.rules else ""
    count = len(data.places)
    first, last = f"First {count} panels", f"Last {count}"
    if count == 1:
        first, last = "First panel", "Second"
    return (
        f"{first}: what is added is cut out, so that both lines are over the same tokens; "
        f"positions are those of the prompt without it. {last}: all positions of the prompt with "
        f"it; the grey part{rules} is what was added. "
        f"The colours are those of the study.{_received.bands(data)}\n{_received.explained(data)}"
    )


def controls(data):
    return [_received.reduction_control()]


def columns(data):
    """Panels side by side: one a head."""
    return len(data.places)


def boxes(data):
    """The room of each panel."""
    return _received.boxes(data, 2)


def panels(data):
    """Titles of the panels: the top row, then the bottom row."""
    return [place.title for place in data.places] * 2


def legends(data):
    """What the lines of each row are."""
    top, bottom = _lines(data, cut=True), _lines(data, cut=False)
    return [_received.legend(top), _received.legend(bottom, data.filler)]


def _lines(data, cut):
    """The lines of a row: both conditions on top, below the one with the filler, in blue."""
    both = _received.styled(data, _received.BLUE, _received.RED)
    if cut:
        return both
    return [_received.Line(both[1].condition, both[1].label, _received.BLUE)]


def _panel(data, number):
    """Place, lines and row of a panel: the keywords of `_received.rows`."""
    _received.check(NAME, data, 2)
    row, column = divmod(number, len(data.places))
    return {
        "place": data.places[column],
        "lines": _lines(data, cut=row == 0),
        "cut": row == 0,
    }


def chart(data, panel=0, **state):
    return _received.chart(
        NAME,
        **_panel(data, panel),
        controls=_controls.at_state(controls(data), state),
        filler=data.filler,
        rules=data.rules,
    )


def rows(data, panel=0, **state):
    return _received.rows(**_panel(data, panel), **_controls.values(controls(data), state))


def alt(data, panel=0, **state):
    return _received.alt(**_panel(data, panel), **_controls.values(controls(data), state))


def seen(data, **state):
    """What the tokens that both have keep, and whether the highest point lies in what is added."""
    at = _controls.values(controls(data), state)
    total, within = len(data.places), 0
    for number, place in enumerate(data.places, total):
        known = [row for row in rows(data, number, **at)["lines"] if row["mean"] is not None]
        top = max(known, key=lambda row: row["mean"], default=None)
        added = place.model.condition(list(data.lines)[-1]).new
        within += top is not None and top["position"] in added
    if total == 1:
        held = f"{'in' if within else 'outside'} the grey part"
        return f"{_received.seen_kept(data, **at)} Below, the highest point lies {held}."
    where = {0: f"outside the grey part in all {total}", total: f"in the grey part in all {total}"}
    held = where.get(within, f"in the grey part in {within} of {total}")
    return f"{_received.seen_kept(data, **at)} Below, the highest point lies {held} panels."
