"""A self-check that was passed counts for the same model, program and processor, and no other."""

import json
import os
import shutil

import pytest
import torch

from report import families
from report.datasets import store
from report.errors import ReportError
from report.measuring import kept_check
from report.measuring.kept_check import FOLDER, MOST
from report.models.attention import passed, self_check
from report.notebook import load
from report.notebook.measurement import CACHE
from tests.small import SENTENCE
from tests.tiny_falcon import random_falcon


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """The folder of kept checks, of this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / CACHE / FOLDER


@pytest.fixture
def runs(monkeypatch):
    """A list with an entry for each self-check that is run."""
    runs, original = [], self_check.self_check
    monkeypatch.setattr(self_check, "self_check", lambda one: runs.append(1) or original(one))
    return runs


@pytest.fixture
def folder(falcon_folder, tmp_path):
    return shutil.copytree(falcon_folder, tmp_path / "model")


def measured(folder, **options):
    """All datasets of a sentence, and the manifest's entries about model and self-check."""
    data = load(folder, **options).measure(SENTENCE).data
    about = [data.manifest[name] for name in ("model", "self_check")]
    return [json.loads(json.dumps(each)) for each in about], {
        name: store.dumps(data._read(name)) for name in data.manifest["files"]
    }


def test_a_model_that_passed_is_not_checked_again_and_measured_the_same(checks, runs, folder):
    first = measured(folder)
    assert measured(folder) == first
    assert len(runs) == 1
    (path,) = checks.iterdir()
    assert checks.stat().st_mode & 0o077 == 0
    assert os.fspath(folder) not in path.read_text(), "it says nothing of where files lie"


def other_weights(folder, _):
    random_falcon(alibi=True, seed=9).save_pretrained(folder)


def other_settings(folder, _):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"said": "again"}))


CHANGES = {
    "weights": other_weights,
    "settings": other_settings,
    "program": lambda _, patch: patch.setattr(kept_check, "_program", lambda: "another"),
    "packages": lambda _, patch: patch.setattr(kept_check, "packages", list),
    "python": lambda _, patch: patch.setattr(kept_check.sys, "version", "9.9"),
    "processor": lambda _, patch: patch.setattr(
        torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT"
    ),
    "variables": lambda _, patch: patch.setenv("MKL_CBWR", "COMPATIBLE"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_has_it_checked_again(change, checks, runs, folder, monkeypatch):
    measured(folder)
    with monkeypatch.context() as patch:
        CHANGES[change](folder, patch)
        measured(folder)
    assert len(runs) == 2
    assert len([*checks.iterdir()]) == 2


@pytest.mark.parametrize("options", [{"layers": 2}, {"dtype": "bfloat16"}])
def test_in_another_way_to_measure_it_is_checked_too(options, checks, runs, folder):
    measured(folder)
    measured(folder, **options)
    assert len(runs) == 2
    assert len([*checks.iterdir()]) == 2


def sealed(change):
    """Has an entry say something else, as whoever knows the seal could write it."""

    def damage(path):
        found = json.loads(path.read_text())
        del found["seal"]
        change(found)
        path.write_text(store.dumps(store.sealed(found)))

    return damage


DAMAGES = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_text(""),
    "no object": lambda path: path.write_text("[1]"),
    "deep": lambda path: path.write_text("[" * 100_000),
    "no seal": lambda path: path.write_text('{"depends": {}, "outcome": {}}'),
    "a bit": lambda path: path.write_text(path.read_text().replace("16", "17", 1)),
    "of another": sealed(lambda found: found["depends"].update(python="another")),
    "not passed": sealed(lambda found: found["outcome"]["checked"]["differences"].update(output=9)),
    "no difference": sealed(lambda found: found["outcome"]["checked"].update(differences={})),
    "endless": sealed(lambda found: found["outcome"]["checked"]["limits"].update(output="9")),
    "fewer layers": sealed(lambda found: found["outcome"]["checked"].update(layers_called=1)),
    "other layers": sealed(lambda found: found["outcome"].update(measures_updates=[True])),
    "no outcome": sealed(lambda found: found.update(outcome=None)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_entry_that_is_damaged_or_proves_nothing_is_ignored(damage, checks, runs, folder):
    first = measured(folder)
    (path,) = checks.iterdir()
    DAMAGES[damage](path)
    assert measured(folder) == first
    assert len(runs) == 2
    assert measured(folder) == first
    assert len(runs) == 2, "the new one has taken its place"


@pytest.mark.promise("kept-checks")
@pytest.mark.parametrize("way", ["a link", "another user", "a folder that others can use"])
def test_what_somebody_else_may_have_written_is_not_taken(way, checks, runs, folder, monkeypatch):
    measured(folder)
    (path,) = checks.iterdir()
    before = path.read_bytes()
    if way == "a link":
        path.rename(checks.parent / "elsewhere.json")
        path.symlink_to(checks.parent / "elsewhere.json")
    elif way == "another user":
        monkeypatch.setattr(kept_check.os, "geteuid", lambda: path.stat().st_uid + 1)
    else:
        checks.chmod(0o777)
    measured(folder)
    assert len(runs) == 2
    if way != "a link":
        assert path.read_bytes() == before, "nor is it written there"


def test_a_model_that_fails_is_checked_each_time(checks, folder, monkeypatch):
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(self_check, "limit", lambda *_: -1.0)
            with pytest.raises(ReportError, match="self-check failed"):
                measured(folder)
    assert not checks.exists() or not [*checks.iterdir()]


def test_a_folder_that_cannot_be_written_keeps_nothing(checks, runs, folder):
    checks.parent.mkdir(parents=True)
    checks.write_text("a file")
    measured(folder)
    measured(folder)
    assert len(runs) == 2


def test_the_newest_are_kept(checks, folder):
    checks.mkdir(mode=0o700, parents=True)
    for number in range(MOST + 3):
        (checks / f"{number}.json").write_text("{}")
        os.utime(checks / f"{number}.json", (number, number))
    measured(folder)
    assert len([*checks.iterdir()]) == MOST
    assert not (checks / "3.json").exists() and (checks / "4.json").exists()


def test_layers_whose_updates_are_not_measured_are_told_again():
    loaded, again = (families.loaded("llama") for _ in range(2))
    self_check.checked(loaded)
    loaded.structure[1].measures_updates = False
    assert passed.take(again, json.loads(json.dumps(passed.outcome(loaded))))
    assert [part.measures_updates for part in again.structure] == [True, False, True]
    assert again.checked == loaded.checked
    assert again.identity["capabilities"] == loaded.identity["capabilities"]
