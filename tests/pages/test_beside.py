"""Articles drawn by other processes: the same files, the same sentences, and while others are
measured."""

import time

import pytest

from report import pipeline
from report.datasets.write import processes
from report.measuring import alone
from tests.cli.saying import assert_matches, ended
from tests.commands import contents, report
from tests.small import ARTICLE, write_publication

NAMES = "one", "three", "two"

FIGURE = '''"""What is drawn."""

import os

import altair


def chart(data, **state):
    HERE
    return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q", y="a:Q")


def rows(data, **state):
    return [{"a": 1}]
'''

pytestmark = pytest.mark.usefixtures("short_corpus")


@pytest.fixture
def write(tmp_path, falcon_folder):
    """A function that writes a publication of three articles, of which one has an own figure."""

    def write(name, here="pass"):
        folder = write_publication(tmp_path / name)
        articles = folder / "templates" / "articles"
        (articles / "small.md.j2").unlink()
        text = ARTICLE.format(cover="update_magnitude")
        passage = "passage: passage.md"
        text = text.replace("title: Small", f"title: Small\nmodel: {falcon_folder}\n{passage}")
        for each in NAMES:
            own = '\n{{ figure("own") }}\n' if each == "three" else ""
            (articles / f"{each}.md.j2").write_text(text + own)
        (folder / "figures").mkdir()
        (folder / "figures" / "own.py").write_text(FIGURE.replace("HERE", here))
        return folder

    return write


@pytest.fixture
def cores(monkeypatch):
    """A function that sets how many processors there are; the processes that were started since."""
    started, start = [], processes._start

    def starting(*how):
        started.append(start(*how))
        return started[-1]

    monkeypatch.setattr(processes, "_start", starting)

    def set_number(number):
        monkeypatch.setattr(processes, "processors", lambda: number)
        started.clear()
        return started

    return set_number


def render(folder, *options):
    return ended(report("render", "--project", folder, *options))


def made(folder):
    """All files of the pages; what is said of paths depends on where they are."""
    return contents(folder / "site_src")


def test_processes_draw_what_one_draws(write, cores):
    folder = write("drawn")
    cores(1)
    assert render(folder).code == 0
    alone = made(folder)
    started = cores(2)
    done = render(folder, "--force")
    assert done.code == 0, done.said
    assert made(folder) == alone
    assert started, "other processes have drawn"
    assert all(process.poll() is not None for process in started), "none is left"
    assert "drawn before: 3 of 3" in render(folder).said


ENDS = {
    'raise KeyError("what")': r"own\.py, line 9: .*what",
    "os._exit(3)": "own.py.* the whole program was ended, with status 3",
}


@pytest.mark.parametrize("act", [*ENDS])
def test_what_goes_wrong_in_another_process_is_the_same_one_sentence(write, cores, act):
    folder = write("wrong", act)
    started = cores(2)
    done = render(folder)
    assert done.code == 1
    assert_matches(ENDS[act], done.error)
    assert started
    assert all(process.poll() is not None for process in started)


def test_an_article_is_drawn_while_the_next_is_measured(write, cores, monkeypatch):
    """The second one's measuring waits here until the first one's page is there. The model that
    they share is loaded once."""
    folder, measured, loaded = write("meanwhile"), [], []
    load = alone.load_source
    monkeypatch.setattr(alone, "load_source", lambda *of: loaded.append(of) or load(*of))
    cores(2)

    def measure(tasks, progress, announce, models):
        if tasks and measured:
            first, until = folder / ".cache" / "drawn" / f"{NAMES[0]}.json", time.monotonic() + 120
            while not first.exists():
                assert time.monotonic() < until, "it was not drawn meanwhile"
                time.sleep(0.05)
        measured.extend(tasks)
        return once(tasks, progress, announce, models)

    once = alone.alone
    monkeypatch.setattr(pipeline.measuring, "alone", measure)
    done = render(folder)
    assert done.code == 0, done.said
    assert len(measured) == 3
    assert len(loaded) == 1
    assert "drawn before" not in done.said
