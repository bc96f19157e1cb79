"""Articles on paper: every figure whole, on one page, as the reader left it, in light colours."""

import io
import math

import numpy as np
import pypdfium2
import pytest

from tests.figures.live_page import LIVE, go_live, until
from tests.site.reader import wait_for_state

pytestmark = pytest.mark.browser

PAPER = {"a4": ("210mm", "297mm"), "letter": ("8.5in", "11in"), "a4 across": ("297mm", "210mm")}

MARK = """() => document.querySelectorAll('figure.live-figure').forEach((figure, n) => {
    const bar = document.createElement('div');
    bar.style.cssText = `position: absolute; inset: 0 auto 0 0; width: 6px; z-index: 9;
        print-color-adjust: exact; background: rgb(255, ${8 * (n + 1)}, 255)`;
    figure.style.position = 'relative';
    figure.append(bar);
})"""
"""Lays a bar of a colour of its own along each figure, from its top to its bottom."""


PICTURES = "[...document.images].filter(each => each.src.endsWith('-light.svg#only-light'))"


def printed(page, paper="a4"):
    """The pages of a PDF as uint8 [height, width, 3], and what each says."""
    width, height = PAPER[paper]
    # a browser that is asked to print waits for pictures; Playwright's `pdf` does not
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    until(page, f"{PICTURES}.every(each => each.complete && each.naturalWidth)")
    pdf = page.pdf(width=width, height=height)
    document = pypdfium2.PdfDocument(io.BytesIO(pdf))
    sheets = [np.asarray(sheet.render(scale=1).to_pil().convert("RGB")) for sheet in document]
    texts = [sheet.get_textpage().get_text_range() for sheet in document]
    return sheets, texts


def bars(sheets, figures):
    """For each figure: dict of page to how many pixels high its bar is there."""
    found = [{} for _ in range(figures)]
    for number, sheet in enumerate(sheets):
        red, green, blue = np.moveaxis(sheet, 2, 0).astype(np.int16)
        green = np.where(np.minimum(red, blue) >= 253, green, -255)
        for n, heights in enumerate(found):
            rows = (np.abs(green - 8 * (n + 1)) <= 2).any(1)
            if rows.sum() > 1:
                heights[number] = int(rows.sum())
    return found


@pytest.mark.parametrize(
    ("article", "scheme", "paper"),
    [
        ("attention-focus-plots", "dark", "a4"),
        ("filler-tokens", "light", "a4 across"),
        ("reading-a-table", "dark", "letter"),
    ],
)
def test_no_figure_is_cut_in_two(visit, article, scheme, paper):
    page = visit(f"articles/{article}/", color_scheme=scheme)
    page.wait_for_selector(LIVE)
    figures = page.locator("figure.live-figure").count()
    assert page.locator("figure.live-figure--live").count() < figures
    page.evaluate(MARK)
    sheets, texts = printed(page, paper)
    found = bars(sheets, figures)
    assert [len(each) for each in found] == [1] * figures, found
    for each in found:
        ((at, height),) = each.items()
        assert height > 150  # points: a figure, not a stub
        # drawn, though nobody came near: of more than the grey of its words, and the bar
        coloured = sheets[at].max(2).astype(int) - sheets[at].min(2) > 60
        assert (coloured & (sheets[at][..., 2] < 250)).sum() > 100
    assert figures / 3 <= len(sheets) <= 2.5 * figures + 8, len(sheets)
    said = " ".join(" ".join(texts).split())
    assert article != "filler-tokens" or "(https://arxiv.org/abs/2510.01032)" in said.replace(
        "- ", ""
    )
    for number in range(1, figures + 1):
        assert f"Figure {number}." in said
    assert "Search" not in said
    assert "Table of contents" not in said
    assert "(http://127.0.0.1" not in said  # links within the site have no address on paper


def test_the_words_of_a_single_chart_stand_beside_it(visit):
    page = visit()
    page.set_viewport_size({"width": 695, "height": 1017})  # the paper without its margins
    page.emulate_media(media="print")
    page.wait_for_selector(LIVE)
    chart, other, words = page.locator("#fig-4").evaluate("""each =>
        ['[data-view=lines]', '[data-view=map]', 'figcaption'].map(
            (part) => each.querySelector(part).getBoundingClientRect().toJSON()
        )""")
    assert other["width"] == 0, "of two looks, the one that was chosen is printed"
    assert words["x"] >= chart["x"] + chart["width"] > 300
    assert words["y"] < chart["y"] + 5


@pytest.mark.parametrize("article", ["attention-focus-plots", "reading-a-table"])
def test_the_words_of_a_map_stand_below_it_so_that_its_ticks_can_be_read(visit, article):
    page = visit(f"articles/{article}/", java_script_enabled=False)
    page.set_viewport_size({"width": 695, "height": 1017})  # the paper without its margins
    page.emulate_media(media="print")
    whole = page.locator("#fig-1[data-figure$=attention_map]")
    chart, words = whole.evaluate("""each => ['.live-figure__panel', 'figcaption'].map(
        (part) => each.querySelector(part).getBoundingClientRect().toJSON()
    )""")
    assert words["y"] >= chart["y"] + chart["height"]
    assert chart["width"] > 0.95 * words["width"] > 550
    assert chart["height"] > 0.85 * chart["width"]


def test_a_long_line_of_code_goes_on_in_the_next(visit):
    page = visit("articles/how-heads-form/")
    page.emulate_media(media="print")
    code = page.locator(".language-bibtex code")
    assert code.evaluate("each => getComputedStyle(each).whiteSpace") == "pre-wrap"
    assert code.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_a_figure_that_may_be_cut_is_found_out(visit):
    page = visit()
    page.wait_for_selector(LIVE)
    page.evaluate(MARK)
    page.add_style_tag(
        content="@media print { figure.live-figure { break-inside: auto !important } }"
    )
    figures = page.locator("figure.live-figure").count()
    sheets, _ = printed(page)
    assert max(len(each) for each in bars(sheets, figures)) > 1


def test_the_state_that_was_chosen_is_printed_in_light_colours(visit):
    page = visit(color_scheme="dark")
    go_live(page, 1)
    # the sentence of another head may be a line shorter, and would move all text below it
    page.evaluate("document.querySelector('#fig-1 .live-figure__seen').style.minHeight = '3lh'")
    before, _ = printed(page)
    page.fill("#fig-1 input[name=layer]", "5")
    page.fill("#fig-1 input[name=head]", "2")
    wait_for_state(page, 1, layer=5, head=2)
    after, texts = printed(page)
    said = " ".join(" ".join(texts).split())
    assert "Layer: 5 Head: 2" in said
    assert "Measured on: many texts" in said  # the option that was not chosen is not there
    assert "this passage" not in said.split("Measured on:")[1][:40]
    assert len(before) == len(after)
    changed = [n for n, (a, b) in enumerate(zip(before, after, strict=True)) if (a != b).any()]
    assert len(changed) == 1, "the map alone has changed"
    for sheet in after:
        assert np.median(sheet) == 255, "paper is white"
        assert np.mean(sheet < 60) < 0.25
    page.wait_for_timeout(50)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in dark[4:-1].split(",")[:3]) < 80  # the screen is dark again


def test_without_javascript_still_pictures_are_printed(visit):
    page = visit(java_script_enabled=False)
    sheets, texts = printed(page)  # without JavaScript no picture is lazy
    assert "Figure 10." in " ".join(texts)
    coloured = [(sheet.max(2).astype(int) - sheet.min(2) > 60).mean() > 0.002 for sheet in sheets]
    assert sum(coloured) >= math.ceil(10 / 3)  # at most three fit a sheet
