"""Measuring again gives equal bytes, and the site passes its check. Building it again: see
tests/cli/test_one_study.py, and in processes of their own tests/measuring/test_frozen.py."""

import re

from tests.commands import contents, copy_project, report, without_date


def test_two_fresh_measurements_are_equal_byte_for_byte(built, tmp_path):
    project = copy_project(tmp_path / "other")
    options = ["--no-real", "--force", "--study", "attention-focus-plots", "--project", project]
    done = report("measure", *options)
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
