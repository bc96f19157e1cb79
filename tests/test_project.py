"""Two builds of a project at once: the second waits and says so, and both succeed."""

import os
import re
import runpy
import threading

import pytest

from report import files
from report.errors import ReportError
from report.project import Project, only_build
from report.site.address import require_own_files
from tests.commands import ROOT
from tests.killing import order
from tests.small import write_publication
from tests.test_killed import made, write_two

WAITING = "Another build of this project is running; waiting until it ends."


@pytest.fixture
def project(tmp_path):
    return Project(write_publication(tmp_path / "project"))


def test_the_second_waits_says_so_and_goes_on(project):
    said, waits, ended = [], threading.Event(), threading.Event()

    def announce(sentence):
        said.append(sentence)
        waits.set()

    def second():
        with only_build(project, announce):
            ended.set()

    thread = threading.Thread(target=second)
    with only_build(project, said.append):
        thread.start()
        assert waits.wait(60)
        assert not ended.is_set()
    thread.join(60)
    assert ended.is_set()
    assert said == [WAITING]


def test_an_error_lets_the_next_one_in_and_other_projects_never_wait(project, tmp_path):
    with pytest.raises(ZeroDivisionError), only_build(project, print):
        raise ZeroDivisionError
    other = Project(write_publication(tmp_path / "other"))
    with only_build(project, pytest.fail), only_build(other, pytest.fail):
        pass


@pytest.mark.promise("killed-commands")
def test_what_a_killed_build_left_is_removed_and_nothing_else(project):
    left = [".site.0123abcd.report.tmp/a.html", "site_src/articles/.a.md.0123abcd.report.tmp"]
    kept = [".venv/.cache.tmp", ".else.0123abcd.tmp", "site_src/.well-known/x.tmp"]
    kept += ["site_src/notes.0123abcd.report.tmp"]
    for name in [*left, *kept]:
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        (project.root / name).write_text("x")
    pipe = ".a pipe that nobody writes to.0123abcd.report.tmp"
    os.mkfifo(project.root / pipe)
    left.append(pipe)
    with only_build(project, print):
        assert not any((project.root / name).exists() for name in left)
        assert all((project.root / name).exists() for name in kept)


def test_what_a_full_disk_left_of_a_name_in_the_list_is_no_part_of_the_next(project):
    page = project.site_src / "page.md"
    listed = project.root / files.LIST
    listed.write_text("site_src/old.md\nsite_src/pa")
    for text in ("one", "two"):  # the second build knows what the first wrote
        with only_build(project, print):
            files.write_text(page, text)
    assert page.read_text() == "two"


@pytest.mark.promise("killed-builds")
def test_after_a_power_cut_no_file_is_there_without_its_name_in_the_list(project, monkeypatch):
    """What is not synchronised may be lost; a file may keep the name that it was given."""
    listed, sure = project.root / files.LIST, {}
    before, put = os.fsync, files.Path.replace

    def fsync(number):
        before(number)
        if listed.exists() and os.path.samestat(os.fstat(number), listed.stat()):
            sure["names"] = listed.read_text().split("\n")

    def replace(path, target):
        assert target.relative_to(project.root).as_posix() in sure.get("names", ())
        put(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(files.Path, "replace", replace)
    with only_build(project, print):
        for name in ("a.md", "b/c.md"):
            files.write_text(project.site_src / name, "text")
    assert {"site_src/a.md", "site_src/b/c.md"} <= {*sure["names"]}


@pytest.mark.parametrize("name", ["articles/a/index.md", "embed/a/b.html"])
def test_a_text_that_no_build_could_read_again_is_not_written(project, name):
    path, text = project.site_src / name, "word " * 4_400_000
    with only_build(project, print):
        files.write_text(path, "short")
        with pytest.raises(ReportError, match=f"{name}: has 22.0 MB, and a text of its kind may"):
            files.write_text(path, text)
        assert path.read_text() == "short"
        files.write_text(path.with_suffix(".json"), text)


def test_a_long_text_of_an_earlier_build_is_no_mistake_of_an_author_s(project):
    ours, mine = (project.site_src / name for name in ("articles/a/index.md", "mine.md"))
    with only_build(project, print):
        files.write_text(ours, "short")
    os.truncate(ours, 22_000_000)
    with only_build(project, print):
        require_own_files(project.config)
        files.write_text(ours, "short again")
        mine.write_bytes(b" " * 22_000_000)
        with pytest.raises(ReportError, match=r"mine\.md: has 22\.0 MB"):
            require_own_files(project.config)


@pytest.mark.parametrize("way", ["link", "folder", "no text"])
def test_a_list_that_is_none_is_refused_and_nothing_is_written_through_it(project, tmp_path, way):
    listed, diary = project.root / files.LIST, tmp_path / "diary.txt"
    diary.write_text("mine")
    if way == "link":
        listed.symlink_to(diary)
    elif way == "folder":
        listed.mkdir()
    else:
        listed.write_bytes(b"\xff")
    with pytest.raises(ReportError, match=re.escape(files.LIST)), only_build(project, print):
        files.write_text(project.site_src / "page.md", "x")
    assert diary.read_text() == "mine"


def test_two_builds_at_once_make_what_one_makes(run_children, falcon_folder, tmp_path):
    def build(project):
        options = ("--model", falcon_folder, "--passage", project / "passage.md")
        return order(tmp_path, "site", "--project", project, *options, moment=None, after=None)

    alone, shared = tmp_path / "alone", tmp_path / "shared"
    write_two(alone)
    write_two(shared)
    done = [*run_children(build(alone)), *run_children(build(shared), build(shared))]
    assert [each["code"] for each in done] == [0, 0, 0]
    assert made(shared) == made(alone)


FOREIGN = (
    *("archive/index.md", "articles/notes.md", "articles/small/index.md", "datasets/table.csv"),
    *("datasets/small/notes/read.md", "embed/old/index.html", "feed.xml", "assets/site.js"),
    *("figures/small/rows/mine/photo.csv", "schemas/mine.json", "../.theme/main.html", "../site"),
)
"""Files of an author's, from `site_src`, that lie where the program writes or tidies up."""


@pytest.mark.promise("replaces-own")
def test_nothing_of_an_author_is_replaced_or_removed(run_children, falcon_folder, tmp_path):
    calls, paths = [], []
    for number, name in enumerate(FOREIGN):
        folder = write_publication(tmp_path / f"{number}")
        path = (folder / "site_src" / name).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
        paths.append(path)
        model = ("--model", falcon_folder, "--passage", folder / "passage.md")
        calls.append(order(folder, "site", "--project", folder, *model))
    for done, path in zip(run_children(*calls), paths, strict=True):
        assert done["code"] == 1, path
        assert f"{path}:" in done["said"], path
        assert path.read_text() == "mine"
        assert not [each for each in path.parent.glob(".*") if each.name.endswith(".tmp")]


@pytest.mark.parametrize("environment", [{}, {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "9"}])
def test_threads_wait_asleep_whatever_the_environment_says(environment, monkeypatch):
    monkeypatch.setattr(os, "environ", environment)
    runpy.run_path(str(ROOT / "report" / "__init__.py"))
    assert os.environ["OMP_WAIT_POLICY"] == "passive" and "GOMP_SPINCOUNT" not in os.environ
