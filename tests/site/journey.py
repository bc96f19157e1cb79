"""A reader's way through a site within one page load: every kind of interaction."""

from tests.figures.live_page import go_live, until
from tests.figures.tools import FULL, LINK, TABLE, href, menu, saved, tool

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
