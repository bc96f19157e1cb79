"""A disk that fills up at any point of a build: one sentence, nothing half-written; and once there
is room, what an undisturbed build makes."""

import re
import shutil

import pytest

from tests.commands import contents
from tests.full_disk import BLOCK, REASON, Disk
from tests.fuzz.profile import LONG
from tests.killing import order
from tests.test_killed import made, parts, write_two

FRACTIONS = (0.1, 0.5, 0.9) if LONG else (0.7,)
"""Of what each step of a build writes: datasets, pages, the site; more by `make fuzz`."""


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.close()


def size(files, block):
    return sum(-(-len(content) // block) * block for content in files.values())


@pytest.mark.timeout(900)
def test_a_disk_that_is_full_at_many_points_of_a_build(run_children, falcon_folder, tmp_path, disk):
    def site(project, room=None):
        passage = project / "passage.md"
        options = ("--project", project, "--model", falcon_folder, "--passage", passage)
        [done] = run_children(order(tmp_path, "site", *options, moment=None, after=None, room=room))
        return done

    undisturbed = tmp_path / "undisturbed" / "project"
    write_two(undisturbed)
    done = site(undisturbed)
    assert done["code"] == 0, done["said"]
    whole = made(undisturbed)
    of_datasets = contents(undisturbed / "site_src" / "datasets")
    of_pages = contents(undisturbed / "site_src")
    block = BLOCK if disk.mounted else 1
    steps = [size(of_datasets, block), size(of_pages, block) - size(of_datasets, block)]
    if disk.mounted:  # else the builder, another process, sees no end of it
        steps.append(size(contents(undisturbed / "site"), block))
    rooms = [
        int(sum(steps[:number]) + fraction * step)
        for number, step in enumerate(steps)
        for fraction in FRACTIONS
    ]
    for room in rooms:
        disk.leave(None)
        project = disk.folder / "project"
        shutil.rmtree(project, ignore_errors=True)
        write_two(project)
        disk.leave(room)
        done = site(project, disk.room)
        said = done["said"]
        assert done["code"] == 1, (room, said)
        (error,) = [line for line in said.splitlines() if line.startswith("error: ")]
        assert re.search(REASON, error), error
        assert len(error) < 700
        assert "Traceback" not in said
        parts(project, [whole])
        assert list(project.rglob("*.tmp")) == [], room
        disk.leave(None)
        done = site(project)
        assert done["code"] == 0, done["said"]
        assert made(project) == whole, room
