"""What an addition to the prompt changes about a head's attention: without it, with it, where."""

import altair

from report.figures.parts import (
    choices,
    grid,
    received,
    received_chart,
    received_difference,
    received_numbers,
    score_terms,
)
from report.figures.parts.figure import Rows
from report.figures.parts.received import Panels

use = received.use


def title(data: Panels) -> str:
    models = list(dict.fromkeys(place.model.name for place in data.places))
    compared = f"with and without {received.named(data)}"
    if not data.adds:
        compared = " and ".join(f"under “{label}”" for label in data.lines.values())
    return f"Attention {compared}: {score_terms.listed(models)}"


def left_out(data: Panels) -> str:
    return received_chart.left_out(data, 2)


def caption(data: Panels) -> str:
    count = len(data.places)
    first, last = f"First {count} panels", f"Last {count}"
    if count == 1:
        first, last = "First panel", "Second"
    if data.adds:
        rules = ", between dashed rules," if data.rules else ""
        panels = (
            f"{first}: what each token gains or loses with {received.named(data)}, over the tokens "
            f"that the prompt has without, at their positions in it. {last}: all positions of the "
            f"prompt with it; the grey part{rules} is what was added."
        )
    else:
        panels = (
            f"{first}: what each token that both prompts have gains or loses in the second, at "
            f"the positions of the first. "
            f"{last}: all positions of the second prompt."
        )
    line = "A line is the attention weight of each position."
    return f"{line} {panels}{received.bands(data)}\n{received.explained(data)}"


def controls(data: Panels) -> list[choices.Switch]:
    return [received.reduction_control(), received_difference.control()]


def columns(data: Panels) -> int:
    """Panels side by side: each column is a head."""
    return len(data.places)


def boxes(data: Panels) -> list[grid.Box]:
    return received.boxes(data, 2)


def panels(data: Panels) -> list[str]:
    """Titles of the panels: the top row, then the bottom row."""
    return [place.title for place in data.places] * 2


def legends(data: Panels) -> list[list[dict[str, str]]]:
    top, bottom = _lines(data, cut=True), _lines(data, cut=False)
    top = received_difference.legend(top, received.legend(top))
    return [top, received.legend(bottom, data.label if data.adds else "")]


def _lines(data, cut):
    """The lines of a row: on top (cut), both conditions at positions of the first prompt; below,
    the last condition."""
    both = received.styled(data, received.BLUE, received.RED)
    return both if cut else both[1:]


def _panel(data, number):
    """Keywords of `received_numbers.rows` for a panel."""
    row, column = divmod(number, len(data.places))
    return {
        "place": data.places[column],
        "lines": _lines(data, cut=row == 0),
        "cut": row == 0,
    }


def chart(data: Panels, panel: int = 0, **state: str) -> altair.LayerChart:
    return received_chart.chart(
        **_panel(data, panel),
        drawn=state["drawn"],
        noun=data.noun,
        span=received_chart.Span(data.label, data.rules),
    )


def rows(data: Panels, panel: int = 0, **state: str) -> dict[str, Rows]:
    return received_numbers.rows(**_panel(data, panel), reduction=state["reduction"])


def alt(data: Panels, panel: int = 0, **state: str) -> str:
    return received_numbers.alt(**_panel(data, panel), reduction=state["reduction"])


def seen(data: Panels, **state: str) -> str:
    """How much attention the other tokens keep, and how often the added part has the peak."""
    reduction = state["reduction"]
    ratios, edges = received_numbers.seen_kept(data, reduction), received.straddling(data)
    if not data.adds:
        return ratios + edges
    total, within = len(data.places), 0  # panels below, and those whose peak is in the added part
    for number, place in enumerate(data.places, total):
        line = rows(data, number, reduction=reduction)["lines"]
        known = [row for row in line if row["mean"] is not None]
        peak = max(known, key=lambda row: row["mean"], default=None)
        added = place.model.condition(list(data.lines)[-1]).new
        within += peak is not None and peak["position"] in added
    where = {0: f"outside the grey part in all {total}", total: f"in the grey part in all {total}"}
    part = where.get(within, f"in the grey part in {within} of {total}") + " panels"
    if total == 1:
        part = f"{'in' if within else 'outside'} the grey part"
    return f"{ratios} Below, the highest point lies {part}.{edges}"
