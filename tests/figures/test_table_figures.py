"""Figures of how a table is read: numbers against a second way, and what a reader is told."""

import itertools
import json
import re

import numpy as np
import pytest

from report.datasets.formats.token_classes import CLASSES
from report.errors import ReportError
from report.figures import renderings_compared, table_attention_map
from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.parts import target_classes
from report.text import percent
from tests.figures import hand_table, live_page
from tests.figures.live_page import OF, go_live
from tests.figures.test_decoders import assert_same, decoded

SEEING = ("alibi_bias", "window", "encoder")
"""Kinds of models whose tokens see different targets, which is all that classes depend on."""

every_rendering = pytest.mark.parametrize("rendering", ["csv", "json", "sentences"])


@pytest.mark.parametrize("name", OF["table"])
def test_of_a_passage_none_is_drawn_and_the_reason_is_a_sentence(data, name):
    figure = figure_named(name)
    assert figure.left_out(data) == "It is drawn of a table, and is given a passage."
    with pytest.raises(ReportError, match="is given a passage"):
        figure.rows(data)


# --- By layer ------------------------------------------------------------------------------------


@every_rendering
@pytest.mark.parametrize("target", ["header", "same_column"])
def test_lines_join_ranks_and_never_cross(table, rendering, target):
    rows = figure_named("classes_by_layer").rows(table)["heads"]
    rows = [row for row in rows if (row["rendering"], row["target"]) == (rendering, target)]
    assert len(rows) == table.layers * table.heads
    for layer in range(table.layers):
        here = sorted((r for r in rows if r["layer"] == layer), key=lambda r: r["rank"])
        assert [row["rank"] for row in here] == list(range(table.heads))
        assert {row["head"] for row in here} == set(range(table.heads))
        assert len({row["even"] for row in here}) == 1
        for low, high in itertools.pairwise(here):
            assert low["probability"] <= high["probability"]


def test_classes_of_a_head_add_up_to_one(table):
    total = {}
    for row in figure_named("classes_by_layer").rows(table)["heads"]:
        at = row["rendering"], row["layer"], row["head"]
        total[at] = total.get(at, 0) + row["probability"]
    assert len(total) == 3 * table.layers * table.heads
    assert list(total.values()) == pytest.approx([1] * len(total), abs=1e-4)


def test_the_tooltip_names_the_head_and_even_attention(table):
    layers = figure_named("classes_by_layer").chart(table).to_dict()["layer"]
    told = [layer["encoding"]["tooltip"] for layer in layers if "tooltip" in layer["encoding"]]
    titles = {each["title"]: each["field"] for each in told[-1]}
    assert next(iter(titles)) == "title"
    assert titles["uniform attention"] == "even"


# --- The map -------------------------------------------------------------------------------------


def said(token, current, places):
    """What a target is, by its role and place, another way than the figure finds it."""
    if token == 0:
        return "the first token"
    role, row, column = places[token]
    if role != "value":
        return {"header": "column names", "delimiter": "delimiters"}.get(role, "anything else")
    _, here, same = places[current]
    if column != same or row > here:
        return "other cells"
    return "its own cell" if row == here else "same column above"


def test_markers_say_the_class_of_their_target(table):
    places = [(token.role, token.row, token.column) for token in table.first.tokens]
    found = set()
    for layer, head in np.ndindex(table.layers, table.heads):
        for mark in figure_named("table_attention_map").rows(table, layer=layer, head=head)[
            "markers"
        ]:
            kind = said(mark["target_token"], mark["current_token"], places)
            assert mark["kind"] == kind
            found.add(kind)
    assert found == set(target_classes.present(table).values())


def test_strips_say_of_every_token_what_it_is(table):
    datasets = figure_named("table_attention_map").chart(table).to_dict()["datasets"].values()
    runs = {  # those of the lower strip and of the left one are the same
        (run["first"], run["end"], run["role"])
        for rows in datasets
        for run in rows
        if "role" in run
    }
    covered = sorted((token, role) for first, end, role in runs for token in range(first, end))
    assert covered == [(token.index, token.role) for token in table.first.tokens]


def test_the_legend_has_the_classes_that_occur_each_with_a_shape_of_its_own(table):
    kinds = table_attention_map._kinds(table)
    assert list(kinds) == [name for name in target_classes.SEEN if name in kinds]
    assert len({shape for shape, _, _ in target_classes.SEEN.values()}) == len(target_classes.SEEN)
    assert "same column above" in kinds
    assert "anything else" not in kinds


# --- Renderings ----------------------------------------------------------------------------------


def test_panels_are_the_classes_that_even_attention_would_give_something(tmp_path):
    data = hand_table.study(tmp_path / "sink", "sink")
    assert "other" in data.targets
    assert "anything else" not in renderings_compared.panels(data)
    assert renderings_compared.panels(data) == list(target_classes.SEEN)[:6]
    assert [len(row) for row in renderings_compared.legends(data)] == [3, 0]


def test_alt_text_of_a_panel_has_the_means_of_all_renderings(table):
    panel = renderings_compared.panels(table).index("delimiters")
    text = figure_named("renderings_compared").alt(table, panel=panel, shown="probability")
    for name, label in (("csv", "CSV"), ("json", "JSON"), ("sentences", "sentences")):
        assert f"{percent(table.shares('delimiter', name).mean(), 1)} as {label}" in text


# --- In a browser --------------------------------------------------------------------------------


@pytest.fixture
def tables(table, table_address):
    """(a hand-made study, address of a page with its figures)."""
    return table, table_address


@pytest.mark.browser
@pytest.mark.parametrize("kind", SEEING)
def test_the_script_finds_the_classes_that_python_finds(scripts, tmp_path, kind):
    data = hand_table.study(tmp_path / "a", kind)
    for name in OF["table"]:
        figure = figure_named(name)
        state = {control.param: control.value for control in figure.controls(data)}
        found = decoded(scripts, data, figure, state)["datasets"]
        expected = figure.rows(data, **state)
        for dataset in set(expected) - {"map", "no_shade"}:  # a canvas, and always empty
            assert_same(found[dataset], expected[dataset], f"{name}.{dataset}")


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["alibi_bias", "encoder"])
def test_every_cell_of_the_map_tells_its_class(scripts, tmp_path, kind):
    data = hand_table.study(tmp_path / "a", kind)
    report = figure_named("table_attention_map").chart(data).to_dict()["usermeta"]["report"]
    file = json.loads((data.path / "attention/1/1.json").read_text("utf-8"))
    cells = scripts.evaluate(
        """async ([file, report]) => {
        const { decoders } = await import('/assets/data/decoders.js');
        const labels = Array(file.tokens).fill('');
        const { map, cell } = decoders.table_attention_map(file, labels, {}, report);
        const targets = Array.from({ length: map.size }, (_, n) => n);
        return targets.map(i => targets.map(j => map.sees(i, j) ? cell(i, j).class : null)); }""",
        [file, report],
    )
    names = list(target_classes.SEEN)
    seen = data.visible(1, 1).mask()
    for i, j in np.ndindex(seen.shape):
        assert cells[i][j] == (names[data.classes[i, j]] if seen[i, j] else None)


@pytest.mark.browser
def test_a_token_of_the_text_says_what_it_is_and_is_marked_on_the_map(page, tables):
    data, address = tables
    page.goto(address)
    go_live(page, 1)
    cell = next(token for token in data.first.tokens if token.role == "value" and token.row == 1)
    token = page.locator(f".token[data-token='{cell.index}']")
    assert token.text_content() == cell.label
    before = live_page.ink(page, 1)
    token.hover()
    assert page.inner_text(".passage__tip").split("\n")[-1] == (
        f"token {cell.index}, id {cell.id}: row 2, column “{hand_table.TABLE.columns[cell.column]}”"
    )
    page.wait_for_timeout(200)
    assert live_page.ink(page, 1) != before


def test_every_class_has_a_name_and_a_colour():
    assert list(target_classes.NAMES) == list(CLASSES)
    assert len({light for _, light, _ in target_classes.SEEN.values()}) == len(CLASSES)


def test_a_token_that_is_a_number_is_told_from_its_index(table):
    svg = still.svg(figure_named("table_attention_map"), table)
    named = re.findall(r">([^<>]*)\u200e\u00a0\u00a0(\d+)<", svg)
    assert len(named) > 10
    assert any(text.strip("“”").isdigit() for text, _ in named)
    for text, index in named:
        label = table.first.tokens[int(index)].label.strip()
        assert (text == f"“{label}”") == label.isdigit(), (text, index)
