"""Data sets inside vega_datasets as tables, and tables as text whose every character is known."""

import csv
import io
import json
import socket

import pytest

from report.errors import ReportError
from report.inputs import tables
from report.inputs.tables import Cell, Table, rendering, renderings, table

HOSTILE = (
    "<b>{{x}}|",
    'a"b\n',
    'x,"y"',
    "{% raw %}\\",
    "\x000\x00",
    " \u202eabc\u202c ",
    "👨‍👩‍👧",
    "---",
    "",
)


def hostile_table():
    rows = [tuple(Cell(text) for text in HOSTILE[n:] + HOSTILE[:n]) for n in range(3)]
    return Table("hostile", (*HOSTILE[:-1], "last"), tuple(rows))


@pytest.fixture
def offline(monkeypatch):
    def refuse(*arguments, **named):
        raise AssertionError("asked for a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_every_data_set_inside_the_package_is_a_table(offline):
    from vega_datasets import local_data

    for name in local_data.list_datasets():
        found = table(name, rows=3)
        assert len(found.rows) == 3
        assert {len(row) for row in found.rows} == {len(found.columns)}
        assert all(each.text for each in renderings(found))


def test_cells_are_spelled_as_the_data_set_spells_them():
    weather = table("seattle-weather", ["date", "temp_min", "weather"], 2)
    assert weather.columns == ("date", "temp_min", "weather")
    first = (Cell("2012/01/01"), Cell("5.0", bare=True), Cell("drizzle"))
    assert weather.rows[0] == first
    driving = table("driving", ["gas"], 2)
    assert [row[0].text for row in driving.rows] == ["2.38", "2.40"]  # not 2.4
    text = rendering(table("wheat", rows=2), "json").text
    assert text.startswith('[{"year": "1565", "wheat": 41, "wages": 5}')


def test_what_is_missing_is_said_in_the_words_of_the_rendering():
    cars = table("cars", ["Name", "Miles_per_Gallon"], 20)
    number = next(n for n, row in enumerate(cars.rows) if not row[1].text)
    few = Table("cars", cars.columns, cars.rows[number : number + 1])
    name = few.rows[0][0].text
    assert rendering(few, "csv").text.endswith(f"\n{name},")
    assert rendering(few, "json").text.endswith('"Miles_per_Gallon": null}\n]')
    assert rendering(few, "sentences").text.endswith("and the Miles per Gallon is missing.")


def test_sentences_of_any_width_are_sentences():
    for width, end in ((1, "The date is 2012/01/02."), (2, "and the temp max is 10.6.")):
        weather = table("seattle-weather", ["date", "temp_max", "weather"][:width], 2)
        assert rendering(weather, "sentences").text.endswith(end)


@pytest.mark.parametrize("made", [hostile_table, lambda: table("barley", rows=5)])
def test_the_parts_are_the_text_and_every_cell_is_one(made):
    for text in renderings(made()):
        assert "".join(part.text for part in text.parts) == text.text
        assert all(part.text for part in text.parts)
        for part in text.parts:
            assert (part.role == "delimiter") == (part.column == -1)
            assert (part.role == "value") == (part.row >= 0)
        cells = [(part.row, part.column) for part in text.parts if part.role == "value"]
        whole = [
            (row, column)
            for row, cells_of_row in enumerate(made().rows)
            for column, cell in enumerate(cells_of_row)
            if cell.text
        ]
        assert cells == whole


def test_hostile_cells_are_read_back_by_the_readers_of_csv_and_json():
    made = hostile_table()
    header, *rows = csv.reader(io.StringIO(rendering(made, "csv").text, newline=""))
    assert tuple(header) == made.columns
    assert [tuple(row) for row in rows] == [tuple(c.text for c in row) for row in made.rows]
    for record, row in zip(json.loads(rendering(made, "json").text), made.rows, strict=True):
        assert list(record) == list(made.columns)
        assert [value or "" for value in record.values()] == [cell.text for cell in row]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("movies", "is not inside vega_datasets and would have to be"),
        ("a", "is unknown"),
    ],
)
def test_a_data_set_that_is_not_local_is_refused_before_it_is_asked_for(offline, name, reason):
    with pytest.raises(ReportError, match=f"^data set '{name}' {reason}.*; inside it are: air"):
        table(name)


def test_every_template_is_a_rendering():
    found = {path.name for path in (tables.TEMPLATES / "tables").iterdir()}
    assert found == {f"{name}.txt.j2" for name in tables.RENDERINGS}
