"""Dataset files that are damaged, cut off, or something else: refused, or read as they are."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report.datasets import store
from tests.fuzz import made
from tests.fuzz.damage import damaged_bytes, damaged_json
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried


@pytest.fixture(scope="module")
def datasets(tmp_path_factory, prediction):
    found = made.every_dataset(tmp_path_factory.mktemp("made"), prediction)
    assert sorted(found) == store.schema_names(), "a schema that nothing here is of"
    return {name: found[name] for name in sorted(found)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("read") / "data.json"


def read_or_refused(path, content):
    """What is read is what the file says, can be written, and is then read again as the same."""
    path.write_bytes(content)
    found, said = tried(store.read, path)
    if said is None:
        text = store.dumps(found)
        assert json.loads(text) == found == json.loads(content)
        path.write_bytes(text.encode("utf-8"))
        assert store.read(path) == found
    else:
        assert said.startswith(f"{path}: ")


@pytest.mark.promise("damaged-datasets")
@examples(150)
@given(st.data())
def test_bytes_that_were_changed(datasets, path, data):
    whole = datasets[data.draw(st.sampled_from(list(datasets)))]
    read_or_refused(path, data.draw(damaged_bytes(store.dumps(whole).encode())))


@pytest.mark.promise("damaged-datasets")
@examples(400)
@given(st.data())
def test_values_that_were_changed(datasets, path, data):
    whole = datasets[data.draw(st.sampled_from(list(datasets)))]
    read_or_refused(path, data.draw(damaged_json(whole)).encode())


@pytest.mark.promise("damaged-datasets")
@examples(150)
@given(st.binary(max_size=300))
@example(b"")
@example(b"\xef\xbb\xbf{}")
@example(b"[" * 100_000)
@example(b'{"schema":' * 5000)
@example(b'{"schema": {}}')
@example(b'{"schema": ["table/1"]}')
@example(b'{"schema": "../../etc/passwd"}')
@example(b'{"schema": "table/1", "tables": {}, "tables": {}}')
@example(b'{"schema": "table/1", "tables": {}, "layer": 1e999}')
@example(b'{"schema": "table/1", "tables": {}, "layer": ' + b"9" * 5000 + b"}")
@example(b'{"schema": "table/1", "tables": {"\\ud800": {"rows": 0, "columns": {}}}}')
def test_files_of_anything(path, content):
    read_or_refused(path, content)
    read_or_refused(path, json.dumps(content.decode("latin-1")).encode())


@examples(100)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_what_cannot_be_read_is_not_written(path, value):
    columns = {"a": {"description": "d", "unit": "u", "values": value}}
    table = {"schema": "table/1", "tables": {"t": {"rows": 1, "columns": columns}}}
    path.unlink(missing_ok=True)
    _, said = tried(store.write, path, table)
    assert path.exists() == (said is None)
    if said is None:
        assert store.read(path) == table
