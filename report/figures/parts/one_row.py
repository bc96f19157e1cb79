"""A figure with one row of panels: heads side by side, two conditions in each."""

from collections.abc import Callable, Iterable

import altair

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
    shaded: bool = False,
) -> Figure:
    """The figure whose words are given.

    styles: of the line of each condition
    cut: whether what the second condition adds is left out, so that both are over the same tokens
    shaded: whether the positions that the conditions add are, where all add the same ones
    """

    def of_panel(data, number):
        lines = received.styled(data, *styles)
        return {"place": data.places[number], "lines": lines, "cut": cut}

    def chart(data: Panels, panel: int = 0, **state: str) -> altair.LayerChart:
        place = data.places[panel]
        span = None
        if shaded and same_positions(data, [place]):
            span = received_chart.Span(data.noun.capitalize())
        drawn = of_panel(data, panel)
        at = choices.at_state(controls(data), state)
        return received_chart.chart(**drawn, controls=at, noun=data.noun, span=span)

    def rows(data, panel=0, **state):
        at = choices.values(controls(data), state)
        return received.rows(**of_panel(data, panel), **at)

    def alt(data, panel=0, **state):
        at = choices.values(controls(data), state)
        return received.alt(**of_panel(data, panel), **at)

    def controls(data):
        return [received.reduction_control()]

    def legends(data):
        here = shaded and same_positions(data, data.places)
        span = data.noun.capitalize() if here else ""
        return [received.legend(received.styled(data, *styles), span)]

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
