"""Article 1 of four models that differ, in a browser: right figures and terms.

One publication has an article a model, each a copy of article 1; the models are tiny and random.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from report.text import slug
from tests import tabs
from tests.commands import copy_project, report
from tests.figures.live_page import first_tooltip, go_live
from tests.serving import served
from tests.site import tiny_models
from tests.small import write_corpus
from tests.unpainted import unpainted

pytestmark = pytest.mark.browser

TEXT = (
    "Every evening, when the last train had gone by, somebody lit the lamp on the hill. “Perhaps "
    "it is a giant,” said Martha. “Giants do not like lamps,” said Tom, and nobody laughed."
)
KINDS = ("qwen2", "gemma3", "bert", "gptj")
TERMS = {
    "qwen2": ["content", "bias", "rotary position"],
    "gemma3": ["content", "rotary position"],
    "bert": ["content and position", "bias"],
    "gptj": [],
}
FIGURE_3 = {
    "qwen2": "Content and bias vs rotary position",
    "gemma3": "Content vs rotary position",
    "bert": "Bias vs content and position",
}


@dataclass(frozen=True)
class Publication:
    folder: Path
    address: str


@pytest.fixture(scope="module")
def publication(tmp_path_factory):
    """The site of all four, built by one command and served."""
    folder = tmp_path_factory.mktemp("any model")
    project = copy_project(folder / "project")
    (project / "passage.md").write_text(TEXT, "utf-8")
    articles = project / "templates" / "articles"
    written = (articles / "attention-focus-plots.md.j2").read_text("utf-8")
    for other in articles.glob("*.md.j2"):
        other.unlink()
    write_corpus(project)
    for kind in KINDS:
        model = tiny_models.save(kind, folder / f"tiny-{kind}")
        settings = f"model: {model}\npassage: {project / 'passage.md'}\ncorpus: corpus.txt\n"
        header, body = re.split(r"(?m)^model: .*\nbeside: .*\npassage: .*\n", written)
        (articles / f"{kind}.md.j2").write_text(header + settings + body, "utf-8")
    with served(project / "site") as address:
        with unpainted():
            done = report("site", "--project", project, SITE_URL=address)
        assert done.returncode == 0, done.stderr
        yield Publication(project / "site", address)


@pytest.fixture
def visit(browser, publication, shared_tabs):
    """A function that opens an address of the site; no console may complain."""
    with tabs.visits(browser, publication.address, shared_tabs) as visit:
        yield visit


def number_of(page, figure):
    """Number of a figure by its name; None if the article does not have it."""
    found = page.locator(f"figure[data-figure={figure}]")
    return int(found.get_attribute("id").removeprefix("fig-")) if found.count() else None


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_that_can_be_drawn_is_live(visit, kind):
    page = visit(f"articles/{kind}/")
    total = (10 if TERMS[kind] else 8) + (2 if kind != "bert" else 0)  # which predicts nothing
    assert page.locator("figure.live-figure").count() == total
    for n in range(1, total + 1):
        go_live(page, n)
    for name in ("attention_breakdown", "bias_vs_position"):
        assert (number_of(page, name) is not None) == bool(TERMS[kind])
    if TERMS[kind]:
        shown = first_tooltip(page, 2)
        assert [name.removesuffix(" term") for name in shown if " term" in name] == TERMS[kind]
        said = page.inner_text("#fig-3 figcaption")
        assert said.startswith(f"Figure 3. {FIGURE_3[kind]}.")


def test_the_page_of_models_lists_all_of_them(visit):
    page = visit("models/")
    headings = page.locator("h2").all_inner_texts()
    assert sorted(h.removesuffix("¶").strip() for h in headings) == sorted(
        f"tiny-{kind}" for kind in KINDS
    )
    for kind in KINDS:
        assert page.locator(f"h2#{slug(f'tiny-{kind}')}").count() == 1
    assert "what a head adds to the hidden state, after the norm" in page.inner_text("article")


def test_the_command_that_checks_a_site_passes_it(publication):
    done = report("check", publication.folder)
    assert done.returncode == 0, done.stderr
