"""From front matter to datasets: measured once, again when something changed, never by halves."""

import json
import shutil

import pytest

from report import measuring, store
from report.datasets.reader import StudyData
from report.errors import ReportError
from report.study import read_study
from tests.commands import contents, without_date
from tests.small import CORPUS, write_publication


@pytest.fixture(autouse=True)
def short_corpus(monkeypatch):
    monkeypatch.setattr(measuring, "corpus", lambda: CORPUS)


@pytest.fixture
def study(falcon_folder, tmp_path):
    project = write_publication(tmp_path / "project")
    return read_study(
        project / "templates" / "articles" / "small.md.j2",
        model=str(falcon_folder),
        passage=str(project / "passage.md"),
    )


@pytest.fixture
def datasets(study, tmp_path):
    """Calls `measuring.datasets` for the small article; says what was measured."""

    def datasets(study=study, **options):
        steps = []
        found = measuring.datasets(
            study, tmp_path / "datasets", lambda *s: steps.append(s), **options
        )
        return *found, steps

    return datasets


def change_passage(study):
    path = study.template.parents[2] / "passage.md"
    path.write_text(path.read_text() + "And that was that.\n")


def test_the_first_call_measures_and_the_second_reads(datasets, monkeypatch):
    folder, ran, steps = datasets()
    assert ran
    assert folder.parent.name == "small"
    assert [s for s in steps if s[0] == "Corpus"] == [("Corpus", 1, 2), ("Corpus", 2, 2)]
    assert {what: n == total for what, n, total in steps} == dict.fromkeys(
        ("Passage", "Corpus", "Writing"), True
    )
    monkeypatch.setattr(measuring, "measure", None)  # may not be called
    assert datasets() == (folder, False, [])


def test_the_manifest_says_where_the_numbers_are_from(datasets, study, falcon_folder):
    folder, _, _ = datasets()
    manifest = StudyData(folder).manifest
    assert manifest["key"] == folder.name
    assert manifest["model"]["name"] == falcon_folder.name
    assert manifest["model"]["weights_sha256"] == store.sha256(falcon_folder / "model.safetensors")
    assert manifest["passage"] == {"name": "passage", "tokens": StudyData(folder).length}
    assert manifest["corpus"]["texts"] == 2
    assert manifest["self_check"]["layers_called"] == manifest["model"]["num_hidden_layers"] == 3
    assert str(falcon_folder.parent) not in json.dumps(manifest)
    written = {name for name in contents(folder) if name != "manifest.json"}
    assert manifest["files"].keys() == written
    assert len(written) == 2 + 3 * (1 + 4)
    for name, facts in manifest["files"].items():
        assert facts["sha256"] == store.sha256(folder / name)
        assert facts["bytes"] == (folder / name).stat().st_size


def test_forced_measurements_are_equal_byte_for_byte(datasets):
    first, _, _ = datasets()
    before = contents(first)
    again, ran, _ = datasets(force=True)
    assert (again, ran) == (first, True)
    assert without_date(contents(again)) == without_date(before)


def test_a_change_measures_again_and_only_the_newest_datasets_stay(datasets, study, tmp_path):
    first, _, _ = datasets()
    other = shutil.copytree(first, tmp_path / "datasets" / "another-article" / first.name)
    left = shutil.copytree(first, first.with_name(f".{first.name}.0123.tmp"))
    change_passage(study)
    second, ran, _ = datasets()
    assert ran
    assert second != first
    assert list(second.parent.iterdir()) == [second]
    assert not left.exists()
    assert other.exists()  # of another article


def test_what_a_killed_build_left_goes_although_nothing_is_measured(datasets):
    folder, _, _ = datasets()
    left = shutil.copytree(folder, folder.with_name(".0123456789ab.0123.tmp"))
    assert datasets()[1] is False
    assert not left.exists()


def test_an_error_while_writing_keeps_the_old_datasets_and_leaves_nothing(
    datasets, study, monkeypatch
):
    folder, _, _ = datasets()
    before = contents(folder.parent)
    change_passage(study)

    def fail(target, *_):
        (target / "half").write_text("x")
        raise ReportError("a number is not finite")

    monkeypatch.setattr(measuring, "write_datasets", fail)
    with pytest.raises(ReportError, match="not finite"):
        datasets()
    assert contents(folder.parent) == before
