"""A chart of layers is written as Altair writes its own."""

import altair
import pytest

from report.figures.parts.layers import layered

ROWS = altair.NamedData("rows")
TABLE = altair.Chart(ROWS)
POINTS = TABLE.mark_point().encode(x="a:Q", y="b:Q")
LINE = TABLE.transform_filter("datum.a > 1").mark_line().encode(x="a:Q", y="b:Q")
RULE = altair.Chart(altair.InlineData([{"at": 3}])).mark_rule().encode(x="at:Q")

CHARTS = {
    "of one table": lambda layer: layer(POINTS, LINE),
    "of two": lambda layer: layer(POINTS, RULE),
    "of one layer": lambda layer: layer(RULE),
    "of layers": lambda layer: layer(layer(POINTS, LINE), RULE, layer(LINE)),
    "of layers of one table": lambda layer: layer(layer(POINTS, LINE), POINTS),
    "with scales of their own": lambda layer: layer(
        layer(POINTS, RULE).resolve_scale(x="independent"), LINE
    ).resolve_scale(color="independent", y="shared"),
    "with a look": lambda layer: layer(POINTS, layer(LINE)).properties(
        width=80, title="A", params=[altair.VariableParameter("size", value=3)]
    ),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_the_specification_is_altairs(chart):
    assert chart(layered).to_dict() == chart(altair.layer).to_dict()
    assert chart(layered).copy().to_dict() == chart(altair.layer).to_dict()


def test_layers_are_not_copied_and_not_changed():
    kept = POINTS.to_dict()
    chart = layered(RULE, POINTS)
    assert chart.layer[0] is RULE
    layered(POINTS, LINE)
    assert POINTS.to_dict() == kept
