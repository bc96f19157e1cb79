"""Grids: rooms, rows and what the page is told of panels."""

import re

import pytest

from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.parts import choices, grid, received
from report.pages.article import ArticleFigures
from tests.figures import hand_conditions
from tests.figures.live_page import GRIDS, ORDER, PROJECT, TWO_LOOKS


def test_a_row_begins_where_the_last_one_is_full():
    one, two = grid.Box(1, 1), grid.Box(1, 1, span=2)
    assert grid.row_starts([one] * 6, 3) == [True, False, False] * 2
    assert grid.row_starts([two, one, one], 2) == [True, True, False]
    assert grid.row_starts([one, two, one], 2) == [True, True, True]
    assert grid.row_starts([one], 1) == [True]
    tall = grid.Box(1, 1, tall=True)
    assert grid.row_starts([tall, one, one], 2) == [True, True, False]  # one legend for both


@pytest.mark.parametrize("name", [name for name in ORDER if name not in TWO_LOOKS])
def test_a_figure_that_is_no_grid_has_the_width_of_the_text(name, data):
    figure = figure_named(name)
    (box,) = figure.boxes(data)
    assert box.width == 720
    if name not in ("update_magnitude", "update_alignment"):  # as high as their rows need
        assert box.size == (720, round(720 / figure.aspect))
        assert box.phone_aspect == figure.phone_aspect
    assert box.phone_size == (358, round(358 / box.phone_aspect))
    assert figure.columns(data) == 1


@pytest.mark.parametrize("name", TWO_LOOKS)
def test_two_looks_share_a_row_and_a_narrow_page_shows_one_of_them(name, data):
    figure = figure_named(name)
    boxes, columns = figure.boxes(data), figure.columns(data)
    assert len(boxes) == len(figure.panels(data)) == 2
    assert grid.row_starts(boxes, columns) == [True, False]
    (switch,) = [control for control in figure.controls(data) if control.param == "view"]
    assert [box.view for box in boxes] == list(switch.options)
    assert len({box.size[1] for box in boxes}) == 1
    for number, box in enumerate(boxes):
        spec = still.specification(figure, data, panel=number)
        assert (spec["width"], spec["height"]) == box.size
        assert box.width == pytest.approx(grid.GRID_WIDTH * box.span / columns, rel=0.03)


@pytest.mark.parametrize("name", GRIDS)
def test_still_pictures_have_about_the_width_that_panels_have_on_a_page(name, conditions):
    figure, data = figure_named(name), hand_conditions.panels(conditions, name)
    columns, boxes = figure.columns(data), figure.boxes(data)
    assert len(boxes) == len(figure.panels(data))
    for number, box in enumerate(boxes):
        spec = still.specification(figure, data, panel=number)
        assert (spec["width"], spec["height"]) == box.size
        assert spec["width"] == pytest.approx(930 * box.span / columns, abs=1)


def test_titles_follow_controls_as_a_reader_sees_them():
    sliders = [choices.Control("layer", "Layer", 0, 5, 2), choices.Control("x", "", 0, 9, 4)]
    switch = choices.Switch("head", "", {"a": "b"}, "a")
    text = "m{x}y {layer} {head} {other} {x"
    assert choices.filled(text, [*sliders, switch]) == "m4y 2 b {other} {x"


@pytest.fixture
def article(conditions):
    return ArticleFigures("hand", PROJECT, conditions)


def placed(article, name):
    article.announced = [name]
    return article.figure(name, data=hand_conditions.panels(article.data, name))


def test_a_legend_stands_above_each_row(article):
    html = placed(article, "filler_lines")
    assert html.count("<ul") == 2
    before = [part.count('class="live-figure__box"') for part in html.split("<ul")]
    assert before == [0, 3, 3]
    assert html.count("live-figure__key--dash") == 2  # what has the filler is in both rows
    assert html.count("live-figure__key--span") == 1


@pytest.mark.parametrize("name", ["filler_lines", "filler_against", "filler_layers"])
def test_a_single_head_is_a_grid_too(article, name):
    article.announced = [name]
    lines = hand_conditions.panels(article.data, name).lines
    html = article.figure(name, data=received.panels(article.data.models, [(0, 0, 0)], lines))
    rows = 2 if name == "filler_lines" else 1
    assert html.count("<ul") == html.count("one-model L0H0</p>") == rows
    assert re.search(r'<div class="live-figure__panels"[^>]* style="--columns: 1;', html)
    assert {panel.box.size for panel in article.placed[0].panels} == {(720, 360)}


def test_every_panel_has_a_title_data_and_a_specification_of_its_own(article):
    html = placed(article, "filler_effect")
    assert html.count("one-model L1H2</p>") == 2
    key = article.data.models[0].path.name
    addresses = [panel.dataset for panel in article.placed[0].panels]
    assert addresses == [f"{key}/effects.json"] + [f"{key}/received/1/2.json"] * 2
    for number, address in enumerate(addresses, 1):
        assert f'data-spec="../../figures/hand/filler_effect-{number}.json"' in html
        assert f'href="../../datasets/hand/{address}" data-link-data' in html
    assert html.count('<div class="live-figure__panel" data-tall ') == 1


def test_sliders_show_the_indices_that_they_hold(article):
    html = placed(article, "filler_effect")
    assert 'name="layer" min="0" max="2" value="1"' in html
    assert "<output>1</output>" in html
    assert "<output>2</output>" in html


def test_a_grid_is_linked_with_no_other_figure(article, data):
    assert "data-link " not in placed(article, "filler_effect")
    both = ArticleFigures("hand", PROJECT, data)
    both.announced = ["attention_map", "filler_effect", "attention_breakdown"]
    assert "Same layer and head in Figures 1 and 3" in both.figure("attention_map")


def test_an_article_says_what_it_cannot_draw(article):
    assert not article.can_draw("filler_lines")
    data = hand_conditions.panels(article.data, "filler_lines")
    assert article.can_draw("filler_lines", data)
    assert article.left_out("filler_lines", data) == ""
