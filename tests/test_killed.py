"""A build that is killed at any moment, or whose disk fills up at any point, leaves nothing
half-written; the next one makes what an undisturbed one makes."""

import fcntl
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from report.files import remove_leftovers
from report.site import sums
from tests.commands import ROOT, contents, without_date
from tests.full_disk import BLOCK, REASON, Disk
from tests.fuzz.profile import LONG
from tests.killing import order
from tests.small import SETTINGS, write_publication

pytestmark = pytest.mark.promise("killed-builds")


@pytest.fixture(scope="module")
def measure(run_children, falcon_folder, tmp_path_factory):
    """Runs `report measure` in a new or given project below one folder."""
    folder = tmp_path_factory.mktemp("killed")

    def measure(project, *more, at=None):
        project = folder / project
        if not project.exists():
            write_publication(project)
        options = ("--model", falcon_folder, "--passage", project / "passage.md")
        [done] = run_children(
            order(folder, "measure", "--project", project, *options, *more, at=at)
        )
        return done, project / "site_src" / "datasets" / "small"

    return measure


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
    inside = range(2, changes - 3) if LONG else (2, changes // 2)
    moments = sorted({1, *inside, *range(changes - 3, changes + 1)})
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
    for at in range(swap - 14, swap + 1, 1 if LONG else 4):
        done, _ = measure("again", "--force", at=at)
        assert visible(where) in ({}, {key: expected}), at
        measure("again")
        assert visible(where) == {key: expected}
        assert [path.name for path in where.iterdir()] == [key]


MOMENTS = 50 if LONG else 5
"""At which builds are killed; more by `make fuzz`."""
IN_MKDOCS = MOMENTS // 5
"""Of those moments."""

SEED = 20261120


def write_two(folder):
    """A publication whose two articles differ, and two passages to measure in turn."""
    write_publication(folder)
    small = folder / "templates" / "articles" / "small.md.j2"
    text = small.read_text().replace("title: Small", "title: Other")
    (small.with_name("other.md.j2")).write_text(text)
    (folder / "passage-1.md").write_text((folder / "passage.md").read_text() + "One more.\n")


def parts(project, wholes):
    """Check that every file is one of an undisturbed build, and the site all of one build.

    wholes: what undisturbed builds have made
    """
    found = made(project)
    for path, content in found.items():
        if not any(part.startswith(".") for part in path.split("/")):
            assert content in [whole.get(path) for whole in wholes], path
    site = {path: content for path, content in found.items() if path.startswith("site/")}
    sites = [{p: c for p, c in whole.items() if p.startswith("site/")} for whole in wholes]
    assert site in [{}, *sites]


def made(project):
    """What builds have made: site_src and site, without the day of measurement. The list of the
    site's files has sums of what the day is in; it must be right, and is not compared."""
    if (project / "site").is_dir():
        assert sums.problems(project / "site") == []
    days = {b"DAY"}
    for path in project.glob("site_src/datasets/*/*/manifest.json"):
        days.add(json.loads(path.read_text())["date"].encode())
    found = {}
    for name in ("site_src", "site"):
        for path, content in contents(project / name).items() if (project / name).is_dir() else ():
            for day in days:
                content = content.replace(day, b"DAY")
            found[f"{name}/{path}"] = content
    found.pop(f"site/{sums.NAME}", None)
    return found


@pytest.fixture(scope="module")
def site(run_children, falcon_folder):
    """Runs `report site` in a project; number: says which of its passages is measured."""

    def site(project, number=0, moment=None, after=None, room=None):
        passage = project / ("passage-1.md" if number % 2 else "passage.md")
        options = ("--project", project, "--model", falcon_folder, "--passage", passage)
        more = {"moment": moment, "after": after, "room": room}
        [done] = run_children(order(project.parent, "site", *options, **more))
        return done

    return site


@pytest.fixture(scope="module")
def undisturbed_sites(site, tmp_path_factory):
    """What builds of both passages make that nobody disturbs, each in a new project."""
    found = []
    for number in range(2):
        project = tmp_path_factory.mktemp("undisturbed") / "project"
        write_two(project)
        done = site(project, number)
        assert done["code"] == 0, done["said"]
        found.append(SimpleNamespace(project=project, made=made(project), clock=done["changes"]))
    return found


def test_killed_at_random_moments_it_then_makes_what_it_always_makes(
    site, undisturbed_sites, tmp_path
):
    """Each build starts from what the one before, killed, has left, and on the other passage."""
    chance = random.Random(SEED)
    wholes = [each.made for each in undisturbed_sites]
    clock = min(each.clock for each in undisturbed_sites)
    assert wholes[0].keys() != wholes[1].keys()  # of other keys
    project = tmp_path / "killed" / "project"
    write_two(project)
    moments = [{"moment": chance.randrange(1, clock)} for _ in range(MOMENTS - IN_MKDOCS)]
    moments += [{"after": chance.uniform(0.01, 0.5)} for _ in range(IN_MKDOCS)]
    chance.shuffle(moments)
    killed = 0
    for number, moment in enumerate(moments):
        killed += site(project, number, **moment)["killed"]
        parts(project, wholes)
        if number % 5 == 4:
            done = site(project, number)
            assert done["code"] == 0, done["said"]
            assert made(project) == wholes[number % 2]
    assert killed > MOMENTS * 0.6  # what is there already takes fewer events than all anew


def test_a_killed_build_leaves_no_page_that_does_not_fit_its_article(site, tmp_path):
    """Each build is of other sentences, after one that was killed as it drew earlier ones."""
    project, whole = tmp_path / "one" / "project", tmp_path / "other" / "project"
    write_two(project)
    assert site(project)["code"] == 0
    shutil.copytree(project, whole)
    for number, moment in enumerate((0.3, 0.5, 0.7, 0.9)):
        for folder in (project, whole):
            path = folder / "templates" / "articles" / "small.md.j2"
            path.write_text(path.read_text() + f"\nSentence {number}.\n")
            if folder == whole:
                clock = site(whole)["changes"]
        assert site(project, moment=int(moment * clock))["killed"]
        assert site(project)["code"] == 0
        assert made(project) == made(whole), number


SLOW = """
import fcntl, time
from pathlib import Path

def on_pre_build(config):
    global held
    held = Path("held").open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    Path("began").touch()
    time.sleep(600)
"""
"""Hook of MkDocs: it holds a file as long as it runs, longer than a test may take."""


@pytest.mark.promise("killed-commands")
def test_a_builder_ends_with_the_command_that_is_killed(tmp_path):
    """Else it writes on into a folder that the next command removes."""
    project = write_publication(tmp_path / "project")
    (tmp_path / "slow.py").write_text(SLOW)
    (project / "mkdocs.yml").write_text(SETTINGS + f"hooks: [{tmp_path / 'slow.py'}]\n")
    (project / "site_src" / "index.md").write_text("# Small\n")
    program = "import sys; from pathlib import Path; from report.site.build import build\n"
    program += "build(Path(sys.argv[1], 'mkdocs.yml'), Path(sys.argv[1], 'site'))"
    command = [sys.executable, "-c", program, project]
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as builds:
        while not (tmp_path / "began").exists():
            assert builds.poll() is None
            time.sleep(0.05)
        builds.kill()
    with (tmp_path / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # waits until nobody holds it
    remove_leftovers(project)
    assert list(project.glob(".*")) == []


FRACTIONS = (0.1, 0.5, 0.9) if LONG else (0.7,)
"""Of what each step of a build writes: datasets, pages, the site; more by `make fuzz`."""


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path / "disk")
    yield disk
    disk.close()


def size(files, block):
    return sum(-(-len(content) // block) * block for content in files.values())


def test_a_disk_that_is_full_at_many_points_of_a_build(site, undisturbed_sites, disk):
    undisturbed, whole = undisturbed_sites[0].project, undisturbed_sites[0].made
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
        done = site(project, room=disk.room)
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
