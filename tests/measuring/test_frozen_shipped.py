"""The datasets that the repository itself has frozen: used as they are, small, and committed."""

import subprocess

import pytest

from report.datasets.verify.whole import require_measured
from report.measuring.plan import plans
from report.measuring.run import read
from report.models.find.names import is_here
from report.project import project
from report.study.study import read_study
from tests.commands import ROOT

FROZEN = sorted(path.name for path in (ROOT / "frozen").iterdir() if path.is_dir())
MOST = 1_000_000
"""Bytes of all of them."""

every_article = pytest.mark.parametrize("name", FROZEN)


def test_the_article_about_a_training_is_frozen():
    """Its checkpoints are no part of the repository."""
    assert "how-heads-form" in FROZEN


@every_article
@pytest.mark.parametrize("force", [False, True])
def test_they_are_used_without_the_checkpoints(name, force):
    """Whatever has become of the code that measured them; of models that are here, weights and
    settings must be those that were measured."""
    where = project(ROOT)
    study = read_study(where.articles / f"{name}.md.j2")
    chosen = plans(study, where, read(study), force=force, ask=False)
    wanted = study.front_matter.all_models
    assert len(chosen) == len(wanted)
    for plan, model in zip(chosen, wanted, strict=True):
        assert plan.state == ("measure" if force and is_here(model) else "frozen"), plan


@every_article
def test_every_folder_is_what_was_measured_and_one_of_the_article_s_models(name):
    where = project(ROOT)
    study = read_study(where.articles / f"{name}.md.j2")
    folders = list((where.frozen / name).iterdir())
    for folder in folders:
        require_measured(folder)
    assert len(folders) == len(study.front_matter.all_models)


def test_they_are_small_and_all_committed():
    files = [path for path in (ROOT / "frozen").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST
    listed = subprocess.run(
        ["git", "ls-files", "frozen"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) == {path.relative_to(ROOT).as_posix() for path in files}
