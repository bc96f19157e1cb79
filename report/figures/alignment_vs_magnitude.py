"""Do heads that add much add something new? Orientation against magnitude of every update."""

import altair
import numpy as np

from report.figures.parts import score_terms, theme, updates
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData
from report.text import number, percent

TENDENCY = 0.3
"""From this correlation on, the magnitude of an update says something about its orientation."""

ASPECT, PHONE_ASPECT = 1.35, 0.92

controls, left_out, rows = updates.controls, updates.left_out, updates.rows


def title(data: PassageData) -> str:
    return "Orientation vs Magnitude of Updates"


def caption(data: PassageData) -> str:
    return (
        "A point is one token in one head: orientation from left to right, magnitude upwards.\n"
        f"{updates.explained(data)}\nColour and shape say what the head looks at most from that "
        f"token.\n{updates.without_first(data)}"
    )


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    points = altair.Chart(altair.NamedData("points")).transform_filter(updates.AFTER_FIRST)
    return theme.frame(
        layered(
            updates.zero_line(),
            _cloud(data, points),
            *(ring.encode(**_axes()) for ring in updates.marked(points, 110)),
        ),
        theme.Source("updates/{layer}.json", "tables", ["points"]),
        description=f"{title(data)}: a scatter plot, one point a token and head",
        shows={"points": updates.DRAWN},
        params=updates.params(state),
    )


def _axes():
    return {
        "x": altair.X("alignment:Q", title=f"{updates.ALIGNMENT} (−1 to 1)").axis(
            tickCount=theme.ticks_across()
        ),
        "y": altair.Y("magnitude:Q", title=f"{updates.MAGNITUDE} (ratio)").axis(tickCount=6),
    }


def _cloud(data, points):
    named = {"alignment": "orientation", "magnitude": "magnitude"}
    cloud = updates.cloud(data, points, score_terms.KIND, small=16, opacity=0.6, named=named)
    return cloud.encode(**_axes(), **theme.kind_scales(updates.legend()))


def tendency(points: dict[str, np.ndarray]) -> tuple[int, float | None]:
    """Which way longer updates lie, of the columns of a table "points"; token 0 does not count.

    returns: -1 (to the left), 1 (to the right) or 0 (neither); and the correlation of orientation
        and magnitude, None where one of them does not vary
    """
    seen = points["token"] > 0
    alignment, magnitude = points["alignment"][seen], points["magnitude"][seen]
    if not seen.any() or min(np.ptp(alignment), np.ptp(magnitude)) == 0:
        return 0, None
    value = float(np.corrcoef(alignment, magnitude)[0, 1])
    return int(np.sign(value)) if abs(value) >= TENDENCY else 0, value


def seen(data: PassageData, **state: int) -> str:
    """On which side most points lie, and whether that goes with how far up they are."""
    columns = updates.points(data, state)
    after_first = columns["token"] > 0
    against = float(np.mean(columns["alignment"][after_first] < 0))
    side = "left of 0, against the state" if against >= 0.5 else "right of 0, along the state"
    said = f"Of the updates, {percent(max(against, 1 - against))} lie {side}"
    way, correlation = tendency(columns)
    if correlation is None:
        return f"{said}."
    more = "How long an update is says little about which way it points"
    if way:
        more = f"Longer updates tend to lie more to the {'left' if way < 0 else 'right'}"
    return f"{said}. {more} (correlation {number(correlation)})."
