"""In all specifications: nothing by colour alone, one scale of type, a title on every axis."""

import pytest

from report.figures.parts import theme
from tests.figures.pictures import specification
from tests.figures.test_every_figure import every_figure, inside, panels_of

PLACED = {
    # delimiters are narrower than what they part, and stand between the strips
    ("table_attention_map", "rect"): None,
    # in each layer heads are on the left and the feed-forward layer on the right; the embedding
    # is before the first layer, and biases are after the last
    ("effects_by_head", "rect"): ("part", "left"),
    # a bar goes to the right or to the left of 0, by the sign that its colour tells
    ("score_origins", "bar"): ("kind", "value"),
}
"""Figure, mark -> field of its colour, and the field of its place that says the same."""


def charts(node):
    """All parts of a specification that encode something."""
    if isinstance(node, list):
        return [part for child in node for part in charts(child)]
    if not isinstance(node, dict):
        return []
    here = [node] if "encoding" in node and "mark" in node else []
    return here + [part for child in node.values() for part in charts(child)]


@pytest.fixture
def specs(figure, drawn_of):
    return [specification(figure, drawn_of, **panel) for panel in panels_of(figure, drawn_of)]


def by_colour(spec):
    """(mark, encoding, channel) of every chart whose colour is a name or a class."""
    return [
        (part["mark"]["type"], part["encoding"], part["encoding"][name])
        for part in charts(spec)
        for name in ("color", "fill", "stroke")
        if part["encoding"].get(name, {}).get("type") in ("nominal", "ordinal")
    ]


@every_figure
def test_what_a_colour_says_something_else_says_too(figure, specs):
    for spec in specs:
        said = {
            (part["encoding"][name]["field"])
            for part in charts(spec)
            for name in ("shape", "strokeDash", "text")
            if "field" in part["encoding"].get(name, {})
        }
        for mark, encoding, colour in by_colour(spec):
            own = {encoding.get(name, {}).get("field") for name in ("shape", "strokeDash", "text")}
            if (figure.name, mark) in PLACED:
                place = PLACED[figure.name, mark]
                assert place in (None, (colour["field"], encoding["x"].get("field")))
            elif mark == "circle" and (figure.name, colour["field"]) == ("logit_lens", "kind"):
                assert on_a_dashed_line(spec, encoding)
            elif mark in ("line", "point", "circle") and colour["field"] != "line":
                assert colour["field"] in own, (mark, colour["field"])
            else:  # bands, bars and lines that another layer names or dashes
                assert mark != "rect" or figure.name == "table_attention_map"
                assert colour["field"] in said or mark == "rule", (mark, colour["field"])


def on_a_dashed_line(spec, encoding):
    """Whether a line goes through points of an encoding, dashed by what their colours tell."""
    return any(
        part["mark"]["type"] == "line"
        and part["encoding"].get("strokeDash", {}).get("field") == encoding["color"]["field"]
        and all(part["encoding"][n]["field"] == encoding[n]["field"] for n in ("x", "y"))
        for part in charts(spec)
    )


@every_figure
def test_no_colour_tells_more_than_seven_things_apart(figure, specs):
    for spec in specs:
        for *_, colour in by_colour(spec):
            assert len(colour["scale"]["domain"]) <= 7


@every_figure
def test_all_text_is_of_the_one_scale(figure, specs):
    allowed = set(theme.TYPE.values())
    for spec in specs:
        sizes = [*inside(spec, "fontSize"), *inside(spec["config"], "labelFontSize")]
        sizes += [*inside(spec["config"], "titleFontSize"), *inside(spec, "labelFontSize")]
        assert sizes
        assert set(sizes) <= allowed
        assert min(sizes) >= 11


@every_figure
def test_every_axis_has_a_title(figure, specs):
    for spec in specs:
        titles = {"x": set(), "y": set()}
        for part in charts(spec):
            for name, found in titles.items():
                channel = part["encoding"].get(name, {})
                if "field" in channel and channel.get("axis", {}) is not None:
                    found.add(channel.get("title") or channel.get("axis", {}).get("title"))
        for name, found in titles.items():
            written = {title for title in found if title}
            drawn_itself = figure.name in ("attention_breakdown", "paths")
            same = figure.name == "renderings_compared" and name == "y"
            follows = follows_a_switch(spec, name)
            assert written or drawn_itself or same or follows, (name, found)


def follows_a_switch(spec, axis):
    """Whether a text stands where the title of an axis does, chosen by a switch."""
    place = {"x": {"value": {"expr": "height + 24"}}, "y": {"value": -10}}[axis]
    switches = [c["param"] for c in spec["usermeta"]["report"]["controls"] if "options" in c]
    return any(
        part["encoding"].get("y") == place
        and part["mark"]["text"]["expr"].endswith(tuple(f"[{name}]" for name in switches))
        for part in charts(spec)
    )
