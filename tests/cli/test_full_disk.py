"""A disk that fills up: one clear sentence, and what was there before is still there."""

import errno
import json
import os
import resource
import shutil
import subprocess

import pytest

from report.errors import ReportError
from report.site.build import build
from tests.cli.saying import assert_matches
from tests.commands import contents
from tests.small import write_publication


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """A function that makes a folder in which so many bytes, about, can be written and no more.

    A real one where the machine lets us mount it; else writes fail as they would there.
    """
    mounted = []

    def full_disk(size):
        folder = tmp_path / f"disk-{size}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if shutil.which("mount") and not subprocess.run(command, capture_output=True).returncode:
            mounted.append(folder)
            return folder
        used, write = 0, os.fsync

        def fsync(number):
            nonlocal used
            used += os.fstat(number).st_size
            if used > size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(number)

        monkeypatch.setattr(os, "fsync", fsync)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))  # for other processes
        return folder

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield full_disk
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


REASON = "(No space left on device|File too large)"
FULL = rf"cannot write .*: {REASON}\. Free some disk space or choose a folder"


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
        assert path.startswith("project/.cache/batches/")
        assert json.loads(content)["schema"] == "shard/1"


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
    with pytest.raises(ReportError, match=rf"^MkDocs could not build the site: .*{REASON}.*$"):
        build(tmp_path / "mkdocs.yml", disk / "site")
    assert contents(disk) == {"site/index.html": b"old"}
