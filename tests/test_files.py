"""Files and JSON that outlive anything that happens to them."""

import errno
import os
import signal
import socket
from pathlib import Path

import pytest

from report.authored.boundary import read_text
from report.datasets import store
from report.errors import ReportError
from report.figures.build.find import figure_named, figure_names
from report.files import (
    NOT_MEANT,
    cannot_write,
    new_folder,
    others_json,
    read_bytes,
    strict_json,
    write_text,
)
from report.inputs import corpora, passages
from report.inputs.specs import CorpusSpec
from report.pages.assets import write_theme
from report.pages.bibliography import uncited
from report.project import FOLDERS, LOCK, Project, only_build
from report.site import sums
from report.site.address import read_site, require_own_files
from report.site.build import build
from report.study.study import study_names
from tests.site import unmeasured


def test_strict_json_gives_what_json_says():
    assert strict_json('{"a": [1, 2.5, null, true, "b"]}') == {"a": [1, 2.5, None, True, "b"]}
    assert strict_json(b"[1, 2e3, 0.5]", str, lambda digits: f"<{digits}>") == [
        "1",
        "<2e3>",
        "<0.5>",
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the name 'c' comes twice in an object"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1", "delimiter"),
    ],
)
def test_strict_json_refuses_what_json_does_not_allow(written, said):
    with pytest.raises(ValueError, match=said):
        strict_json(written)


def test_a_name_that_comes_twice_in_json_of_others_has_one_value():
    assert others_json('{"a": [{"b": 1, "b": 1}], "c": NaN}')["a"] == [{"b": 1}]
    for other in ("2", "1.0", "true", '"1"', "null"):
        with pytest.raises(ValueError, match="the name 'b' comes twice in an object"):
            others_json(f'{{"a": [{{"b": 1, "b": {other}}}]}}')


@pytest.mark.parametrize("name", ["a[1]", "**"])
def test_a_leftover_is_found_whatever_its_folder_is_called(tmp_path, name):
    left = tmp_path / f".{name}.0123abcd.report.tmp"
    left.mkdir()
    with new_folder(tmp_path / name):
        assert not left.exists()
    assert (tmp_path / name).is_dir()


LEFT = (".#a{}", "#a{}#", "a{}~", ".a{}.swp", "._a{}")
"""What editors and systems leave beside a file of some ending."""


def test_what_editors_leave_is_nothing_of_an_author_s(tmp_path):
    root = unmeasured.write(tmp_path / "project")
    articles, theme = root / "templates" / "articles", root / "templates" / "theme"
    (articles / "parts").mkdir(parents=True)
    (root / "figures").mkdir()
    (articles / "references.bib").write_text("@misc{key, title={T}, year={2020}}")
    folders = {articles: ".md.j2", articles / "parts": ".j2", root / "figures": ".py"}
    folders |= {theme: ".html", root / "site_src": ".md"}
    for folder, ending in folders.items():
        for number, name in enumerate(LEFT):
            path = folder / name.format(ending)
            if number:
                path.write_bytes(b"'key' \xff")
            else:  # as Emacs locks a file
                path.symlink_to("ann@host.12:34")
    assert study_names(articles) == []
    assert figure_names(root / "figures") == figure_names()
    assert uncited(articles) == ["key"]
    require_own_files(root / "mkdocs.yml")
    write_theme(root)
    build(root / "mkdocs.yml", root / "site")
    found = [path for made in (".theme", "site") for path in (root / made).rglob("*a.*")]
    assert not [path for path in found if NOT_MEANT.fullmatch(path.name)]


def device(path):
    path.symlink_to("/dev/zero")


def listening(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


NO_FILES = {"pipe": os.mkfifo, "device": device, "socket": listening, "folder": os.mkdir}

OPENS = {
    "settings": ("mkdocs.yml", lambda root: read_site(root / "mkdocs.yml")),
    "a text of an author's": (
        "templates/a.md.j2",
        lambda root: read_text(root / "templates/a.md.j2"),
    ),
    "a figure": ("figures/own.py", lambda root: figure_named("own", root / "figures")),
    "a passage": ("own.md", lambda root: passages.read_text(root / "own.md")),
    "a corpus": (
        "own.txt",
        lambda root: len(corpora.specified(CorpusSpec(file=f"{root}/own.txt"))),
    ),
    "the list of what is ours": (".report.made", lambda root: built(root)),
    "a manifest": ("frozen/manifest.json", lambda root: store.read(root / "frozen/manifest.json")),
}


def built(root):
    with only_build(Project(root), str):
        pass


@pytest.fixture
def in_time():
    def stop(*_):
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.promise("pipes")
@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize(("name", "opens"), OPENS.values(), ids=list(OPENS))
def test_what_is_no_file_is_named(tmp_path, monkeypatch, in_time, kind, name, opens):
    monkeypatch.chdir(tmp_path)  # a socket has a short name
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    NO_FILES[kind](path.relative_to(tmp_path))
    with pytest.raises(ReportError, match=path.name):
        opens(tmp_path)
    with pytest.raises(OSError, match=path.name):
        read_bytes(path)


@pytest.mark.promise("pipes")
@pytest.mark.parametrize("kind", NO_FILES)
def test_a_list_that_is_no_file_keeps_no_site(tmp_path, monkeypatch, in_time, kind):
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    NO_FILES[kind](Path("site", sums.NAME))
    [said] = sums.problems(site)
    assert said.startswith(f"{sums.NAME}: cannot be read (")
    sums.require_site(site)


@pytest.mark.promise("pipes")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_in_place_of_a_folder_is_named_before_anything_is_built(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    for make in (path.write_text, path.symlink_to):  # a link that leads nowhere
        make("mine")
        with pytest.raises(ReportError, match=f"{name}: is no folder, .*; move it to another name"):
            built(tmp_path)
        assert [each.name for each in path.parent.iterdir()] == [path.name]
        path.unlink()


NO_LOCK = {"folder": os.mkdir, "link": device, "socket": listening}


@pytest.mark.promise("pipes")
@pytest.mark.parametrize("kind", NO_LOCK)
def test_what_is_in_the_way_of_the_lock_is_named(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    NO_LOCK[kind](Path(LOCK))
    with pytest.raises(ReportError, match=rf"\. {tmp_path}/{LOCK} is in the way; move it"):
        built(tmp_path)


def test_only_a_full_disk_is_said_to_be_full(tmp_path):
    path = tmp_path / "file" / "a" / "b.txt"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReportError, match=f"Not a directory. {tmp_path}/file is in the way; move"):
        write_text(path, "x")
    for number, full in ((errno.ENOSPC, True), (errno.EFBIG, True), (errno.EROFS, False)):
        said = str(cannot_write(path, OSError(number, "why")))
        assert ("disk space" in said, "in the way" in said) == (full, False)
