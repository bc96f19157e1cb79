"""The numbers of a figure as tables that everyone can read.

That they are the right ones is tested beside those of files, see test_script_downloads.py.
"""

import re

import pytest

from tests.figures.live_page import GRIDS, called, go_live, until
from tests.figures.tools import TABLE, set_to, tables, tool

pytestmark = pytest.mark.browser

READ = """number => [...document.querySelectorAll(`#fig-${number} .live-figure__tables table`)].map(
    table => ({ caption: table.caption.innerText,
        columns: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
        rows: [...table.tBodies[0].rows].map(
            row => [...row.cells].map(cell => cell.textContent)) }))"""


def shown(page, number):
    """The tables that a figure shows."""
    tool(page, number, TABLE).click()
    page.wait_for_selector(f"#fig-{number} .live-figure__tables table")
    return called(page, READ, number)


def close(text, value):
    if value is None:
        return text == "–"
    if isinstance(value, str):
        return text == value
    return abs(float(text.replace("−", "-")) - value) <= 1e-4 * abs(value) + 1e-12


def assert_tables(page, number, name, expected):
    """The tables of a figure have the numbers that Python gives: `tools.tables`."""
    found = shown(page, number)
    assert len(found) == len(expected)
    for table, (panel, dataset, rows) in zip(found, expected, strict=True):
        assert len(table["rows"]) == min(len(rows), 200)
        assert len(table["columns"]) == len(rows[0])
        if len(rows) > 200:
            assert f"Rows 1 to 200 of {len(rows):,}" in table["caption"]
            assert "CSV" in table["caption"]
        else:
            assert f"{len(rows)} rows" in table["caption"]
        for texts, row in zip(table["rows"], rows[:200], strict=True):
            for text, value in zip(texts, row.values(), strict=True):
                assert close(text, value), (dataset, row, texts)
        if name in GRIDS:
            title = page.locator(f"#fig-{number} .live-figure__title").nth(panel).text_content()
            assert table["caption"].startswith(f"{panel + 1}. {title}")


def test_a_table_is_one_for_screen_readers_and_scrolls_in_its_own_box(page, address):
    page.goto(address)
    before = go_live(page, 1).bounding_box()["height"]
    columns = shown(page, 1)[0]["columns"]
    assert columns[:4] == ["current token", "current text", "target token", "target text"]
    assert columns[4] == "probability"  # what one came for
    assert "ALiBi term" in columns
    assert page.locator("#fig-1 tbody tr", has_text=" <b>bold</b>").count()  # text stays text
    assert page.locator("#fig-1 .live-figure__tables b").count() == 0
    view = page.locator("#fig-1 .live-figure__tables")
    assert view.get_attribute("role") == "region"
    assert view.get_attribute("aria-label") == "Figure 1. Numbers"
    assert view.get_attribute("tabindex") == "0"  # so that it scrolls by keyboard
    assert page.locator("#fig-1 thead th:not([scope=col])").count() == 0
    assert page.locator("#fig-1 tbody tr > :first-child:not(th[scope=row])").count() == 0
    assert page.locator("#fig-1").bounding_box()["height"] == before
    head = page.locator("#fig-1 thead th").first
    view.evaluate("view => view.scrollTop = 400")
    assert abs(head.bounding_box()["y"] - view.bounding_box()["y"]) < 3
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    button = page.locator("#fig-1 [aria-pressed=true]")
    button.click()
    view.wait_for(state="detached")
    assert tool(page, 1, TABLE).get_attribute("aria-pressed") == "false"


def test_a_table_follows_the_controls(page, address, data):
    page.goto(address)
    shown(page, 8)
    set_to(page, 8, layer=2)
    row = tables("update_alignment", data, {"layer": 2})[0][2][0]
    first = "document.querySelectorAll('#fig-8 tbody tr:first-child > *')"
    text = f"{row['magnitude']:.5g}"
    until(page, f"[...{first}].some(cell => cell.textContent === '{text}')")


def test_other_rows_are_turned_to(page, address):
    page.goto(address)
    found = shown(page, 1)[0]
    assert found["caption"].startswith("Rows 1 to 200 of 300")
    turn = page.locator("#fig-1 caption button")
    assert turn.all_inner_texts() == ["Previous rows", "Next rows"]
    assert turn.nth(0).is_disabled()
    turn.nth(1).focus()
    page.keyboard.press("Enter")
    (found,) = page.evaluate(READ, 1)
    assert found["caption"].startswith("Rows 201 to 300 of 300")
    assert len(found["rows"]) == 100
    assert page.evaluate("document.activeElement.textContent") == "Previous rows"
    page.keyboard.press("Enter")
    assert page.evaluate(READ, 1)[0]["caption"].startswith("Rows 1 to 200 of 300")


def test_what_one_came_for_is_in_sight_on_a_phone(phone, address):
    phone.goto(address)
    for number, name in ((1, "probability"), (4, "itself"), (8, "alignment")):
        tool(phone, number, TABLE).tap()
        column = phone.locator(f"#fig-{number} thead th", has_text=re.compile(f"^{name}")).first
        view = phone.locator(f"#fig-{number} .live-figure__tables").bounding_box()
        box = column.bounding_box()
        assert box["x"] + box["width"] <= view["x"] + view["width"], name


def test_tables_of_panels_below_each_other_fit_a_phone(phone, grids):
    phone.goto(grids)
    number = GRIDS.index("filler_effect") + 1
    tool(phone, number, TABLE).evaluate("button => button.scrollIntoView({ block: 'center' })")
    before = tool(phone, number, TABLE).bounding_box()["y"]
    tool(phone, number, TABLE).tap()
    phone.wait_for_selector(f"#fig-{number} table")
    box = phone.locator(f"#fig-{number} .live-figure__tables").bounding_box()
    assert box["height"] <= 0.8 * 844 + 1
    assert box["x"] + box["width"] <= 390
    after = phone.locator(f"#fig-{number} [aria-pressed=true]").bounding_box()["y"]
    assert abs(after - before) < 2  # the button stays under the finger


def test_a_table_is_sorted_by_its_columns_the_highest_first(page, address, data):
    page.goto(address)
    shown(page, 8)
    head = page.locator("#fig-8 thead th", has_text="magnitude").first
    column = head.evaluate("cell => cell.cellIndex")
    values = [row["magnitude"] for row in tables("update_alignment", data, {"layer": 1})[0][2]]

    def read():
        (table,) = page.evaluate(READ, 8)
        return [float(row[column].replace("−", "-")) for row in table["rows"]]

    as_they_came = read()
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    highest = read()
    assert highest == sorted(highest, reverse=True)
    assert highest[0] == pytest.approx(max(values), rel=1e-4)  # of all rows, not of those shown
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert read()[0] == pytest.approx(min(values), rel=1e-4)
    set_to(page, 8, layer=2)  # another layer stays sorted
    until(page, "document.querySelector('#fig-8 [aria-sort=ascending]') !== null")
    lowest = min(row["magnitude"] for row in tables("update_alignment", data, {"layer": 2})[0][2])
    assert read()[0] == pytest.approx(lowest, rel=1e-4)
    set_to(page, 8, layer=1)
    page.locator("#fig-8 [aria-sort] button").click()
    assert page.locator("#fig-8 [aria-sort]").count() == 0
    assert read() == as_they_came
