"""Building again: nothing is measured twice, and equal inputs give equal bytes."""

import re
import shutil
from dataclasses import dataclass

import pytest

from tests.commands import contents, copy_project, report, without_date


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Rebuilt:
    """A copy of the site's project, before and after the command was run on it again."""

    datasets: tuple[dict, dict]
    """Contents of its folder of datasets, before and after."""
    stamps: tuple[dict, dict]
    """When these files were written."""
    site: tuple[dict, dict]
    """Contents of the built site."""
    said: str


@pytest.fixture(scope="module")
def rebuilt(built, tmp_path_factory):
    project = tmp_path_factory.mktemp("again") / "publication"
    shutil.copytree(built.project, project)
    datasets = project / "site_src" / "datasets"

    def state():
        return contents(datasets), stamps(datasets), contents(project / "site")

    before = state()
    done = report("site", "--project", project, timeout=900, SITE_URL=built.address)
    assert done.returncode == 0, done.stderr
    return Rebuilt(*zip(before, state(), strict=True), done.stderr)


def test_a_second_run_measures_nothing_and_touches_no_dataset(built, rebuilt):
    assert "measured (" in built.output
    assert "unchanged, not measured again" in rebuilt.said
    assert "Corpus" not in rebuilt.said
    for before, after in (rebuilt.stamps, rebuilt.datasets):
        assert before
        assert before == after


def test_two_builds_of_the_same_pages_give_the_same_bytes(rebuilt):
    before, after = rebuilt.site
    assert "index.html" in before
    assert before == after


def test_two_fresh_measurements_are_equal_byte_for_byte(built, tmp_path):
    project = copy_project(tmp_path / "other")
    done = report("measure", "--force", "--study", "attention-focus-plots", "--project", project)
    assert done.returncode == 0, done.stderr
    (folder,) = project.glob("site_src/datasets/attention-focus-plots/*")
    assert folder.name == built.datasets.name
    found, expected = contents(folder), contents(built.datasets)
    assert found.keys() == expected.keys()
    assert len(found) > 64
    assert without_date(found) == without_date(expected)


def test_the_command_that_checks_a_site_passes_it(built):
    done = report("check", built.folder)
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"all right .*\b(\d+) figures", done.stderr)[1]) >= 10
