"""Building again: nothing is measured twice, and equal inputs give equal bytes."""

import re

from tests.commands import contents, copy_project, report, without_date


def stamps(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_second_run_measures_nothing_and_touches_no_dataset(copied):
    generated = copied.project / "site_src" / "datasets"
    before = stamps(generated), contents(generated)
    pages = {p.relative_to(copied.folder) for p in copied.folder.rglob("*")}
    assert "measured (" in copied.output
    again = report("site", "--project", copied.project, SITE_URL=copied.address)
    assert again.returncode == 0, again.stderr
    assert "unchanged, not measured again" in again.stderr
    assert "Corpus" not in again.stderr
    assert (stamps(generated), contents(generated)) == before
    assert {p.relative_to(copied.folder) for p in copied.folder.rglob("*")} == pages


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
