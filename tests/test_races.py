"""Two processes at one folder: each writes it whole, and who reads it meanwhile says so."""

import http.client
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from report import files
from report.errors import ReportError
from report.files import new_folder, unreplaced
from report.pages.policy import NAME, policy
from report.site import check, push, serve
from report.site.check import check_site
from report.site.sums import write_sums
from tests.commands import contents
from tests.serving import served

PAGE = f'<meta charset="utf-8"><meta http-equiv="{NAME}" content="{policy()}"><title>A</title>'


def write_files(folder, names):
    for name in names:
        files.write_text(folder / name, name)


def beside(path):
    return [one.name for one in path.parent.iterdir() if one.name != path.name]


def test_who_writes_a_folder_at_the_same_time_takes_no_file_of_the_other(tmp_path):
    path = tmp_path / "datasets"
    with new_folder(path) as first:
        write_files(first, ["a", "b"])
        with new_folder(path) as second:
            write_files(second, ["c"])
        assert contents(path).keys() == {"c"}
        write_files(first, ["d"])
    assert contents(path).keys() == {"a", "b", "d"}
    assert beside(path) == []


def test_a_folder_that_another_puts_there_between_two_steps_is_replaced(tmp_path, monkeypatch):
    path = tmp_path / "datasets"
    write_files(path, ["old"])
    rename, others = Path.rename, iter(["before", "between"])

    def another(self, target):
        """Another process is done just before each of the first two steps of this one."""
        if (name := next(others, None)) is not None:
            if path.exists():
                shutil.rmtree(path)
            if name == "between":
                write_files(path, [name])
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", another)
    with new_folder(path) as mine:
        write_files(mine, ["mine"])
    assert contents(path).keys() == {"mine"}
    assert beside(path) == []


def test_a_folder_that_is_taken_for_a_leftover_before_it_is_held_is_made_again(
    tmp_path, monkeypatch
):
    mkdir, removed = Path.mkdir, []

    def taken(self, *arguments, **options):
        mkdir(self, *arguments, **options)
        if self.name.endswith(".tmp") and not removed:
            removed.append(self)
            self.rmdir()

    monkeypatch.setattr(Path, "mkdir", taken)
    with new_folder(tmp_path / "a") as folder:
        assert folder != removed[0]
        write_files(folder, ["b"])
    assert contents(tmp_path / "a").keys() == {"b"}


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("again", ["folder", "file", "equal file"])
def test_what_a_killed_process_left_goes_when_it_is_written_again(tmp_path, again):
    path = tmp_path / "a[b]*.json"
    left, other = (tmp_path / f".{name}.0123abcd.report.tmp" for name in (path.name, "other"))
    for each in (left, other):
        write_files(each, ["left"]) if again == "folder" else each.write_text("left")
    if again == "equal file":
        path.write_text("whole")
    if again == "folder":
        with new_folder(path):
            assert not left.exists()
    else:
        files.write_text(path, "whole")
    assert beside(path) == [other.name]


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("how", ["by its name", "as its working folder"])
def test_what_a_killed_process_left_goes_while_its_git_still_writes_there(
    tmp_path, monkeypatch, how
):
    left = tmp_path / ".a.0123abcd.report.tmp"
    write_files(left, ["one"])
    unlink, opened = os.unlink, os.open(left, os.O_RDONLY)
    more = iter("ab")

    def meanwhile(*arguments, **options):
        """The other program puts a file there just before each of the first two are removed."""
        if (name := next(more, None)) is not None:
            where = (left / name, None) if how == "by its name" else (name, opened)
            with suppress(FileNotFoundError):
                os.close(os.open(where[0], os.O_CREAT | os.O_WRONLY, dir_fd=where[1]))
        unlink(*arguments, **options)

    monkeypatch.setattr(os, "unlink", meanwhile)
    files.remove_leftovers(tmp_path)
    os.close(opened)
    assert next(more, None) is None or how == "by its name"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [None, FileNotFoundError("gone"), ReportError("2 problems")])
def test_who_reads_a_folder_that_is_replaced_says_so(tmp_path, wrong):
    write_files(tmp_path / "site", ["a"])

    def read(replaced):
        with unreplaced(tmp_path / "site"):
            if replaced:
                with new_folder(tmp_path / "site") as new:
                    write_files(new, ["b"])
            if wrong:
                raise wrong

    with pytest.raises(ReportError, match=r"/site: was built anew while it was read; run the co"):
        read(replaced=True)
    if wrong:
        with pytest.raises(type(wrong), match=str(wrong)):
            read(replaced=False)
    else:
        read(replaced=False)


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE)
    (folder / "404.html").write_text(PAGE)
    write_sums(folder)
    return folder


def rebuilt(site):
    with new_folder(site) as new:
        (new / "index.html").write_text(f"{PAGE}<p>new")
        write_sums(new)


@pytest.mark.parametrize("step", ["require_files", "_read_pages", "check_services"])
def test_a_check_of_a_site_that_is_built_meanwhile_blames_no_file(site, monkeypatch, step):
    done = getattr(check, step)

    def meanwhile(*arguments):
        rebuilt(site)
        return done(*arguments)

    monkeypatch.setattr(check, step, meanwhile)
    with pytest.raises(ReportError, match="was built anew while it was read") as told:
        check_site(site)
    assert "problem" not in str(told.value)


def test_nothing_is_pushed_of_a_site_that_was_built_after_it_was_checked(
    site, tmp_path, monkeypatch
):
    checked = push.check_site

    def meanwhile(folder):
        checked(folder)
        rebuilt(folder)

    monkeypatch.setattr(push, "check_site", meanwhile)
    monkeypatch.setattr(push, "_require_address", lambda *_: None)
    monkeypatch.setattr(push, "built_for", lambda *_: "https://a.example/")
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(bare)], check=True)
    with pytest.raises(ReportError, match="was built anew while it was read"):
        push.push(site, tmp_path, str(bare))
    assert not list(bare.rglob("refs/heads/*"))


@pytest.fixture
def traced(monkeypatch):
    """Errors of the server that nobody caught; the standard library writes them as tracebacks."""
    errors = []
    monkeypatch.setattr(serve.Server, "handle_error", lambda *about: errors.append(about))
    return errors


def got(address, path, **headers):
    connection = http.client.HTTPConnection(address.split("/")[2], timeout=20)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("headers", [{"Accept-Encoding": "gzip"}, {"Range": "bytes=1-3"}])
def test_a_file_that_goes_while_it_is_served_is_missing(site, monkeypatch, traced, headers):
    part = serve.Handler.part

    def meanwhile(self, size):
        for page in site.glob("*.html"):
            page.unlink()
        return part(self, size)

    monkeypatch.setattr(serve.Handler, "part", meanwhile)
    with served(site) as address:
        status, _ = got(address, "/index.html", **headers)
    assert (status, traced) == (404, [])


def test_a_request_waits_for_the_moment_in_which_the_site_is_replaced(site, monkeypatch, traced):
    waited = []

    def sleep(seconds):
        waited.append(seconds)
        shutil.move(site.parent / "old", site)

    with served(site) as address:
        site.rename(site.parent / "old")
        monkeypatch.setattr(serve, "time", type("Clock", (), {"sleep": staticmethod(sleep)}))
        status, content = got(address, "/")
    assert (status, content, len(waited), traced) == (200, PAGE.encode(), 1, [])


def test_a_site_that_is_gone_for_good_is_missing(site, monkeypatch, traced):
    with served(site) as address:
        shutil.rmtree(site)
        monkeypatch.setattr(serve, "PATIENCE", 1)
        status, _ = got(address, "/")
    assert (status, traced) == (404, [])
