"""Folders of datasets in which one file is damaged: figures see what was measured, or nothing."""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report import files as files_
from report.datasets import store
from report.datasets.formats.attention import decode
from report.datasets.whole import damage
from tests.fuzz import made
from tests.fuzz.damage import damaged_bytes, damaged_json
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried


@pytest.fixture(scope="module", params=made.KINDS)
def whole(request, tmp_path_factory):
    """A folder of datasets, and all that can be read of it."""
    path = made.folder(tmp_path_factory.mktemp("made"), request.param)
    return Whole(path, made.everything(path))


@dataclass(frozen=True)
class Whole:
    """A folder of datasets and what is read of it."""

    path: Path
    expected: dict = field(repr=False)


def files(path):
    return sorted(each.relative_to(path).as_posix() for each in path.rglob("*.json"))


@pytest.mark.promise("changed-datasets")
@examples(40)
@given(st.data())
def test_a_file_that_was_changed_is_noticed(whole, data):
    path, expected = whole.path, whole.expected
    name = data.draw(st.sampled_from(files(path)))
    content = (path / name).read_bytes()
    text = damaged_json(json.loads(content)).map(lambda text: text.encode())
    changed = data.draw(st.one_of(damaged_bytes(content), text))
    (path / name).write_bytes(changed)
    try:
        found, said = tried(made.everything, path)
        if said is None and name == "manifest.json" and (seal := found["manifest"].get("seal")):
            # nothing else of a manifest can change, and the day is not sealed
            found["manifest"] |= {"date": expected["manifest"]["date"], "seal": seal}
        elif said is None and name == "manifest.json":
            return  # without a seal it was not written by measuring
        if said is None:
            assert made.same(found, expected)
        noticed = damage(path)
        assert noticed or changed == content or json.loads(changed) == json.loads(content)
        assert noticed or said is None, "a build would use what cannot be read"
    finally:
        (path / name).write_bytes(content)


@pytest.mark.promise("damaged-datasets")
@examples(60)
@given(st.data())
def test_numbers_that_do_not_fit_are_noticed_though_checksums_are_right(whole, data):
    """As if somebody had edited a file and the manifest: what is read can be drawn."""
    path = whole.path
    name = data.draw(st.sampled_from([name for name in files(path) if name != "manifest.json"]))
    manifest, content = (path / "manifest.json").read_bytes(), (path / name).read_bytes()
    (path / name).write_text(data.draw(damaged_json(json.loads(content))))
    told = json.loads(manifest)
    told["files"][name]["sha256"] = files_.sha256(path / name)
    try:
        store.write(path / "manifest.json", store.sealed(told | {"seal": ""}))
        found, said = tried(made.everything, path)
        for key, value in (found or {}).items():
            if key[0] in ("probability", "aligned"):
                assert not np.isinf(value).any()
            elif key[0] == "largest_targets":
                assert value.max() < len(value)
        assert said is None or found is None
    finally:
        (path / name).write_bytes(content)
        (path / "manifest.json").write_bytes(manifest)


@pytest.mark.parametrize("kind", ["passage", "window", "sink", "encoder"])
def test_shards_that_pass_hold_probabilities(kind, tmp_path):
    path = made.folder(tmp_path, kind)
    names = [name for name in files(path) if name.startswith("attention/")]

    @examples(60)
    @given(st.data())
    def check(data):
        name = data.draw(st.sampled_from(names))
        changed = path.parent / "shard.json"
        changed.write_text(data.draw(damaged_json(json.loads((path / name).read_bytes()))))
        shard, said = tried(store.read, changed)
        if said is None:
            found, said = tried(decode, shard)
        if said is None:
            total = found.probability.sum(1)
            assert found.probability.shape == (shard["tokens"],) * 2
            assert (found.probability >= 0).all()
            assert (total <= 1 + 1e-9).all()
            assert found.sink is not None or (total >= 1 - 1e-9).all()
            assert (found.probability[~found.visible.mask()] == 0).all()

    check()
    shutil.rmtree(path)
