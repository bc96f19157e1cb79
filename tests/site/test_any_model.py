"""Article 1 of four models that differ, in a browser: right figures, names, numbers and words.

One publication has an article a model, each a copy of article 1; the models are tiny and random.
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from report.datasets.formats.rounding import ROTARY_CELL_ERROR
from report.measurements.precision import summed_by, tolerance
from report.text import slug
from tests import tabs
from tests.commands import copy_project, report
from tests.figures.live_page import first_tooltip, go_live
from tests.serving import served
from tests.site import tiny_models
from tests.site.eager import Eager
from tests.site.reader import number, token_index, tooltip_of_cell
from tests.small import write_corpus
from tests.unpainted import unpainted

pytestmark = pytest.mark.browser

TEXT = (
    "Every evening, when the last train had gone by, somebody lit the lamp on the hill. “Perhaps "
    "it is a giant,” said Martha. “Giants do not like lamps,” said Tom, and nobody laughed."
)
KINDS = ("qwen2", "gemma3", "bert", "gptj")
every_kind = pytest.mark.parametrize("kind", KINDS)
COMPARED = {"qwen2": "content", "gemma3": "content", "bert": "content and position"}
TERMS = {
    "qwen2": ["content", "bias", "rotary position"],
    "gemma3": ["content", "rotary position"],
    "bert": [COMPARED["bert"], "bias"],
    "gptj": [],
}
FIGURE_3 = {
    "qwen2": "Content and bias vs rotary position",
    "gemma3": "Content vs rotary position",
    "bert": "Bias vs content and position",
}
FULL_LAYER = 1
"""A layer in which every model here sees all that it may; Gemma's layer 0 has a window."""


@dataclass(frozen=True)
class Publication:
    address: str
    models: dict

    def article(self, kind):
        return f"articles/{kind}/"


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
        read = {kind: Eager(kind, folder / f"tiny-{kind}", TEXT) for kind in KINDS}
        yield Publication(address, read)


@pytest.fixture
def visit(browser, publication, shared_tabs):
    """A function that opens an address of the site; no console may complain."""
    with tabs.visits(browser, publication.address, shared_tabs) as visit:
        yield visit


def number_of(page, figure):
    """Number of a figure by its name; None if the article does not have it."""
    found = page.locator(f"figure[data-figure={figure}]")
    return int(found.get_attribute("id").removeprefix("fig-")) if found.count() else None


@every_kind
def test_every_figure_that_can_be_drawn_is_live_and_the_words_are_about_this_model(
    visit, publication, kind
):
    page = visit(publication.article(kind))
    total = (10 if TERMS[kind] else 8) + (2 if kind != "bert" else 0)  # which predicts nothing
    assert page.locator("figure.live-figure").count() == total
    for n in range(1, total + 1):
        go_live(page, n)
    for name in ("attention_breakdown", "bias_vs_position"):
        assert (number_of(page, name) is not None) == bool(TERMS[kind])
    if TERMS[kind]:
        said = page.inner_text("#fig-3 figcaption")
        assert said.startswith(f"Figure 3. {FIGURE_3[kind]}.")
    words_are_about(kind, page.inner_text("article"))


@every_kind
def test_the_map_shows_what_the_model_computes(visit, publication, kind):
    """Probabilities of its eager attention, and the terms that its weights give."""
    model = publication.models[kind]
    head, last = 2, len(model.ids) - 1
    page = visit(f"{publication.article(kind)}#fig-1:layer={FULL_LAYER},head={head}")
    go_live(page, 1)
    probability = model.probability[FULL_LAYER][head]
    cells = [(last, 0), (last, last - 1), (last // 2, last // 3)]
    cells.append((last, int(probability[last].argmax())))
    if kind == "bert":
        cells.append((2, last - 2))
    sums = {}
    for cell in cells:
        shown = tooltip_of_cell(page, *cell)
        assert number(shown["probability"]) == pytest.approx(probability[cell], abs=0.0011)
        names = [name.removesuffix(" term") for name in shown if name.endswith(" term")]
        assert names == TERMS[kind]
        digit = 10.0 ** -len(shown["score"].partition(".")[2])
        sums[cell] = number(shown["score"]), digit
        if not names:
            continue
        parts = [number(shown[f"{name} term"]) for name in names]
        assert sum(parts) == pytest.approx(number(shown["score"]), abs=2.1 * digit)
        content, bias = model.terms(FULL_LAYER, head)
        coarse = ROTARY_CELL_ERROR if digit > 0.01 else 0.02
        assert number(shown[f"{COMPARED[kind]} term"]) == pytest.approx(
            content[cell], abs=coarse + digit
        )
        if "bias" in names:
            assert number(shown["bias term"]) == pytest.approx(bias[cell[1]], abs=digit)
    # scores of one row differ as the logarithms of the probabilities do
    (one, _), (other, _) = sums[cells[0]], sums[cells[3]]
    ratio = np.log(probability[cells[3]] / probability[cells[0]])
    assert other - one == pytest.approx(ratio, abs=ROTARY_CELL_ERROR + sums[cells[0]][1])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if TERMS[kind]])
def test_figures_of_terms_name_them_and_show_their_numbers(visit, publication, kind):
    model = publication.models[kind]
    page = visit(f"{publication.article(kind)}#fig-2:layer={FULL_LAYER},head=0,sort_idx=0")
    shown = first_tooltip(page, 2)
    terms = [name.removesuffix(" term") for name in shown if name.endswith(" term")]
    assert terms == TERMS[kind], shown
    cell = token_index(shown["current token"]), token_index(shown["target token"])
    row = model.probability[FULL_LAYER][0][cell[0]]
    size = abs(np.log(row[row > 0])).max()  # of scores, less a constant of the row
    near = 2 * tolerance(summed_by([model.model], len(model.ids)), max(1, size))
    assert row[cell[1]] == pytest.approx(row.max(), rel=near)
    assert number(shown["probability"]) == pytest.approx(row.max(), abs=0.0011)
    content, _ = model.terms(FULL_LAYER, 0)
    assert number(shown[f"{COMPARED[kind]} term"]) == pytest.approx(content[cell], abs=0.03)

    page.goto(f"{publication.address}{publication.article(kind)}#fig-3:layer={FULL_LAYER},head=0")
    page.reload()
    shown = first_tooltip(page, 3)
    assert {name.removesuffix(" term") for name in shown if name.endswith(" term")} == set(terms)
    if "rotary position" in terms:
        assert int(shown["pairs of tokens"]) == len(model.ids) - 1 - int(
            shown["tokens in the past"]
        )
    else:
        _, bias = model.terms(FULL_LAYER, 0)
        target = token_index(shown["target token"])
        expected = bias[target] - bias.mean()
        assert number(shown["bias term"]) == pytest.approx(expected, abs=0.006)


def words_are_about(kind, said):
    """Whether an article speaks of its model as it is."""
    assert f"tiny-{kind}" in said
    assert "ALiBi" not in said
    assert ("rotary" in said) == ("rotary position" in TERMS[kind])
    assert ("encoder" in said) == (kind == "bert")
    assert ("words or pieces of words, from left to right" in said) == (kind != "bert")
    assert ("a norm rescales" in said) == (kind == "gemma3")
    assert ("Not every layer sees everything" in said) == (kind == "gemma3")
    first = {"gemma3": "<bos>", "bert": "[CLS]"}.get(kind)
    if first:
        assert f"The first token, {first}, stands for no word" in said
    else:
        assert "nothing was put in front of the passage" in said


def test_fits_a_phone_in_the_dark(visit, publication):
    """The model with all terms, which has all figures."""
    viewport = {"width": 390, "height": 844}
    page = visit(
        publication.article("qwen2"),
        viewport=viewport,
        has_touch=True,
        is_mobile=True,
        color_scheme="dark",
    )
    for n in range(1, page.locator("figure.live-figure").count() + 1):
        go_live(page, n)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("innerWidth") == 390


def test_the_page_of_models_lists_all_of_them(visit, publication):
    page = visit("models/")
    headings = page.locator("h2").all_inner_texts()
    assert sorted(h.removesuffix("¶").strip() for h in headings) == sorted(
        f"tiny-{kind}" for kind in KINDS
    )
    for kind in KINDS:
        assert page.locator(f"h2#{slug(f'tiny-{kind}')}").count() == 1
    assert "what a head adds to the hidden state, after the norm" in page.inner_text("article")


def test_the_command_that_checks_a_site_passes_it(publication, tmp_path_factory):
    folder = next(tmp_path_factory.getbasetemp().glob("any model*")) / "project" / "site"
    done = report("check", folder)
    assert done.returncode == 0, done.stderr
