"""Heads in files of queries and keys are checked with the keys that they name."""

import shutil

import pytest

from report.datasets import store
from report.datasets.verify.published import check_datasets
from report.files import sha256
from tests import factored
from tests.figures import hand_made


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A site with the heads of one group."""
    site = tmp_path_factory.mktemp("site")
    folder = site / "datasets" / "long" / ("0" * 12)
    shards = factored.datasets(factored.measured("llama"), 0)
    store.write(folder / "keys" / "0" / "0.json", shards[0]["keys"])
    for shard in shards:
        named = shard | {"keys": "keys/0/0.json"}
        store.write(folder / "attention" / "0" / f"{shard['head']}.json", named)
    files = {
        path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(folder.rglob("*.json"))
    }
    manifest = hand_made.manifest(hand_made.KINDS["rotary"])
    read = {"name": "long", "tokens": factored.LENGTH}
    store.write(
        folder / "manifest.json", store.sealed(manifest | {"files": files, "passage": read})
    )
    return site


@pytest.fixture
def site(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "site")


def test_what_is_written_is_right(site):
    counts = {"datasets": 0}
    assert check_datasets(site, counts) == []
    assert counts["datasets"] == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layer": 1}, "0.json: is of layer 1 key head 0"),
        ({"components": 1}, "0.json: the keys have 1 components and 16 middles"),
        ({"tokens": 59}, "0.json: the keys are not those of 59 tokens"),
        (None, "no such dataset"),
    ],
)
def test_keys_that_do_not_fit_are_told(site, change, said):
    [path] = site.rglob("keys/0/0.json")
    if change is None:
        path.unlink()
    else:
        store.write(path, store.read(path) | change)
    problems = check_datasets(site, {"datasets": 0})
    assert any(said in problem for problem in problems), problems
