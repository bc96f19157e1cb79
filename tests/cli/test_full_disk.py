"""A disk that fills up: one clear sentence, and what was there before is still there."""

import json
import resource
import shutil

import pytest

from report.errors import ReportError
from report.site.build import build
from report.site.sums import write_sums
from tests.cli.saying import assert_matches
from tests.commands import contents
from tests.full_disk import REASON, Disk, fill_up
from tests.small import write_publication


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A function that makes a folder in which so many bytes, about, can be written and no more."""
    disks = []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full_disk(size):
        disk = Disk(tmp_path / f"disk-{size}")
        disks.append(disk)
        disk.leave(size)
        if not disk.mounted:
            fill_up(size, monkeypatch.setattr)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))  # for other processes
        return disk.folder

    yield full_disk
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    for disk in disks:
        disk.close()


FULL = rf"cannot write .*: ({REASON})\. Free some disk space or choose a folder"


def test_a_disk_that_is_full_while_measuring(run, options, full_disk):
    disk = full_disk(64 << 10)
    project = write_publication(disk / "project")
    before = contents(disk)
    done = run("measure", *options, "--project", project)
    assert done.code == 1
    assert_matches(FULL, done.error)
    kept = {path: content for path, content in contents(disk).items() if path not in before}
    assert contents(disk) == before | kept
    for path, content in kept.items():  # sums of finished batches, whole
        assert path.startswith("project/.cache/sums/")
        assert json.loads(content)["schema"] == "batch/3"


def test_a_disk_that_is_full_while_drawing(run, project, options, full_disk):
    assert run("measure", *options).code == 0
    datasets = contents(project / "site_src" / "datasets")
    disk = full_disk(sum(-(-len(content) // 4096) * 4096 for content in datasets.values()) + 65536)
    copy = shutil.copytree(project, disk / "project")
    done = run("render", *options, "--project", copy)
    assert done.code == 1
    assert_matches(FULL, done.error)
    assert contents(copy / "site_src" / "datasets") == datasets
    assert not list(copy.rglob(".*.tmp"))


def test_a_site_that_cannot_be_written_leaves_the_old_one(tmp_path, full_disk):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Small\n")
    (tmp_path / "docs" / "large.json").write_bytes(b" " * (1 << 20))
    (tmp_path / "mkdocs.yml").write_text("site_name: Small\ndocs_dir: docs\ntheme: mkdocs\n")
    disk = full_disk(256 << 10)
    (disk / "site").mkdir()
    (disk / "site" / "index.html").write_text("old")
    write_sums(disk / "site")
    before = contents(disk)
    with pytest.raises(ReportError, match=rf"^MkDocs could not build the site: .*({REASON}).*$"):
        build(tmp_path / "mkdocs.yml", disk / "site")
    assert contents(disk) == before
