"""A figure with one row of panels: heads side by side, two conditions in each."""

from collections.abc import Callable, Iterable

from report.figures.parts import choices, received, received_chart
from report.figures.parts.figure import Figure
from report.figures.parts.received import Panels, Style


def figure(
    shows: str,
    title: Callable[[Panels], str],
    caption: Callable[[Panels], str],
    seen: Callable[..., str],
    *,
    styles: tuple[Style, ...],
    cut: bool,
    span: str = "",
) -> Figure:
    """The figure whose words are given.

    styles: of the line of each condition
    cut: whether what the second condition adds is left out, so that both are over the same tokens
    span: name of the positions that the conditions add, which are shaded where all conditions add
        the same ones; "": nothing is shaded
    """

    def of_panel(data, number):
        lines = received.styled(data, *styles)
        return {"place": data.places[number], "lines": lines, "cut": cut}

    def chart(data, panel=0, **state):
        place = data.places[panel]
        shaded = received_chart.Span(span) if span and same_positions(data, [place]) else None
        at = choices.at_state(controls(data), state)
        return received_chart.chart(**of_panel(data, panel), controls=at, span=shaded)

    def rows(data, panel=0, **state):
        at = choices.values(controls(data), state)
        return received.rows(**of_panel(data, panel), **at)

    def alt(data, panel=0, **state):
        at = choices.values(controls(data), state)
        return received.alt(**of_panel(data, panel), **at)

    def controls(data):
        return [received.reduction_control()]

    def legends(data):
        shaded = span if same_positions(data, data.places) else ""
        return [received.legend(received.styled(data, *styles), shaded)]

    return Figure(
        shows=shows,
        title=title,
        caption=caption,
        use=received.use,
        seen=seen,
        left_out=lambda data: received.left_out(data, len(styles)),
        controls=controls,
        columns=lambda data: len(data.places),
        boxes=lambda data: received.boxes(data, 1),
        panels=lambda data: [place.title for place in data.places],
        legends=legends,
        chart=chart,
        rows=rows,
        alt=alt,
    )


def same_positions(data: Panels, places: Iterable[received.Place]) -> bool:
    """Whether all conditions add something, at the same positions of the prompt, at all places."""
    added = [{place.model.condition(name).new for name in data.lines} for place in places]
    return all(len(positions) == 1 and all(positions) for positions in added)
