"""Files are whole or absent, checked when written and when read, and equal for equal data."""

import json
import os

import pytest

from report import files
from report.datasets import store
from report.errors import ReportError

TABLE = {
    "schema": "table/1",
    "tables": {
        "t": {"rows": 1, "columns": {"a": {"description": "d", "unit": "u", "values": [1]}}}
    },
}


def test_what_is_written_is_read_back(tmp_path):
    store.write(tmp_path / "deep" / "t.json", TABLE)
    assert store.read(tmp_path / "deep" / "t.json") == TABLE
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["t.json"]


def test_an_equal_file_is_left_untouched(tmp_path):
    path = tmp_path / "t.json"
    store.write(path, TABLE)
    os.utime(path, (1, 1))
    store.write(path, TABLE)
    assert path.stat().st_mtime == 1


def test_unknown_schema_lists_the_known(tmp_path):
    with pytest.raises(
        ReportError, match=r"unknown dataset schema 'x/9' \(known: attention.*attention/4,"
    ):
        store.write(tmp_path / "t.json", {"schema": "x/9"})
    assert not (tmp_path / "t.json").exists()


def test_a_broken_field_is_named_when_written_and_when_read(tmp_path):
    broken = {"schema": "table/1", "tables": {"t": {"rows": -1, "columns": {}}}}
    with pytest.raises(ReportError, match=r"rows"):
        store.write(tmp_path / "t.json", broken)
    (tmp_path / "t.json").write_text(json.dumps(broken))
    with pytest.raises(ReportError, match=r"t\.json: does not satisfy schema table/1: .*rows"):
        store.read(tmp_path / "t.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not JSON"),
        ('{"schema": "tab', "is not JSON"),
        ("[1, 2]", "unknown dataset schema None"),
        ('{"schema": "table/1", "tables": NaN}', "NaN is not a JSON number"),
        ("[" * 100_000, "is not JSON"),
        (b"\xff\xfe".decode("latin-1"), "is not JSON"),
    ],
)
def test_a_corrupt_file_is_one_sentence(tmp_path, content, said):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ReportError, match=said):
        store.read(tmp_path / "t.json")


LARGEST = 2**63 - 1


@pytest.mark.parametrize("number", [10**18 - 1, LARGEST, -LARGEST, 0.1234567890123456789])
def test_whole_numbers_up_to_an_int64_are_read(tmp_path, number):
    (tmp_path / "t.json").write_text(json.dumps(TABLE).replace("[1]", f"[{number}]"))
    data = store.read(tmp_path / "t.json")
    assert data["tables"]["t"]["columns"]["a"]["values"] == [number]


@pytest.mark.parametrize("number", [LARGEST + 1, -LARGEST - 1, 10**19, "9" * 5000])
def test_larger_ones_are_refused(tmp_path, number):
    (tmp_path / "t.json").write_text(json.dumps(TABLE).replace("[1]", f"[{number}]"))
    with pytest.raises(ReportError, match="is too large for a number of a dataset"):
        store.read(tmp_path / "t.json")


def test_bytes_that_are_no_text_and_missing_files(tmp_path):
    (tmp_path / "t.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReportError, match="cannot be read"):
        store.read(tmp_path / "t.json")
    with pytest.raises(ReportError, match=r"no such dataset; run `make site`"):
        store.read(tmp_path / "missing.json")


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ReportError, match="not finite"):
        store.dumps({"a": float("nan")})


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    files.write_text(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ReportError, match=r"cannot write .*t\.json: No space left on device"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


def test_a_folder_appears_only_when_it_is_whole(tmp_path):
    target = tmp_path / "data"
    with pytest.raises(ZeroDivisionError), files.new_folder(target) as folder:
        (folder / "half").write_text("x")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with files.new_folder(target) as folder:
        (folder / "a").write_text("1")
    with files.new_folder(target) as folder:
        (folder / "b").write_text("2")
    assert [p.name for p in target.iterdir()] == ["b"]


def test_every_schema_is_named_after_its_file():
    for name in store.schema_names():
        schema = json.loads(store.schema_text(name))
        assert schema["title"].startswith(f"{name}: ")
        if "schema" in schema["properties"]:
            assert schema["properties"]["schema"] == {"const": name}
