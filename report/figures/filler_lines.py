"""What a filler changes about the attention that a head gives: without it, with it, and where."""

from report.figures.parts import choices, received, score_terms
from report.figures.parts.received import use  # noqa: F401 (a figure has it)

NAME = "filler_lines"


def title(data):
    models = list(dict.fromkeys(place.model.name for place in data.places))
    return f"Attention with and without {received.named(data)}: {score_terms.listed(models)}"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    return received.left_out(data, 2)


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
        f"The colours are those of the study.{received.bands(data)}\n{received.explained(data)}"
    )


def controls(data):
    return [received.reduction_control()]


def columns(data):
    """Panels side by side: one a head."""
    return len(data.places)


def boxes(data):
    """The room of each panel."""
    return received.boxes(data, 2)


def panels(data):
    """Titles of the panels: the top row, then the bottom row."""
    return [place.title for place in data.places] * 2


def legends(data):
    """What the lines of each row are."""
    top, bottom = _lines(data, cut=True), _lines(data, cut=False)
    return [received.legend(top), received.legend(bottom, data.filler)]


def _lines(data, cut):
    """The lines of a row: both conditions on top, below the one with the filler, in blue."""
    both = received.styled(data, received.BLUE, received.RED)
    if cut:
        return both
    return [received.Line(both[1].condition, both[1].label, received.BLUE)]


def _panel(data, number):
    """Place, lines and row of a panel: the keywords of `received.rows`."""
    received.check(NAME, data, 2)
    row, column = divmod(number, len(data.places))
    return {
        "place": data.places[column],
        "lines": _lines(data, cut=row == 0),
        "cut": row == 0,
    }


def chart(data, panel=0, **state):
    return received.chart(
        NAME,
        **_panel(data, panel),
        controls=choices.at_state(controls(data), state),
        filler=data.filler,
        rules=data.rules,
    )


def rows(data, panel=0, **state):
    return received.rows(**_panel(data, panel), **choices.values(controls(data), state))


def alt(data, panel=0, **state):
    return received.alt(**_panel(data, panel), **choices.values(controls(data), state))


def seen(data, **state):
    """What the tokens that both have keep, and whether the highest point lies in what is added."""
    at = choices.values(controls(data), state)
    total, within = len(data.places), 0
    for number, place in enumerate(data.places, total):
        known = [row for row in rows(data, number, **at)["lines"] if row["mean"] is not None]
        top = max(known, key=lambda row: row["mean"], default=None)
        added = place.model.condition(list(data.lines)[-1]).new
        within += top is not None and top["position"] in added
    if total == 1:
        held = f"{'in' if within else 'outside'} the grey part"
        return f"{received.seen_kept(data, **at)} Below, the highest point lies {held}."
    where = {0: f"outside the grey part in all {total}", total: f"in the grey part in all {total}"}
    held = where.get(within, f"in the grey part in {within} of {total}")
    return f"{received.seen_kept(data, **at)} Below, the highest point lies {held} panels."
