"""What a reader does: points at a figure and reads its tooltip; or goes through a site within one
page load, by every kind of interaction."""

import re

import pytest

from tests.figures.live_page import TOOLTIP, go_live, resting_box, until
from tests.figures.tools import FULL, LINK, TABLE, href, menu, saved, tool


def number(shown):
    """The number that a tooltip shows, e.g. "−1.25" or "37.5%"; the end of "less than 0.001"."""
    plain = shown.rpartition(" than ")[2].replace("−", "-")
    return float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)


def token_index(shown):
    """The index in "12  “ lamp”"."""
    return int(re.match(r"\d+", shown)[0])


def in_the_middle(page, number):
    """Bring a live figure's chart into the middle of the window; returns its box."""
    go_live(page, number)
    page.evaluate(
        "n => document.querySelector(`#fig-${n} canvas`).scrollIntoView({block: 'center'})", number
    )
    return resting_box(page, number)


def state(page, number):
    """The sliders of a figure: dict of name to int."""
    return {
        slider.get_attribute("name"): int(slider.input_value())
        for slider in page.locator(f"#fig-{number} input[type=range]").all()
    }


def wait_for_state(page, number, **values):
    """Wait until a figure has been painted at a state that the reader has chosen."""
    for name, value in values.items():
        until(page, f"document.querySelector('#fig-{number} input[name={name}]').value == {value}")
    chosen = ",".join(f"{name}={value}" for name, value in state(page, number).items())
    until(page, f"location.hash === '#fig-{number}:{chosen}'")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(100)


def tooltip_of_cell(page, current, target):
    """Move the mouse over figure 1 to a cell, as a reader does: look where one is, correct."""
    box = in_the_middle(page, 1)

    def point(x, y):
        page.mouse.move(x, y)
        shown = page.evaluate(TOOLTIP)
        if not shown:
            return shown, None
        return shown, [token_index(shown[f"{which} token"]) for which in ("current", "target")]

    def probe(x, y):
        x, y = box["x"] + x * box["width"], box["y"] + y * box["height"]
        return x, y, *point(x, y)[1]

    x, y, row, column = probe(0.22, 0.7)
    right, below = probe(0.55, 0.7), probe(0.22, 0.3)
    width = (right[0] - x) / (right[3] - column)
    height = (below[1] - y) / (below[2] - row)
    for _ in range(12):
        known = x, y
        x, y = x + (target - column) * width, y + (current - row) * height
        shown, at = point(x, y)
        while at is None:  # outside the triangle: half the way back to where one was
            x, y = (x + known[0]) / 2, (y + known[1]) / 2
            shown, at = point(x, y)
        if at == [current, target]:
            return shown
        row, column = at
    pytest.fail(f"no way to cell {current}, {target}; the last was {row}, {column}")
    return None


ARTICLE = "articles/attention-focus-plots/"
SHADE = "document.body.getAttribute('data-md-color-scheme')"


def travel(page, search):
    """Go from the home page, which is open, through article, lists and search.

    search: a function that looks for a word in the builder's own search and waits for a result
    """
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("window.stayed = true")
    follow(page, f".card__text a[href*='{ARTICLE}']", ARTICLE)
    use_a_figure(page)
    before = page.evaluate(SHADE)
    page.locator("form[data-md-component=palette] label:visible").first.click()
    until(page, f"{SHADE} !== '{before}'")
    page.locator(".language-bibtex button, .language-bibtex .md-clipboard").first.click()
    until(page, "navigator.clipboard.readText().then(text => text.startsWith('@misc{'))")
    term = page.locator("a.term").first
    term.hover()
    page.locator(".hover-card").wait_for()
    reference = page.locator("a.figure-ref").first
    reference.hover()
    page.locator(".hover-card img").wait_for()
    page.pdf()  # as "Print" does
    follow(page, "a.term", "glossary/")
    follow(page, "a.figure-ref", "articles/")
    go_live(page, int(href(page).partition("#fig-")[2].partition(":")[0]))
    page.go_back()
    page.wait_for_url("**/glossary/**")
    until(page, "document.querySelector('article h1').textContent.startsWith('Glossary')")
    page.wait_for_timeout(1500)  # the theme closes the search, 125 ms after a page has arrived
    search("softmax")
    assert page.evaluate("window.stayed") is True  # all of it within one page load


def follow(page, link, to):
    page.locator(link).first.click()
    page.wait_for_url(f"**/{to}**")
    page.locator("article h1").wait_for()


def use_a_figure(page):
    go_live(page, 1)
    tool(page, 1, LINK).click()
    table = tool(page, 1, TABLE).element_handle()
    table.click()
    page.locator("#fig-1 tbody tr").first.wait_for()
    table.click()
    for kind in ("CSV", "JSON", "SVG", "PNG", "File"):
        name = "Vega-Lite file with the data in it" if kind == "File" else kind
        assert saved(page, 1, name)[1]
    menu(page, 1).get_by_role("button", name="Copy snippet").click()
    until(page, "navigator.clipboard.readText().then(text => text.startsWith('<iframe'))")
    page.keyboard.press("Escape")
    tool(page, 1, FULL).click()
    until(page, "document.fullscreenElement !== null")
    page.keyboard.press("Escape")
    page.evaluate("document.exitFullscreen().catch(() => {})")
    until(page, "document.fullscreenElement === null")
