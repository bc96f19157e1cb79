"""What an atlas publishes for other programs: one table a model, equal to its datasets."""

import csv
import json

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import columnar
from report.files import sha256
from report.pages.provenance import NAME, provenance, write_release
from tests.figures import hand_atlas, hand_made
from tests.pages.test_provenance import study


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "datasets" / "heads"


@pytest.fixture
def data(folder):
    return hand_atlas.study(folder)


def test_all_numbers_are_those_of_the_datasets_in_both_files(data, folder):
    names = write_release(data, folder)
    assert [*names] == ["0123456789ab.csv", "0123456789ab.json"]
    tables = columnar.decode(store.read(folder / "0123456789ab.json"))["heads"]
    with (folder / "0123456789ab.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == hand_atlas.LAYERS * hand_atlas.HEADS
    assert {f"{part}{name}" for name in data.measures for part in PARTS} < {*tables}
    assert [*rows[0]] == [*tables]
    for number, row in enumerate(rows):
        layer, head = divmod(number, hand_atlas.HEADS)
        assert (row["layer"], row["head"]) == (str(layer), str(head))
        for name in data.measures:
            dataset = json.loads((data.path / "heads" / f"{name}.json").read_text())
            columns = dataset["tables"]["heads"]["columns"]
            for part, column, source in PARTS_OF:
                column = columns[column.format(name)]
                value = column["values"][number + source * len(rows)]
                value = None if value is None else value * column["step"]
                cell, found = row[f"{part}{name}"], tables[f"{part}{name}"][number]
                assert cell == "" if value is None else float(cell) == pytest.approx(value)
                assert np.isnan(found) if value is None else found == pytest.approx(value)


PARTS_OF = (("", "{}", 0), ("error_", "error_{}", 0), ("control_", "{}", 1))
"""What begins a column here, the column of the dataset, and its block of rows: texts or control."""

PARTS = ("place_", *(part for part, *_ in PARTS_OF))


def test_places_are_among_all_heads_and_none_where_a_measure_does_not_apply(data, folder):
    write_release(data, folder)
    heads = columnar.decode(store.read(folder / "0123456789ab.json"))["heads"]
    (layer, head), *_ = hand_atlas.TOLD["lost"]
    assert heads["place_lost"][layer * hand_atlas.HEADS + head] == 1
    assert sorted(heads["place_lost"]) == [*range(1, 13)]
    layer, head = hand_atlas.UNKNOWN
    assert np.isnan(heads["place_to_line_end"][layer * hand_atlas.HEADS + head])
    assert np.nanmax(heads["place_to_line_end"]) == 11


def test_every_column_has_a_unit_and_says_what_its_control_is(data, folder):
    write_release(data, folder)
    columns = json.loads((folder / "0123456789ab.json").read_text())["tables"]["heads"]["columns"]
    assert columns["lost"]["unit"] == columns["error_lost"]["unit"] == "nats a token"
    assert "other heads of its layer" in columns["control_lost"]["description"]
    assert "shuffled" in columns["control_entropy"]["description"]


def test_provenance_has_the_sums_of_what_is_released(data, folder):
    about = provenance(study(), data, release=write_release(data, folder))
    names = ("0123456789ab.csv", "0123456789ab.json")
    assert store.check(about, "made")["release"] == {n: sha256(folder / n) for n in names}


def test_tables_of_earlier_datasets_are_removed_and_other_kinds_have_none(data, folder, tmp_path):
    folder.joinpath("ffffffffffff.csv").write_text("old")
    folder.joinpath(NAME).write_text("{}")
    write_release(data, folder)
    assert sorted(path.name for path in folder.glob("*.*")) == [
        "0123456789ab.csv",
        "0123456789ab.json",
        NAME,
    ]
    passage = hand_made.study(tmp_path / "datasets" / "another" / "0123456789ab")
    assert write_release(passage, tmp_path / "datasets" / "another") == {}
