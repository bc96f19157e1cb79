"""A figure with one row of panels: heads side by side, two conditions in each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import altair

from report.figures.parts import (
    choices,
    received,
    received_chart,
    received_difference,
    received_numbers,
)
from report.figures.parts.figure import Figure, Rows
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
    row = _Row(styles, cut, shaded)
    return Figure(
        shows=shows,
        title=title,
        caption=caption,
        use=received.use,
        seen=seen,
        left_out=lambda data: received_chart.left_out(data, len(styles)),
        controls=row.controls,
        columns=lambda data: len(data.places),
        boxes=lambda data: received.boxes(data, 1),
        panels=lambda data: [place.title for place in data.places],
        legends=row.legends,
        chart=row.chart,
        rows=row.rows,
        alt=row.alt,
    )


@dataclass(frozen=True)
class _Row:
    """How the panels are drawn; see `figure`."""

    styles: tuple[Style, ...]
    cut: bool
    shaded: bool

    def controls(self, data: Panels) -> list[choices.Switch]:
        """Lines over the same tokens are drawn as their difference too."""
        difference = [received_difference.control()] if self.cut else []
        return [received.reduction_control(), *difference]

    def chart(self, data: Panels, panel: int = 0, **state: str) -> altair.LayerChart:
        shown = self._panel(data, panel)
        name = self._span(data, [shown["place"]])
        span = received_chart.Span(name) if name else None
        return received_chart.chart(**shown, drawn=state.get("drawn"), noun=data.noun, span=span)

    def rows(self, data: Panels, panel: int = 0, **state: str) -> dict[str, Rows]:
        return received_numbers.rows(**self._panel(data, panel), reduction=state["reduction"])

    def alt(self, data: Panels, panel: int = 0, **state: str) -> str:
        return received_numbers.alt(**self._panel(data, panel), reduction=state["reduction"])

    def legends(self, data: Panels) -> list[list[dict[str, str]]]:
        lines = received.styled(data, *self.styles)
        entries = received.legend(lines, self._span(data, data.places))
        return [received_difference.legend(lines, entries) if self.cut else entries]

    def _panel(self, data, number):
        """Keywords of `received_numbers.rows` for a panel."""
        lines = received.styled(data, *self.styles)
        return {"place": data.places[number], "lines": lines, "cut": self.cut}

    def _span(self, data, places):
        """What the shaded positions are called; "" where none are."""
        return data.noun.capitalize() if self.shaded and same_positions(data, places) else ""


def same_positions(data: Panels, places: Iterable[received.Place]) -> bool:
    """Whether all conditions add something, at the same positions of the prompt, at all places."""
    added = [{place.model.condition(name).new for name in data.lines} for place in places]
    return all(len(positions) == 1 and all(positions) for positions in added)
