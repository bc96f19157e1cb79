"""Models beside an article's own, and what takes the place of one that is not here."""

import pytest

from report.datasets import store
from report.errors import ReportError
from report.measuring import plan, run
from report.models.find import known
from report.project import project as project_in
from report.study.study import read_studies
from tests import packaged
from tests.small import write_publication

(NAME, *_) = known.packaged()
BOTH = f"model: {NAME} or falcon-8x8\nbeside: [falcon-8x8]\ntitle:"


def article(root, keys):
    """A project whose one article has these keys: its studies, and the project."""
    path = write_publication(root) / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text("utf-8").replace("title:", keys))
    return read_studies(path.parent), project_in(root)


def planned(studies, project):
    return [each.model for each in plan.plans(studies[0], project, run.read(studies[0]))]


def test_a_model_beside_itself_is_measured_once_and_why_is_said_once(tmp_path, monkeypatch):
    packaged.hide(monkeypatch)
    studies, project = article(tmp_path, BOTH)
    assert planned(studies, project) == ["falcon-8x8"]
    (said,) = plan.left_out(studies * 2, project)
    assert said == (
        f"{NAME} is not on this machine, as its package {known.packaged()[NAME].package} is not "
        "installed; falcon-8x8 takes its place (`make setup` installs it)."
    )


def test_of_several_alternatives_only_what_would_have_been_taken_is_said(tmp_path, monkeypatch):
    packaged.hide(monkeypatch)
    keys = f"models: [owner/large or {NAME} or qwen2-5x28, falcon-8x8 or {NAME} or qwen2-5x28]"
    (said,) = plan.left_out(*article(tmp_path, f"{keys}\ntitle:"))
    assert said.startswith(f"{NAME} is not on this machine")
    assert "; qwen2-5x28 takes its place" in said
    (project,) = article(tmp_path / "here", f"models: [falcon-8x8 or {NAME}]\ntitle:")[1:]
    assert plan.left_out(read_studies(project.articles), project) == []


def test_nothing_is_said_where_frozen_datasets_stand_in_for_a_model(tmp_path, monkeypatch):
    packaged.hide(monkeypatch)
    studies, project = article(tmp_path, BOTH)
    folder = project.frozen / "small" / "0123456789ab"
    folder.mkdir(parents=True)
    (folder / "manifest.json").touch()
    monkeypatch.setattr(store, "read", lambda path: {"model": {"name": NAME}, "kind": "passage"})
    assert plan.left_out(studies, project) == []


@pytest.mark.parametrize(
    ("keys", "models"),
    [
        ("model: falcon-8x8\nbeside: [qwen2-5x28]\ntitle:", ["falcon-8x8", "qwen2-5x28"]),
        ("models: [falcon-8x8, none or falcon-8x8]\ntitle:", ["falcon-8x8", "falcon-8x8"]),
    ],
)
def test_only_what_stands_beside_is_left_out_and_only_if_it_is_the_same(tmp_path, keys, models):
    assert planned(*article(tmp_path, keys)) == models


def test_an_authors_own_model_that_is_missing_is_an_error(tmp_path, monkeypatch):
    packaged.hide(monkeypatch)
    studies, project = article(tmp_path, f"model: {NAME}\ntitle:")
    assert plan.left_out(studies, project) == []
    with pytest.raises(ReportError, match=r"line 2: .* is not installed; run `make setup`"):
        planned(studies, project)
