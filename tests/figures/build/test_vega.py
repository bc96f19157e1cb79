"""Charts as the page draws them: what the build changes in compiled charts changes no picture."""

import re

import altair as alt
import pytest
import vl_convert

from report.figures.build import vega


@pytest.fixture
def spec():
    points = alt.Chart(alt.InlineData([{"a": 1, "b": 2, "shade": 0}, {"a": 3, "b": 1, "shade": 1}]))
    mark = points.mark_point(
        size=alt.ExprRef("width / 4"),
        fill=alt.ExprRef("datum.shade ? 'red' : 'blue'"),
        stroke=alt.ExprRef("ink"),
        xOffset=alt.ExprRef("width / 20"),
        invalid=None,
    )
    chart = mark.encode(x="a:Q", y="b:Q").properties(width=200, height=100)
    return chart.add_params(alt.param(name="ink", value="#123456")).to_dict()


def plainly(spec):
    return vl_convert.vegalite_to_vega(spec, vl_version=vega.VEGA_LITE)


def drawn_of(compiled):
    """The picture, whatever a pointer can reach in it."""
    return vl_convert.vega_to_svg(compiled).replace(' pointer-events="none"', "")


def test_what_is_the_same_for_all_items_is_computed_once(spec):
    compiled = vega.vega(spec)
    signals = {each["name"]: each.get("update") for each in compiled["signals"]}
    update = compiled["marks"][0]["encode"]["update"]
    assert signals[update["size"]["signal"]] == "width / 4"
    assert signals[update["x"]["offset"]["signal"]] == "width / 20"
    assert update["stroke"] == {"signal": "ink"}  # one already
    assert update["fill"] == {"signal": "datum.shade ? 'red' : 'blue'"}  # not the same


def test_points_that_are_known_to_be_valid_are_not_tested(spec):
    assert "isValid" in str(plainly(spec)["marks"])
    assert "isValid" not in str(vega.vega(spec)["marks"])
    del spec["mark"]["invalid"]  # then the rows are filtered, which stays
    assert "isValid" in str(vega.vega(spec)["data"])


def test_the_picture_stays_the_same(spec):
    drawn = [drawn_of(each) for each in (plainly(spec), vega.vega(spec))]
    assert drawn[0] == drawn[1]
    assert len(set(re.findall(r'fill="(red|blue)"', drawn[1]))) == 2


def test_expressions_of_a_group_stay_where_its_own_signals_are(spec):
    spec.pop("config", None)
    inner = {key: spec.pop(key) for key in ("mark", "encoding", "width", "height")}
    faceted = spec | {"facet": {"row": {"field": "shade", "type": "nominal"}}, "spec": inner}
    compiled = vega.vega(faceted)
    assert not [each for each in compiled["signals"] if each["name"].startswith("constant")]
    assert drawn_of(compiled) == drawn_of(plainly(faceted))
