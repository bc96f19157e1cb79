"""Files that a figure gives away: they hold what it shows, number by number, and open elsewhere."""

import base64
import csv
import io
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import vl_convert
from PIL import Image

from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.build.vega import VEGA_LITE
from tests.figures.live_page import GRIDS, OF, ORDER, go_live, until
from tests.figures.test_script_tables import assert_tables
from tests.figures.tools import href, menu, saved, state_of, tables, without_fragment

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
SPECIFICATION = "Vega-Lite file with the data in it"


SPECIFIED = [*ORDER[1:], *OF["table"][1:], "repeated_loss", "heads_at_step"]
"""Figures of one chart that is no map: their file draws what Python draws."""


@pytest.mark.parametrize(
    "names", [ORDER, GRIDS, OF["table"], OF["sweep"], OF["prediction"]], ids="-".join
)
def test_files_and_tables_have_the_numbers_that_python_gives(page, opened, names):
    """All figures of a page in turn: to open it takes longer than to read them."""
    for name in names:
        number, data = opened(name)
        state = state_of(name, data)
        expected = tables(name, data, state)
        assert_files(page, number, name, state, expected)
        if name in SPECIFIED:
            assert_drawn_elsewhere(page, number, name, data)
        assert_tables(page, number, name, expected)


def assert_files(page, number, name, state, expected):
    file, content = saved(page, number, "JSON")
    found = json.loads(content)
    assert file.endswith(".json")
    assert file.startswith(name.replace("_", "-"))
    assert found["state"].items() >= state.items()
    nothing_set = f"{without_fragment(page)}#fig-{number}"
    own = href(page) if state else nothing_set
    assert found["source"] == own
    assert found["title"].startswith(f"Figure {number}. ")
    assert [table["name"] for table in found["tables"]] == [dataset for _, dataset, _ in expected]
    for table, (_, dataset, rows) in zip(found["tables"], expected, strict=True):
        assert_equal(table["rows"], rows, dataset)
    file, content = saved(page, number, "CSV")
    assert file.endswith(".csv")
    assert_equal(read_csv(content), [row for *_, rows in expected for row in rows], name)


def read_csv(content):
    """The rows of a CSV file without what tables lack, texts as they were."""
    text = content.decode("utf-8")
    assert text.endswith("\r\n")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader)
    found = []
    for row in reader:
        assert len(row) == len(header)
        found.append(dict(zip(header, row, strict=True)))
    return found


def assert_equal(found, expected, where):
    assert len(found) == len(expected), where
    for one, other in zip(found, expected, strict=True):
        for field, value in other.items():
            if value is None:
                assert one[field] in (None, ""), (where, field)
            elif isinstance(value, str):
                # CSV has an apostrophe before what would be a formula, or before another one
                assert one[field] in (value, f"'{value}"), (where, field)
            else:
                assert math.isclose(float(one[field]), value, rel_tol=1e-9, abs_tol=1e-12), (
                    where,
                    field,
                )


def test_files_of_several_panels_say_which_a_row_is_of(page, opened):
    number, _ = opened("filler_effect")
    rows = read_csv(saved(page, number, "CSV")[1])
    named = {(row["panel"], row["table"]) for row in rows}
    assert named == {
        ("1. one-model, all heads", "cells"),
        ("2. one-model L2H1", "lines"),
        ("3. one-model L2H1", "lines"),
    }


FORMULAS = ["=1+1", "+1", "-1", "@x", "\t=1", "\r", "\n", "＝1"]
HOSTILE = [*FORMULAS, "'=1", "'", '"', 'a"b', "a,b", "a\r\nb", "\u2028", "\0", "</script>"]
HOSTILE += ["\u202e", "{{ 7*7 }}", "", " =1", "1", "null", "🙂"]


@pytest.mark.promise("saved-files")
def test_csv_runs_no_formula_and_loses_no_text(page, address):
    page.goto(address)
    text = page.evaluate(
        """async texts => { const { csv } = await import('/assets/tools/csv.js');
        const rows = texts.map((text, n) => ({ text, n: n - 1.5 }));
        return csv([{ panel: '', name: 'hostile', columns: ['text', 'n'], rows }]); }""",
        HOSTILE,
    )
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert header == ["text", "n"]
    assert [float(row[1]) for row in rows] == [n - 1.5 for n in range(len(HOSTILE))]
    written = [row[0] for row in rows]
    assert [each.removeprefix("'") for each in written] == HOSTILE
    assert not any(each.startswith(tuple("=+-@\t\r\n＝")) for each in written)


PICTURES = ("attention_map", "filler_effect")


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_whole_and_light_and_show_the_present_state(page, opened, name):
    number, data = opened(name)
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    file, content = saved(page, number, "SVG")
    assert file.endswith(".svg")
    root = ElementTree.fromstring(content)
    said = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    title = page.inner_text(f"#fig-{number} figcaption strong")
    assert said[0] == f"Figure {number}. {title}"
    if "layer" in state_of(name, data):
        shown = page.inner_text(f"#fig-{number} .live-figure__control output")
        assert f"Layer {shown}" in said[1]
    panels = page.locator(f"#fig-{number} .live-figure__title").all_inner_texts()
    assert set(panels) <= set(said)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert_self_contained(root)
    light = Image.open(io.BytesIO(saved(page, number, "PNG")[1]))
    assert light.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
    pixels = np.asarray(light.convert("RGB"), int)
    assert (pixels[0, 0] == 255).all()
    assert pixels.mean() > 128  # paper, not a dark page
    assert len(np.unique(pixels @ [1, 256, 65536])) > 20  # colours


def assert_self_contained(root):
    for element in root.iter():
        assert not element.tag.endswith(("script", "foreignObject"))
        for key, value in element.attrib.items():
            if key.endswith("href"):
                assert value.startswith(("data:image/png;base64,", "#"))
            assert "url(" not in value or "url(#" in value


def assert_drawn_elsewhere(page, number, name, data):
    """The specification draws the same picture where there is no page around it."""
    _, content = saved(page, number, SPECIFICATION)
    spec = json.loads(content) | {"background": "transparent"}
    assert still.drawn(spec) == still.svg(figure_named(name), data, **state_of(name, data))


def test_specifications_of_panels_are_chosen_one_by_one(page, opened):
    number, data = opened("filler_effect")
    for panel in range(3):
        menu(page, number).get_by_label("Panel").select_option(f"panel {panel + 1}")
        file, content = saved(page, number, SPECIFICATION)
        assert file.endswith(f"-{panel + 1}.vl.json")
        spec = json.loads(content) | {"background": "transparent"}
        figure = figure_named("filler_effect")
        assert still.drawn(spec) == still.svg(
            figure, data, **state_of("filler_effect", data), panel=panel
        )


def items(node, kind):
    """All items of marks of a kind in a scene."""
    here = node.get("items", []) if node.get("marktype") == kind else []
    return here + [item for each in node.get("items", []) for item in items(each, kind)]


@pytest.mark.parametrize("name", ["attention_map", "table_attention_map"])
def test_the_specification_of_a_map_has_its_picture_inside(page, opened, name):
    number, data = opened(name)
    spec = json.loads(saved(page, number, SPECIFICATION)[1])
    scene = vl_convert.vegalite_to_scenegraph(spec, vl_version=VEGA_LITE)["scenegraph"]
    rows = figure_named(name).rows(data, **state_of(name, data))
    (image,) = items(scene, "image")
    assert image["url"].startswith("data:image/png;base64,")
    drawn = [each for each in items(scene, "symbol") if each.get("opacity") == 1]
    assert len(drawn) >= len(rows["markers"])
    picture = np.asarray(Image.open(io.BytesIO(_bytes(image["url"]))).convert("RGBA"))
    expected = np.asarray(Image.open(io.BytesIO(_bytes(rows["map"][0]["image"]))).convert("RGBA"))
    seen = expected[..., 3] > 0
    assert (picture[..., 3] == expected[..., 3]).all()
    shades = np.abs(picture[seen].astype(int) - expected[seen])
    assert shades.max() <= 12  # the still picture has fewer shades


def _bytes(address):
    return base64.b64decode(address.partition(",")[2])


def test_files_wait_for_numbers_that_are_on_their_way(page, address):
    page.goto(address)
    go_live(page, 7)
    menu(page, 7)
    page.route("**/updates/2.json", lambda route: (page.wait_for_timeout(500), route.continue_()))
    with page.expect_download() as download:
        page.evaluate(
            """() => { const figure = document.querySelector('#fig-7');
            const slider = figure.querySelector('[name=layer]');
            slider.value = 2;
            slider.dispatchEvent(new Event('input', { bubbles: true }));
            [...figure.querySelectorAll('.live-figure__menu button')][1].click(); }"""
        )
    found = json.loads(Path(download.value.path()).read_text("utf-8"))
    assert found["state"] == {"layer": 2}
    assert "layer-2" in download.value.suggested_filename


def test_a_file_that_cannot_be_made_is_told_of(page, address):
    page.goto(address)
    go_live(page, 7)
    menu(page, 7)
    page.route("**/updates/2.json", lambda route: route.fulfill(status=404))
    page.expected = ("404", "could not be loaded")
    page.evaluate(
        """() => { const figure = document.querySelector('#fig-7');
        const slider = figure.querySelector('[name=layer]');
        slider.value = 2;
        slider.dispatchEvent(new Event('input', { bubbles: true }));
        figure.querySelector('.live-figure__menu button').click(); }"""
    )
    said = "document.querySelector('#fig-7 .live-figure__said').textContent"
    until(page, f"{said}.includes('its data could not be loaded')")
