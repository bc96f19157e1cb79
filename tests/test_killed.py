"""A build that is killed at any moment leaves no half-written dataset; the next one succeeds."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.commands import ROOT, contents, without_date
from tests.small import write_publication


@contextmanager
def children(folder, model):
    """A function that runs `report` with arguments in a child, killed before its n-th change."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.killing", str(folder), str(model)],
        cwd=ROOT,
        # no thread may be lost in a fork
        env=os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def run(*arguments, at=None):
            order = {"arguments": [str(each) for each in arguments], "at": at}
            print(json.dumps(order), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


@pytest.fixture(scope="module")
def measure(falcon_folder, tmp_path_factory):
    """Runs `report measure` in a new or given project below one folder."""
    folder = tmp_path_factory.mktemp("killed")
    with children(folder, falcon_folder) as run:

        def measure(project, *more, at=None):
            project = folder / project
            if not project.exists():
                write_publication(project)
            options = ("--model", falcon_folder, "--passage", project / "passage.md")
            done = run("measure", "--project", project, *options, *more, at=at)
            return done, project / "site_src" / "datasets" / "small"

        yield measure


@pytest.fixture(scope="module")
def undisturbed(measure):
    """Number of changes, key and datasets of a measurement that nobody kills."""
    done, where = measure("undisturbed")
    assert done["code"] == 0
    (folder,) = where.iterdir()
    return done["changes"], folder.name, without_date(contents(folder))


def visible(where):
    """The datasets that a site would show: dict of key to contents."""
    folders = where.iterdir() if where.is_dir() else ()
    return {f.name: without_date(contents(f)) for f in folders if not f.name.startswith(".")}


def test_a_first_measurement_appears_whole_or_not_at_all(measure, undisturbed):
    changes, key, expected = undisturbed
    moments = sorted({1, 2, 3, changes // 3, 2 * changes // 3, *range(changes - 3, changes + 1)})
    seen = []
    for at in moments:
        done, where = measure("first", "--force", at=at)
        assert done["killed"], at
        assert visible(where) in ({}, {key: expected}), at
        seen.append(len(visible(where)))
    assert seen[0] == 0  # the test watches the right folder, and kills early enough
    done, where = measure("first")
    assert done["code"] == 0
    assert [path.name for path in where.iterdir()] == [key]  # what was left behind is gone
    assert visible(where) == {key: expected}


def test_a_new_measurement_replaces_an_old_one_whole_or_not_at_all(measure, undisturbed):
    _, key, expected = undisturbed
    done, where = measure("again")
    assert done["code"] == 0
    swap = measure("again", "--force")[0]["changes"]
    for at in range(swap - 14, swap + 1, 2):
        done, _ = measure("again", "--force", at=at)
        assert visible(where) in ({}, {key: expected}), at
        measure("again")
        assert visible(where) == {key: expected}
        assert [path.name for path in where.iterdir()] == [key]
