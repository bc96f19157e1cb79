"""Which articles a build draws again, and that it makes what a build from nothing makes.

A figure of the publication's own writes down each article that it is drawn for.
"""

import shutil

import pytest

from report.pages import last
from tests.commands import contents
from tests.small import ARTICLE, SENTENCE, write_publication

pytestmark = pytest.mark.usefixtures("no_pictures")

FIGURE = '''"""What is drawn."""

from pathlib import Path

import altair

HERE = Path(__file__).parents[1]


def chart(data, **state):
    with (HERE.parent / "log").open("a") as log:
        log.write(data.path.parent.name + "\\n")
    return altair.Chart(altair.NamedData("rows")).mark_bar().encode(x="a:Q", y="b:Q")


def rows(data, **state):
    return [{"a": 1, "b": float((HERE / "numbers.csv").read_text())}]
'''


@pytest.fixture
def publication(tmp_path, falcon_folder):
    """Two articles that read a passage each; the first includes a part of its own."""
    folder = write_publication(tmp_path / "small")
    (folder / "templates" / "articles" / "small.md.j2").unlink()
    for name in ("one", "two"):
        text = ARTICLE.format(cover="update_magnitude").replace(
            "title: Small", f"title: {name}\nmodel: {falcon_folder}\npassage: {name}.md"
        )
        (folder / f"{name}.md").write_text(f"{name.capitalize()} more. {SENTENCE}")
        (folder / "templates" / "articles" / f"{name}.md.j2").write_text(text)
    append(folder, "templates/articles/one.md.j2", '\n{% include "one/par" ~ "t.md.j2" %}\n')
    append(folder, "templates/articles/one/part.md.j2", "A part.\n")
    return folder


@pytest.fixture
def drawn(run, publication):
    """A function that builds, and says which articles were drawn."""
    log = publication.parent / "log"

    def build(*options, command="render"):
        log.write_text("")
        done = run(command, "--project", publication, *options)
        assert done.code == 0, done.said
        return {*log.read_text().split()}

    return build


def append(folder, name, text):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + text)


def with_own_figure(publication):
    append(publication, "numbers.csv", "1")
    append(publication, "figures/own.py", FIGURE)
    for name in ("one", "two"):
        append(publication, f"templates/articles/{name}.md.j2", '\n{{ figure("own") }}\n')


def made(publication):
    """All that builds make but what they know of each other."""
    return contents(publication / "site") | contents(publication / "site_src")


def remove_made(publication):
    for name in ("site", "site_src", ".cache", ".theme"):
        shutil.rmtree(publication / name, ignore_errors=True)
    (publication / "site_src").mkdir()


BOTH, ONE, NONE = {"one", "two"}, {"one"}, set()

CHANGES = {
    "a sentence": (ONE, lambda folder: append(folder, "templates/articles/one.md.j2", "\nSo.\n")),
    "a part": (ONE, lambda folder: append(folder, "templates/articles/one/part.md.j2", "More.\n")),
    "a page": (NONE, lambda folder: append(folder, "site_src/other.md", "# Other\n")),
    "a new partial": (BOTH, lambda folder: append(folder, "templates/_references.html.j2", "")),
    "a work": (BOTH, lambda folder: append(folder, "templates/articles/references.bib", "\n")),
    "an address": (BOTH, lambda folder: append(folder, "mkdocs.yml", "site_url: https://a.org/\n")),
    "its code": (BOTH, lambda folder: append(folder, "figures/own.py", "\nHERE = HERE\n")),
    "what it reads": (BOTH, lambda folder: append(folder, "numbers.csv", "5")),
    "what it wrote": (ONE, lambda folder: next(folder.glob("site_src/figures/one/*")).unlink()),
    "a page to embed": (ONE, lambda folder: next(folder.glob("site_src/embed/one/*")).unlink()),
    "a record": (ONE, lambda folder: (folder / ".cache/drawn/one.json").write_text("{}")),
}  # fmt: skip


def test_an_article_is_drawn_again_only_if_something_changed_that_it_depends_on(
    drawn, publication, monkeypatch
):
    with_own_figure(publication)
    assert drawn() == BOTH
    assert drawn() == NONE
    for what, (wanted, change) in CHANGES.items():
        change(publication)
        assert drawn() == wanted, what
        assert drawn() == NONE, what
    with monkeypatch.context() as patch:
        patch.setattr(last, "program", lambda: ["another"])
        assert drawn() == BOTH
    assert drawn() == BOTH
    assert drawn("--study", "two") == NONE
    assert drawn("--force") == BOTH
    assert drawn(command="site") == NONE
    kept = made(publication)
    remove_made(publication)
    append(publication, "site_src/other.md", "# Other\n")
    assert drawn(command="site") == BOTH
    assert made(publication) == kept, "a build from nothing makes the same"


def test_another_passage_draws_its_article_alone(run, publication):
    def build():
        done = run("site", "--project", publication)
        assert done.code == 0, done.said
        return done.said

    assert "drawn before" not in build()
    append(publication, "mkdocs.yml", "site_author: Ann\n")
    assert "drawn before: 2 of 2" in build()
    append(publication, "one.md", "And more.\n")
    said = build()
    assert "one: measured" in said and "two: unchanged" in said
    assert "drawn before: 1 of 2" in said
    kept = made(publication)
    remove_made(publication)
    build()
    assert made(publication) == kept


def test_what_failed_half_way_is_drawn_again(run, drawn, publication):
    with_own_figure(publication)
    assert drawn() == BOTH
    (publication / "numbers.csv").write_text("no number")
    assert run("render", "--project", publication).code == 1
    (publication / "numbers.csv").write_text("2")
    assert drawn() == BOTH


def test_what_changes_while_it_is_drawn_is_drawn_again(drawn, publication):
    """A figure writes a file of the publication, as an author may meanwhile."""
    with_own_figure(publication)
    write = '(HERE / "more").exists() or (HERE / "more").touch()'
    text = FIGURE.replace("    return alt", f"    {write}\n    return alt")
    (publication / "figures" / "own.py").write_text(text)
    assert drawn() == BOTH
    assert drawn() == BOTH
    assert drawn() == NONE
