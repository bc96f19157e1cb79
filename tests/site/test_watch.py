"""A publication that is being written: what changed, what is rendered anew, and what open pages
are told."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from types import SimpleNamespace

import pytest

from report import pipeline
from report.console import Terminal
from report.errors import ReportError
from report.measuring import alone
from report.pages import render
from report.pages.later import MARK
from report.project import Project
from report.site.serve import Handler
from report.watching import files, watch
from report.watching.server import SCRIPT, STATE, BuildState, with_script
from report.watching.watch import Rebuilder, touched, union
from tests.commands import ROOT, contents, report
from tests.serving import served
from tests.small import ARTICLE, write_corpus, write_publication
from tests.unpainted import unpainted

WORD = "What it says."
FIGURE = '''"""How large a thing is."""
import altair


def title(data):
    return "Mine"


def chart(data, **state):
    return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q", y="b:Q")


def rows(data, **state):
    return [{"a": 1, "b": 2}]
'''
PATIENCE = 60
"""Seconds after which a wait is a failure; none takes nearly as long."""


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder):
    """A small publication of two articles, measured and built."""
    project = write_publication(tmp_path_factory.mktemp("watch") / "project")
    write_corpus(project)
    (project / "templates" / "articles" / "small.md.j2").unlink()
    for name in ("one", "two"):
        keys = f"title: On {name}\nmodel: {falcon_folder}\npassage: passage.md\ncorpus: corpus.txt"
        text = ARTICLE.format(cover="update_magnitude").replace("title: Small", keys)
        (project / "templates" / "articles" / f"{name}.md.j2").write_text(f"{text}\n{WORD}\n")
    with unpainted():
        done = report("site", "--project", project)
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture
def project(measured, tmp_path):
    return Project(shutil.copytree(measured, tmp_path / "project"))


def article(project, name="one"):
    return project.articles / f"{name}.md.j2"


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


class StoppedError(Exception):
    """As Ctrl-C does for the command."""


class Sayings(watch.Quiet):
    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


def ask(port, path, host=None):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def until(wanted, get):
    """Wait until what is got is wanted; returns it."""
    end = time.monotonic() + PATIENCE
    while not wanted(got := get()):
        assert time.monotonic() < end, got
        time.sleep(0.02)
    return got


@contextmanager
def watching(project):
    """The publication, watched as the command does it: (port, what the terminal was told)."""
    told, terminal = BuildState(), Sayings()
    request, stopped = pipeline.Request(project), threading.Event()

    def follow(rebuilder, seen):
        with suppress(StoppedError):
            for names in watch.changes(request, seen, pause):
                watch.attempt(rebuilder, names, told, terminal)

    def pause(seconds):
        if stopped.wait(seconds):
            raise StoppedError

    with unpainted(), watch.serving(request, 0, told) as address:
        rebuilder, seen = Rebuilder(request, terminal, told), watch.look(request)
        watch.attempt(rebuilder, [], told, terminal)
        thread = threading.Thread(target=follow, args=(rebuilder, seen))
        thread.start()
        try:
            yield int(address.rstrip("/").rpartition(":")[2]), terminal.said
        finally:
            stopped.set()
            thread.join(PATIENCE)


def state(port):
    return json.loads(ask(port, STATE)[2])


@pytest.mark.promise("serve-watch")
def test_a_change_is_served_and_a_mistake_shown_and_taken_away(project):
    with watching(project) as (port, said):
        first = state(port)
        assert first["error"] == ""
        page = ask(port, "/articles/one/")[2]
        assert WORD in page
        assert f'<script src="{SCRIPT}?built={first["built"]}"></script>' in page
        change(article(project), f"\n{WORD}\n", "\nAnother word.\n")
        second = until(lambda now: now["built"] != first["built"], lambda: state(port))
        page = ask(port, "/articles/one/")[2]
        assert "Another word." in page
        assert second["built"] in page
        change(article(project), 'figure("update_', 'figure("updat_')
        wrong = until(lambda now: now["error"], lambda: state(port))
        assert wrong["built"] == second["built"], "the last good site stays"
        assert "one.md.j2, line" in wrong["error"]
        assert "did you mean 'update_magnitude'" in wrong["error"]
        assert "Another word." in ask(port, "/articles/one/")[2]
        change(article(project), 'figure("updat_', 'figure("update_')
        good = until(lambda now: now != wrong, lambda: state(port))
        assert good["error"] == "" and good["built"] not in (first["built"], second["built"])
    changed = r" \(templates/articles/one\.md\.j2\)"
    wanted = [rf"{how}uilt in \d+\.\d s, \d+\.\d s of it by MkDocs" for how in ("b", "reb", "reb")]
    for line, start, end in zip(said, wanted, ("", changed, changed), strict=True):
        assert re.fullmatch(start + end, line)
    assert [n for n, text in contents(project.site).items() if SCRIPT[:-3].encode() in text] == []


def test_a_watched_site_is_the_one_that_a_build_makes(project):
    rebuilder = Rebuilder(pipeline.Request(project), Sayings())
    with unpainted():
        rebuilder.rebuild()
        change(article(project), WORD, "Another word.")
        change(article(project, "two"), "title: On two", "title: First of all")
        change(article(project, "two"), "date: 2026-01-02", "date: 2026-03-04")  # the newest now
        rebuilder.rebuild(["templates/articles/one.md.j2", "templates/articles/two.md.j2"])
        kept = contents(project.site)
        assert report("site", "--project", project.root).returncode == 0
    assert kept == contents(project.site)
    assert b"First of all" in kept["index.html"]


def with_own_figure(project):
    """The path of a figure of the publication's own, which an article places."""
    own = project.figures / "mine.py"
    own.parent.mkdir()
    own.write_text(FIGURE)
    with article(project).open("a") as file:
        file.write('\n{{ figure("mine") }}\n')
    return own


def test_only_what_changed_is_rendered_and_written(project, monkeypatch):
    rendered, names = [], []
    real, write = pipeline.render_article, render._write_figures
    monkeypatch.setattr(
        pipeline,
        "render_article",
        lambda study, *rest: rendered.append(study.name) or real(study, *rest),
    )
    monkeypatch.setattr(
        render,
        "_write_figures",
        lambda folder, figures, article: (
            names.extend(each.name for each in figures) or write(folder, figures, article)
        ),
    )
    own = with_own_figure(project)
    rebuilder = Rebuilder(pipeline.Request(project), Sayings())
    folder = project.site_src / "figures" / "one"
    template = ["templates/articles/one.md.j2"]
    with unpainted():
        rebuilder.rebuild()
        first = contents(folder)
        assert sorted(rendered) == ["one", "two"]
        rendered.clear()
        names.clear()
        change(article(project), WORD, "Another word.")
        rebuilder.rebuild(template)
        assert (rendered, names, contents(folder)) == (["one"], [], first)
        change(own, "Mine", "Yours")
        next(folder.glob("update_*.vega.json")).unlink()  # as another build might
        rebuilder.rebuild(["figures/mine.py"])
        changed = contents(folder)
        assert first.keys() == changed.keys()
        assert {name for name in first if first[name] != changed[name]} >= {"mine.json"}
        assert all(first[name] == changed[name] for name in first if not name.startswith("mine"))
        change(article(project), '{{ figure("mine") }}', "")
        rebuilder.rebuild(template)
        assert not [name for name in contents(folder) if "mine" in name]


def test_what_mkdocs_would_not_take_is_told_before_anything_is_measured(project, monkeypatch):
    change(project.config, "site_name:", "plugins: [no-such]\nsite_name:")
    monkeypatch.setattr(pipeline, "measure", lambda *_: pytest.fail("it is measured"))
    with pytest.raises(ReportError, match=r"mkdocs\.yml, line \d+: plugins: .*no-such"):
        Rebuilder(pipeline.Request(project), Terminal()).rebuild()


def test_what_a_change_makes_measure_is_said(project):
    terminal = Sayings()
    rebuilder = Rebuilder(pipeline.Request(project), terminal)
    with unpainted():
        rebuilder.rebuild()
        assert terminal.said == []
        change(project.root / "passage.md", "lamp", "light")
        rebuilder.rebuild(["passage.md"])
    measured = [line for line in terminal.said if ": measured (" in line]
    assert [line[:4] for line in measured] in (["one:", "two:"], ["two:", "one:"])
    assert all("passage" in line for line in measured)


@pytest.fixture
def meanwhile(project, monkeypatch):
    """A function that has something done once, as soon as a model begins to measure."""
    left, real = [], alone.measure_with

    def measure_with(loaded, task, progress, announce):
        if left:
            left.pop()()
        progress("Measuring", 0, 1)
        return real(loaded, task, progress, announce)

    monkeypatch.setattr(alone, "measure_with", measure_with)
    monkeypatch.setattr(watch, "PAUSE", 0)
    return left.append


def test_a_model_stays_loaded_while_it_is_the_same(project, monkeypatch):
    loaded, real = [], alone.load_source
    load = lambda source, *rest: loaded.append(source.name) or real(source, *rest)  # noqa: E731
    monkeypatch.setattr(alone, "load_source", load)
    passage = project.root / "passage.md"
    rebuilder = Rebuilder(pipeline.Request(project), Sayings())
    with unpainted():
        for old, new in (("lamp", "light"), ("light", "torch")):
            change(passage, old, new)
            rebuilder.rebuild(["passage.md"])
        assert len(loaded) == 1
        change(article(project), "corpus:", "layers: 0-0\ncorpus:")
        rebuilder.rebuild(["templates/articles/one.md.j2"])
        assert len(loaded) == 2
        kept = contents(project.site)
        assert report("site", "--project", project.root, "--force").returncode == 0
    assert kept == contents(project.site)


def test_a_measurement_that_is_out_of_date_is_dropped(project, meanwhile):
    terminal, told = Sayings(), BuildState()
    rebuilder = Rebuilder(pipeline.Request(project), terminal)
    passage = project.root / "passage.md"
    with unpainted():
        watch.attempt(rebuilder, [], told, terminal)
        before, built = contents(project.site_src), told.built
        change(passage, "lamp", "light")
        meanwhile(lambda: change(passage, "light", "torch"))
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
        assert "dropped" in terminal.said[-1]
        assert contents(project.site_src) == before, "nothing of it is left"
        assert (told.built, told.error) == (built, "")
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
        assert [line[5:13] for line in terminal.said if ": measured" in line] == ["measured"] * 2
        kept = contents(project.site)
        assert report("site", "--project", project.root).returncode == 0
    assert kept == contents(project.site)
    assert len([*project.site_src.glob("datasets/*/*/manifest.json")]) == 2


@pytest.mark.parametrize("old", [WORD, "---\ntitle", "title: On"])
def test_a_measurement_goes_on_while_its_words_change(project, meanwhile, old):
    terminal, told = Sayings(), BuildState()
    rebuilder = Rebuilder(pipeline.Request(project), terminal)
    with unpainted():
        watch.attempt(rebuilder, [], told, terminal)
        change(project.root / "passage.md", "lamp", "light")
        meanwhile(lambda: change(article(project), old, "More"))
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
    assert not [line for line in terminal.said if "dropped" in line]
    assert len([line for line in terminal.said if ": measured" in line]) == 2


def words_of(draft):
    """The text of a draft's page: of the tiny model, each letter is a token."""
    return re.sub(r"<[^>]*>", "", draft.html.decode())


def draft_of(told, name="one"):
    return told.draft(f"/articles/{name}/")


@pytest.fixture
def stages(monkeypatch):
    """What is shown whenever an article was measured, drawn, or is built: a list of (when, names
    of articles that are shown as drafts)."""
    found, told = [], BuildState()

    def noting(module, name, when):
        real = getattr(module, name)

        def call(*given, **options):
            done = real(*given, **options)
            found.append((when, sorted(told.drafts)))
            return done

        monkeypatch.setattr(module, name, call)

    noting(pipeline, "measure", "measured")
    noting(pipeline, "draw", "drawn")
    noting(watch, "build", "built")
    return SimpleNamespace(found=found, told=told)


@pytest.mark.promise("serve-watch")
def test_a_changed_passage_is_shown_before_it_is_measured_to_the_end(project, stages):
    told, passage = stages.told, project.root / "passage.md"
    with article(project).open("a") as file:
        file.write("{{ passage() }}\n\n{{ find.opening.label }}: ")
        file.write("{{ '%.9f' | format(find.opposing()) }}\n")
        file.write("{{ '%.9f' | format(find.mean_probability['first_token'][0, 1]) }}\n")
    rebuilder = Rebuilder(pipeline.Request(project), Sayings(), told)
    with unpainted():
        watch.attempt(rebuilder, [], told, rebuilder.terminal)
        first = contents(project.site)["articles/one/index.html"]
        assert stages.found == [("measured", []), ("drawn", []), ("built", [])]
        stages.found.clear()
        shown, show = [], told.show
        told.show = lambda draft: shown.append(draft) or show(draft)
        change(passage, "lamp", "light")
        watch.attempt(rebuilder, ["passage.md"], told, rebuilder.terminal)
        both = ["one", "two"]
        assert stages.found == [("measured", both), ("drawn", both), ("built", both)]
        assert (told.drafts, told.error) == ({}, "")
        kept = contents(project.site)
        assert report("site", "--project", project.root, "--force").returncode == 0
    assert kept == contents(project.site), "as of a build from nothing"
    assert not [name for name, text in kept.items() if b".draft-" in text or MARK.encode() in text]
    assert [each.article for each in shown] == ["one", "two"] * 2
    built = kept["articles/one/index.html"]
    for draft in (shown[0], shown[2]):
        assert "light" in words_of(draft) and b"<img" not in draft.html
        assert "still pictures" in draft.lacks
        numbers = re.findall(rb"0\.\d{9}", built)
        assert len(numbers) == 2
        assert all(number in draft.html and number not in first for number in numbers)
    (folder,) = project.site_src.glob("datasets/one/*/")
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in manifest["files"]:
        for draft in (shown[0], shown[2]):
            sent = draft.file(f"datasets/{draft.name}/{folder.name}/{name}")
            assert sent == (folder / name).read_bytes(), name
    with told_of_draft(told, shown[0]) as state:
        assert "still pictures" in state.of("/articles/one/")["later"]
        assert "one" in state.of("/")["later"]


@pytest.mark.parametrize("both", [True, False])
def test_a_changed_passage_of_several_models_is_shown_before_it_is_written(project, both):
    """Those that have datasets of it are not measured again for it."""
    first, second = (project.root / name for name in ("first", "second"))
    [model] = re.findall("model: (.*)", article(project).read_text("utf-8"))
    for folder in (first, second):
        shutil.copytree(model, folder)
    article(project, "two").unlink()
    change(article(project), f"model: {model}", "model: ./first\nbeside: [./second]")
    with article(project).open("a") as file:
        file.write("{{ passage() }}\n\n{% for each in compared %}{{ each.label }}: ")
        file.write("{{ '%.9f' | format(each.data.attention(1, 0).probability[9, 1]) }}\n")
        file.write("{% endfor %}\n")
    rebuilder, shown = Rebuilder(pipeline.Request(project), Sayings(), BuildState()), []
    with unpainted():
        watch.attempt(rebuilder, [], rebuilder.state, rebuilder.terminal)
        assert rebuilder.state.error == ""
        rebuilder.state.show = shown.append
        if both:
            change(project.root / "passage.md", "lamp", "light")
        else:
            path = second / "config.json"
            config = json.loads(path.read_text("utf-8"))
            path.write_text(json.dumps(config | {"layer_norm_epsilon": 1e-4}), "utf-8")
        watch.attempt(rebuilder, ["passage.md"], rebuilder.state, rebuilder.terminal)
    draft, built = shown[0], contents(project.site)["articles/one/index.html"]
    numbers = re.findall(rb"(?:first|second): 0\.\d{9}", built)
    assert len(set(numbers)) == 2 and all(number in draft.html for number in numbers)
    assert len([line for line in rebuilder.terminal.said if ": measured" in line]) == 3 + both
    assert ("what heads do over many texts" in draft.lacks) == (not both)  # of another model
    for folder in project.site_src.glob("datasets/one/*/"):
        for name in json.loads((folder / "manifest.json").read_text())["files"]:
            sent = draft.file(f"datasets/{draft.name}/{folder.name}/{name}")
            later = not both and name.startswith("heads/") and b"corpus" not in sent
            assert later or sent == (folder / name).read_bytes(), name
    assert draft.file(f"datasets/{draft.name}/{folder.name}/none.json") is None


@contextmanager
def told_of_draft(told, draft):
    told.drafts = {draft.article: draft}
    yield told
    told.drafts = {}


def test_what_is_still_to_be_measured_is_marked(project, monkeypatch):
    """Of a passage, what heads do over many texts that no dataset has, and numbers of more heads
    than are read at first."""
    from report.watching import so_far

    monkeypatch.setattr(so_far, "HEADS", 1)
    monkeypatch.setattr(so_far, "CELLS", 0)
    monkeypatch.setattr(so_far, "corpus_of", lambda *_: None)
    told = BuildState()
    with article(project).open("a") as file:
        file.write("All: {{ find.mean_probability['first_token'].mean() }}.\n\n")
        file.write(
            "{% set many = find.mean_probability['sink'] %}\nSome: {{ many[0, 0] + 1 }}.\n\n"
        )
        file.write("{% if data.has_corpus %}Texts.{% else %}No texts.{% endif %}\n\n")
        file.write("{% if predicted %}Effects.{% else %}No effects.{% endif %}\n\n")
        file.write("One: {{ find.head(0, 0).gives(1, 0) | percent }}.\n")
    rebuilder, shown = Rebuilder(pipeline.Request(project), Sayings(), told), []
    with unpainted():
        watch.attempt(rebuilder, [], told, rebuilder.terminal)
        assert told.error == ""
        told.show = lambda draft: shown.append(draft)
        change(project.root / "passage.md", "lamp", "light")
        watch.attempt(rebuilder, ["passage.md"], told, rebuilder.terminal)
    page, built = shown[0].html.decode(), contents(project.site)["articles/one/index.html"].decode()
    assert f"All: {MARK}." in page and f"Some: {MARK}." in page
    assert "exts." not in page and "No effects." in page
    assert page.count(MARK) >= 3
    one = re.search(r"One: [\d.]+.%\.", built)[0]
    assert one in page
    assert "numbers over all heads; what heads do over many texts" in shown[0].lacks
    assert MARK not in shown[2].html.decode() and "Texts." in built


@pytest.mark.parametrize("when", ["measuring", "drawing", "building"])
def test_the_next_change_drops_what_completes_a_page(project, monkeypatch, when):
    told, terminal, left = BuildState(), Sayings(), []
    with article(project).open("a") as file:
        file.write("\n{{ passage() }}\n")
    rebuilder = Rebuilder(pipeline.Request(project), terminal, told)
    passage, name = project.root / "passage.md", "templates/articles/one.md.j2"
    monkeypatch.setattr(watch, "PAUSE", 0)

    def meanwhile(module, attribute, start):
        real = getattr(module, attribute)

        def call(*given, **options):
            if left:
                left.pop()()
            start(*given)
            return real(*given, **options)

        monkeypatch.setattr(module, attribute, call)

    if when == "measuring":
        meanwhile(alone, "measure_with", lambda loaded, task, progress, *_: progress("M", 0, 1))
    else:
        module = render if when == "drawing" else watch
        meanwhile(module, "_write_figures" if when == "drawing" else "build", lambda *_: None)
    with unpainted():
        watch.attempt(rebuilder, [], told, terminal)
        before, built = contents(project.site), told.built
        change(passage, "lamp", "light")
        left.append(lambda: change(passage, "light", "torch"))
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
        assert left == [] and told.built == built and contents(project.site) == before
        assert "light" in words_of(draft_of(told)) and "torch" not in words_of(draft_of(told))
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
        assert told.drafts == {} and told.error == ""
        left.append(lambda: change(article(project), WORD, "Another word."))
        change(passage, "torch", "candle")
        watch.attempt(rebuilder, ["passage.md"], told, terminal)
        words = words_of(draft_of(told))
        assert "candle" in words and ("Another word." in words) == (when == "measuring")
        watch.attempt(rebuilder, [name], told, terminal)
        kept = contents(project.site)
        assert b"Another word." in kept["articles/one/index.html"]
        assert report("site", "--project", project.root, "--force").returncode == 0
    assert kept == contents(project.site)


def test_what_could_not_be_built_is_tried_again_and_articles_may_go(project):
    rebuilder = Rebuilder(pipeline.Request(project), Sayings())
    with unpainted():
        rebuilder.rebuild()
        change(article(project), f"\n{WORD}\n", "\n{{ nothing }}\n")
        with pytest.raises(Exception, match="nothing"):
            rebuilder.rebuild(["templates/articles/one.md.j2"])
        with pytest.raises(Exception, match="nothing"):
            rebuilder.rebuild(["templates/articles/two.md.j2"])
        article(project).unlink()
        rebuilder.rebuild(["templates/articles/one.md.j2"])
    assert not (project.site / "articles" / "one").exists()
    assert (project.site / "articles" / "two" / "index.html").is_file()


def test_what_a_change_touches(project):
    known = {"one", "two"}

    def of(*names):
        return touched(names, project, known)

    assert of("templates/articles/one.md.j2") == {"one"}
    assert of("templates/articles/one/part.md.j2", "templates/articles/two.md.j2") == known
    assert of("site_src/about.md", "templates/theme/main.html") == set()
    for name in ("figures/a.py", "mkdocs.yml", "prompts/a.md", "templates/_figure.html.j2"):
        assert of("templates/articles/one.md.j2", name) is None
    assert of("templates/articles/three.md.j2") is None, "a new one"
    assert of("/elsewhere/corpus.txt") is None
    change(article(project, "two"), WORD, '{% include "one/part.md.j2" %}')
    assert of("templates/articles/one/part.md.j2") is None, "two articles have it"
    assert union(frozenset("a"), frozenset("b")) == {"a", "b"}
    assert union(None, frozenset("a")) is union(frozenset("a"), None) is None


def test_what_is_looked_at(project):
    request = pipeline.Request(project)
    before = watch.look(request)
    assert {
        "mkdocs.yml",
        "corpus.txt",
        "passage.md",
        "templates/articles/one.md.j2",
    } <= before.keys()
    assert not any(name.startswith("site_src/") for name in before), "all of it is made by builds"
    for name in ("site_src/about.md", "figures/a.py", "passages/b.md"):
        (project.root / name).parent.mkdir(exist_ok=True)
        (project.root / name).write_text("x")
    for name in (".one.md.j2.swp", "one.md.j2~", "4913", "__pycache__", "#one.md.j2#"):
        (project.articles / name).write_text("an editor's")
    article(project).unlink()
    wanted = ["figures/a.py", "passages/b.md", "site_src/about.md", "templates/articles/one.md.j2"]
    assert files.changed(before, watch.look(request)) == wanted
    assert files.changed(before, before) == []


def test_what_builds_make_is_what_git_ignores():
    for ignored, more in (
        (ROOT / ".gitignore", set()),
        (ROOT / "templates" / "publication" / "gitignore", {"docs/reference"}),
    ):
        lines = re.findall(r"^/?site_src/(.+?)/?$", ignored.read_text(), re.MULTILINE)
        assert {*lines} | more == files.MADE


def test_writing_twice_is_one_change_and_one_during_a_build_another(project):
    request = pipeline.Request(project)
    path, pauses = article(project), []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 1:  # while it waits for who writes
            change(path, "Once", "Twice, longer")

    found = watch.changes(request, watch.look(request), sleep)
    change(path, WORD, "Once")
    assert next(found) == ["templates/articles/one.md.j2"]
    assert pauses == [watch.REST] * 2
    change(path, "Twice", "During the build")
    assert next(found) == ["templates/articles/one.md.j2"]
    assert watch.PAUSE not in pauses, "nothing was missed, so nothing was waited for"


def test_a_file_without_end_is_not_waited_for_without_end():
    looks = ({"a": (number, 0, 0)} for number in range(1000))
    pauses = []
    watch.rested(next(looks), lambda: next(looks), pauses.append)
    assert len(pauses) == watch.MOST_RESTS


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        (b"<p>a</p></body></html>", b"<p>a</p>%s</body></html>"),
        (b"</body></body>", b"</body>%s</body>"),
        (b"<p>a</p>", b"<p>a</p>%s"),
    ],
)
def test_the_script_comes_last(page, wanted):
    assert with_script(page, "7") == wanted % b'<script src="/.reload.js?built=7"></script>'


@pytest.mark.promise("terminal")
def test_what_stops_a_build_is_told_to_pages_as_on_the_terminal(capsys):
    class Broken:
        def rebuild(self, names):
            raise ReportError("https://a:secret@b.c/ " + "x" * 999 + "\x1b[31m")

    told = BuildState()
    watch.attempt(Broken(), [], told, Terminal())
    assert told.error.startswith("https://b.c/ xxx") and len(told.error) < 200
    assert "\x1b" not in told.error and "secret" not in told.error


@pytest.mark.promise("serve-watch")
def test_a_page_of_another_host_is_told_nothing_nor_any_where_nobody_watches(measured):
    with served(measured / "site", Handler) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        assert [ask(port, path)[0] for path in (SCRIPT, STATE)] == [404, 404]
        assert SCRIPT not in ask(port, "/")[2]
    told = BuildState()
    told.failed("a secret")
    with watch.serving(pipeline.Request(Project(measured)), 0, told) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        for path in (SCRIPT, STATE, "/"):
            status, _, body = ask(port, path, host="evil.example")
            assert (status, "secret" in body, SCRIPT in body) == (421, False, False)
        status, headers, body = ask(port, STATE)
        assert (status, json.loads(body)["error"]) == (200, "a secret")
        assert headers["Cache-Control"] == "no-store"
        status, _, body = ask(port, "/missing/")
        assert (status, SCRIPT in body) == (404, True)


@pytest.mark.browser
def test_an_open_page_shows_a_mistake_and_reloads(project, browser):
    with watching(project) as (port, _), closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/articles/one/")
        page.get_by_text(WORD).last.wait_for()
        change(article(project), f"\n{WORD}\n", "\n{{ nothing }}\n")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert (
            "unknown name 'nothing'" in alert.inner_text()
            and "one.md.j2, line" in alert.inner_text()
        )
        change(article(project), "{{ nothing }}", "Mended <b>now</b>.")
        page.get_by_text("Mended now.").wait_for()
        assert alert.count() == 0


@contextmanager
def command(project):
    """The command in a process of its own: (its port, the process)."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["-m", "report", "serve", "--watch"]
    process = subprocess.Popen(
        [sys.executable, *words, "--project", project.root, "--port", str(port)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield port, process
    finally:
        process.kill()


def lines_until(process, beginning):
    """What the command says up to a line with this beginning."""
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(beginning):
            return lines
    raise AssertionError(lines)


@pytest.mark.promise("authors-files")
def test_what_ends_the_process_is_shown_and_the_server_goes_on(project):
    own = with_own_figure(project)
    with command(project) as (port, process):
        assert ", rebuilt when" in lines_until(process, "Serving")[-1]
        for act, said in (("os._exit(0)", "status 0"), ("os.abort()", "SIGABRT")):
            own.write_text(FIGURE + f"\nimport os\n{act}\n")
            line = lines_until(process, "error: ")[-1]
            assert f"figures/mine.py, line {FIGURE.count(chr(10)) + 3}: " in line and said in line
            lines_until(process, f"Serving http://127.0.0.1:{port}/")
            assert state(port)["error"] == line.removeprefix("error: ").rstrip()
            assert WORD in ask(port, "/articles/one/")[2], "the last good site stays"
            own.write_text(FIGURE)
            lines_until(process, "rebuilt in")
            assert state(port)["error"] == ""
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as open_page:
            open_page.sendall(b"GET /.reload HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert open_page.recv(100).startswith(b"HTTP/1.1 200")
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in rest) == (130, False)


@pytest.mark.parametrize("error", [KeyError("a"), UnicodeDecodeError("utf-8", b"\xe4", 0, 1, "x")])
def test_no_error_ends_the_watch(error):
    """Those of authors' files are sentences already; any other is a defect, and is shown."""

    def rebuild(names):
        raise error

    told, terminal = BuildState(), Sayings()
    watch.attempt(SimpleNamespace(rebuild=rebuild), ["a"], told, terminal)
    assert re.search(rf"a defect of the program.*{type(error).__name__}", told.error)
    watch.attempt(SimpleNamespace(rebuild=lambda names: 0.5), ["a"], told, terminal)
    assert told.error == ""


def test_options_that_cannot_be_meant_are_refused(tmp_path):
    done = report("serve", tmp_path, "--watch")
    assert done.returncode == 2 and "leave it out" in done.stderr
    done = report("serve", "--study", "x")
    assert done.returncode == 2 and "add --watch" in done.stderr
