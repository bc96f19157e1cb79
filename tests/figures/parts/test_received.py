"""The filler study's grids: rows against a plain loop, titles, legends, what cannot be drawn."""

import json
import re

import numpy as np
import pytest

from report.errors import ReportError
from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.parts import received, received_chart
from tests.figures import hand_conditions
from tests.figures.hand_conditions import FILLER, MERGED, SYSTEM
from tests.figures.live_page import GRIDS

filler_lines, filler_against, filler_layers, filler_effect = map(figure_named, GRIDS)


def file(model, name):
    return json.loads((model.path / name).read_text("utf-8"))


@pytest.mark.parametrize("reduction", ["mean", "last"])
def test_lines_that_are_cut_lie_over_the_same_tokens(conditions, reduction):
    data = hand_conditions.panels(conditions, "filler_lines")
    rows = filler_lines.rows(data, panel=1, reduction=reduction)["lines"]
    shard = file(conditions.models[0], "received/2/3.json")
    texts = {
        each["name"]: each for each in file(conditions.models[0], "conditions.json")["conditions"]
    }
    length = len(texts["none"]["counts"])
    assert len(rows) == 2 * length
    for row in rows:
        values = shard["conditions"][row["condition"]][reduction]
        place = texts[row["condition"]]["positions"][row["position"]]
        if place < 0:
            assert row["mean"] is row["low"] is row["high"] is None
            assert (row["condition"], row["position"]) == ("filler", MERGED)
            continue
        mean, error = values["mean"][place], values["standard_error"][place]
        assert row["mean"] == pytest.approx(mean * shard["step"])
        if error is None:
            assert row["standard_error"] is row["low"] is row["high"] is None
        else:
            assert row["low"] == pytest.approx((mean - error) * shard["step"])
            assert row["high"] == pytest.approx((mean + error) * shard["step"])
    labels = [texts["none"]["tokens"][p] for p in range(SYSTEM)]
    assert labels == texts["filler"]["tokens"][:SYSTEM]


def test_the_bottom_row_has_every_position_of_the_prompt_with_filler(conditions):
    data = hand_conditions.panels(conditions, "filler_lines")
    rows = filler_lines.rows(data, panel=3)["lines"]
    mean = file(conditions.models[0], "received/0/1.json")["conditions"]["filler"]["mean"]["mean"]
    assert [row["position"] for row in rows] == list(range(len(mean)))
    assert {row["condition"] for row in rows} == {"filler"}
    assert [row["mean"] for row in rows] == pytest.approx(
        [number * hand_conditions.STEP for number in mean]
    )


@pytest.mark.parametrize("drawn", ["difference", "both"])
def test_two_lines_are_drawn_as_their_difference_or_both(conditions, drawn):
    """The heights in the picture, against the rows."""
    data = hand_conditions.panels(conditions, "filler_lines")
    rows = filler_lines.rows(data, panel=1)["lines"]
    first, second = (
        [row["mean"] for row in rows if row["condition"] == name] for name in data.lines
    )
    pairs = zip(first, second, strict=True)
    less = [None if None in pair else pair[1] - pair[0] for pair in pairs]
    wanted = [less] if drawn == "difference" else [first, second]
    svg = still.svg(filler_lines, data, panel=1, drawn=drawn)
    paths = re.findall(r'<path d="([^"]*)" stroke="[^"]*" stroke-width="1.8"', svg)
    found = [re.findall(r"[ML]([-\d.]+),([-\d.]+)", path) for path in paths if path]
    assert len(found) == len(wanted)
    heights = [float(y) for line in found for _, y in line]
    values = [value for line in wanted for value in line if value is not None]
    assert len(heights) == len(values)
    slope, start = np.polyfit(values, heights, 1)
    assert slope < 0
    drawn_within = 0.1  # pixels: pictures have one decimal
    assert np.abs(np.polyval((slope, start), values) - heights).max() <= drawn_within


def inside(spec, kind):
    return [each for each in spec["layer"] if each["mark"]["type"] == kind]


def test_the_filler_is_shaded_named_and_between_rules_in_the_bottom_row_only(conditions):
    data = hand_conditions.panels(conditions, "filler_lines")
    top, bottom = (filler_lines.chart(data, panel=n).to_dict() for n in (0, 3))
    assert inside(top, "rect") == []
    assert "Change of" in inside(top, "text")[0]["mark"]["text"]["expr"]  # the axis, no name
    assert len(inside(top, "rule")) == 2  # the marked position, and the pinned one
    (shade,), (name,) = inside(bottom, "rect"), inside(bottom, "text")
    edges = [SYSTEM - 0.5, SYSTEM + FILLER - 0.5]
    assert [shade["encoding"][channel]["datum"] for channel in ("x", "x2")] == edges
    assert "Meaningless tokens" in name["mark"]["text"]["expr"]
    rules = [each["encoding"]["x"]["datum"] for each in inside(bottom, "rule")]
    assert rules[:2] == edges
    plain = received.panels(conditions.models, [(0, 0, 0)], data.lines)
    assert len(inside(filler_lines.chart(plain, panel=1).to_dict(), "rule")) == 2


def test_what_two_conditions_put_in_is_shaded_where_it_is_the_same_positions(conditions):
    data = hand_conditions.panels(conditions, "filler_against")
    (shade,) = inside(filler_against.chart(data).to_dict(), "rect")
    edges = [SYSTEM - 0.5, SYSTEM + FILLER - 0.5]
    assert [shade["encoding"][channel]["datum"] for channel in ("x", "x2")] == edges
    lines = {"none": "Nothing", **data.lines}
    uneven = received.panels(conditions.models, [(0, 0, 0)], dict(list(lines.items())[:2]))
    assert inside(filler_against.chart(uneven).to_dict(), "rect") == []
    assert [each["mark"] for row in filler_against.legends(uneven) for each in row][2:] != ["span"]


def test_every_panel_is_named_by_its_model_and_head(conditions):
    data = hand_conditions.panels(conditions, "filler_lines")
    titles = ["one-model L0H1", "one-model L2H3", "one-model L0H0"]
    assert filler_lines.panels(data) == titles * 2
    for figure in (filler_lines, filler_against, filler_layers):
        panels = hand_conditions.panels(conditions, figure.name)
        for number in range(len(figure.panels(panels))):
            spec = figure.chart(panels, panel=number).to_dict()
            titles = {
                (channel, layer["encoding"][channel].get("title"))
                for layer in spec["layer"]
                for channel in ("x", "y")
                if "field" in layer["encoding"].get(channel, {})
            }
            texts = [each["mark"]["text"]["expr"] for each in inside(spec, "text")]
            switched = any('"both": "Average Attention Weight"' in text for text in texts)
            assert switched == (("y", None) in titles)
            assert titles <= {("x", "Position"), ("y", "Average Attention Weight"), ("y", None)}
            assert len(titles) == 2


def test_legends_name_the_lines_with_a_second_channel_besides_colour(conditions):
    def said(figure):
        data = hand_conditions.panels(conditions, figure.name)
        return [[(e["label"], e["mark"]) for e in row] for row in figure.legends(data)]

    assert said(filler_lines) == [
        [
            ("w/o Meaningless tokens", "line"),
            ("w/ Meaningless tokens", "dash"),
            ("w/ Meaningless tokens\u00a0\u2212 w/o Meaningless tokens", "line"),
        ],
        [("w/ Meaningless tokens", "dash"), ("Meaningless tokens", "span")],
    ]
    lines = [("Meaningless tokens", "dash"), ("Random sentence", "line")]
    assert said(filler_against) == [[*lines, ("Filler", "span")]]
    difference = ("Mless\u00a0\u2212 None", "line")
    assert said(filler_layers) == [[("None", "line"), ("Mless", "dash"), difference]]


def test_the_band_is_drawn_only_where_there_are_several_prompts(conditions, tmp_path):
    one = hand_conditions.study(tmp_path, prompts=1)
    for study, bands in ((conditions, 1), (one, 0)):
        data = hand_conditions.panels(study, "filler_layers")
        areas = inside(filler_layers.chart(data).to_dict(), "area")
        assert len([area for area in areas if "y2" in area["encoding"]]) == bands + 1
        for figure in (filler_lines, filler_effect, filler_against, filler_layers):
            data = hand_conditions.panels(study, figure.name)
            own = figure.caption(data).replace(received.explained(data), "")
            assert ("are one standard error over" in own) == bool(bands), figure.name


def test_the_heat_map_has_one_less_lambda_of_every_head(conditions):
    data = hand_conditions.panels(conditions, "filler_effect")
    columns = file(conditions.models[0], "effects.json")["tables"]["effects"]["columns"]
    values = {name: column["values"] for name, column in columns.items()}
    for over in ("mean", "last"):
        cells = filler_effect.rows(data, reduction=over)["cells"]
        assert len(cells) == hand_conditions.LAYERS * hand_conditions.HEADS
        for cell in cells:
            (row,) = [
                n
                for n in range(len(values["layer"]))
                if (values["condition"][n], values["rows"][n]) == ("filler", over)
                and (values["layer"][n], values["head"][n]) == (cell["layer"], cell["head"])
            ]
            assert cell["taken"] == pytest.approx(1 - values["lambda"][row] * 0.0001)
            varied = values["total_variation"][row]
            if varied is None:
                assert cell["total_variation"] is None
            else:
                assert cell["total_variation"] == pytest.approx(varied * 0.0001)
    unknown = [c for c in filler_effect.rows(data)["cells"] if c["total_variation"] is None]
    assert [(c["layer"], c["head"]) for c in unknown] == [(0, 1)]


def test_alt_text_of_the_heat_map_names_the_largest_cell(conditions):
    data = hand_conditions.panels(conditions, "filler_effect")
    cells = filler_effect.rows(data, reduction="last")["cells"]
    top = max(cells, key=lambda cell: cell["taken"])
    text = filler_effect.alt(data, reduction="last")
    assert f"L{top['layer']}H{top['head']}; the median" in text
    assert f"to {top['taken']:.2f}" in text
    assert "last current token" in text


def test_heads_are_named_as_in_the_data(conditions):
    data = received.panels(conditions.models, [(1, 2, 3)], hand_conditions.lines("none", "filler"))
    (place,) = data.places
    assert (place.layer, place.head) == (2, 3)
    assert place.title == "other{model} L2H3"
    spec = filler_lines.chart(data).to_dict()
    address = spec["usermeta"]["report"]["data"]["url"]
    assert address == f"{conditions.models[1].address}received/2/3.json"
    assert np.all(place.model.received(2, 3)["none"]["mean"][0] >= 0)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([(0, -1, 0)], "there is no layer -1, head 0; both count from 0"),
        ([(2, 0, 0)], "there is no model 2; this study has 2, counted from 0"),
        ([], "0 places are named; give 1 to 4 of them"),
        ([(0, 0, 0)] * 5, "5 places are named; give 1 to 4 of them"),
    ],
)
def test_refuses_places_that_cannot_be(conditions, places, said):
    with pytest.raises(ReportError, match=said):
        received.panels(conditions.models, places, {})


@pytest.mark.parametrize(
    ("places", "lines", "said"),
    [
        ([(0, 3, 0)], ("none", "filler"), "Of one-model 3 layers were measured, so there is no "
         "layer 3; both count from 0."),
        ([(1, 0, 4)], ("none", "filler"), "Of other{model} 4 heads were measured, so there is no "
         "head 4; both count from 0."),
        ([(0, 0, 0)], ("none", "newlines"), "one-model was not measured under the condition "
         "'newlines', only under none, filler and sentence."),
        ([(0, 0, 0)], ("none",), "It compares 2 conditions, but is given 1: none."),
    ],
)  # fmt: skip
def test_says_what_cannot_be_drawn(conditions, places, lines, said):
    named = {name: name for name in lines}
    data = received.panels(conditions.models, places, named)
    for name in GRIDS:
        assert figure_named(name).left_out(data) == said
        with pytest.raises(ReportError, match=f"{name} cannot be drawn: "):
            figure_named(name).chart(data)


def test_a_heat_map_is_of_one_model_and_of_what_was_added(conditions):
    lines = hand_conditions.lines("none", "filler")
    both = received.panels(conditions.models, [(0, 0, 0), (1, 0, 0)], lines)
    assert filler_effect.left_out(both).startswith("It shows the heads of one model")
    none = received.panels(conditions.models, [(0, 0, 0)], hand_conditions.lines("filler", "none"))
    said = "What the condition 'none' adds to the prompt was not measured."
    assert filler_effect.left_out(none) == said


def test_needs_panels(conditions):
    said = figure_named("filler_lines").left_out(conditions)
    assert said.startswith("It is drawn of panels of conditions, as in `data=find.panels(")


def test_the_name_of_a_narrow_span_is_broken_at_a_space():
    assert received_chart._broken("Filler", 1, 4) == '"Filler"'
    found = received_chart._broken('One "two" three', 17.5, 72.5)
    assert found.startswith("scale('x', 72.5) - scale('x', 17.5) > ")
    assert found.endswith('? "One \\"two\\" three" : "One \\"two\\"\\nthree"')
