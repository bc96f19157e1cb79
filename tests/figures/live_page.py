"""A page with all figures of a hand-made study, as an article has them, served to a browser.

Its still pictures are empty: they are drawn and looked at elsewhere.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Error as Left

from report import files
from report.datasets import store
from report.figures.build import vega
from report.figures.build.find import figure_named, figure_names
from report.pages import head_page, sentences
from report.pages.article import ArticleFigures
from report.pages.assets import write_assets
from report.pages.policy import policy
from report.pages.provenance import write_release
from report.pages.render import write_embed_pages
from report.project import Project
from tests.commands import ROOT
from tests.figures import hand_conditions

ORDER = (
    "attention_map",
    "attention_breakdown",
    "bias_vs_position",
    "attending_to_itself",
    "attending_to_first_token",
    "attention_concentration",
    "update_magnitude",
    "update_alignment",
    "alignment_vs_magnitude",
    "magnitude_by_position",
)
"""Figure 1, figure 2, …: the first three can be linked."""

TWO_LOOKS = ("attending_to_itself", "attending_to_first_token", "attention_concentration")
"""Of these, figures 4 to 6, that have two panels: lines, and a map of the same values."""


TOOLTIP = """() => Object.fromEntries([
    ...[...document.querySelectorAll('#vg-tooltip-element.visible h2')].map(
        first => ['title', first.textContent]),
    ...[...document.querySelectorAll('#vg-tooltip-element.visible tr')].map(
        row => [...row.cells].map(cell => cell.textContent))])"""
"""The tooltip that shows, dict of name to value, its sentence as `title`; empty when none does."""


def given(told):
    """(probability, tokens back) of the tooltip of a cell, which begins with a sentence; the bound
    of "less than 0.1 %", say."""
    share, away, side = re.search(
        r"(?:^| gives )(?:less than |more than )?([\d.]+)\u202f?% to "
        r"(?:itself|.*, (\d+) tokens? (back|ahead))$",
        told.get("at the pointer", told["title"]),
    ).groups()
    return float(share) / 100, int(away or 0) * (-1 if side == "ahead" else 1)


def head_of(told):
    """(layer, head, value as text, rank from the lowest) of the tooltip of a head among others."""
    layer, head, value, place, side, heads = re.match(
        r"L(\d+)H(\d+): (.*?), (?:(\d+).. )?(lowest|highest) of (\d+) in", told["title"]
    ).groups()
    rank = int(place or 1) - 1
    return int(layer), int(head), value, rank if side == "lowest" else int(heads) - 1 - rank


GRIDS = ("filler_lines", "filler_against", "filler_layers", "filler_effect")
"""Figure 1, figure 2, … of a page of grids."""

NUMBERED = (*ORDER, *GRIDS, "table_attention_map")
"""Figures that tests call by their number on their page; the others come after them, by name."""

FIXTURES = {
    "PassageData": "data",
    "PassageModels": "models",
    "ModelAnswers": "answers",
    "Panels": "panels",
}
"""Class of what figures are drawn of -> its fixture, where that is not called like its kind."""


def made_of(name):
    """The fixture of what a figure is drawn of."""
    of = figure_named(name).of[0]
    return FIXTURES.get(of.__name__) or of.__module__.split(".")[2]


def data_of(name, fixture):
    """What a figure is drawn of; fixture: gives the value of a fixture."""
    data = fixture(made_of(name))
    return data(name) if name in GRIDS else data


OF = {}
"""Fixture -> the figures that are drawn of it, in the order of their page."""
for _name in (*NUMBERED, *(name for name in figure_names() if name not in NUMBERED)):
    OF.setdefault(made_of(_name), []).append(_name)

ALSO = {"data": ("address", []), "conditions": ("grids", GRIDS), "models": ("", ["attention_map"])}
"""Fixture -> that of the address of its page, where it has a name of its own, and figures of others
that come before its own."""

PAGES = {}
"""Address of a page, a fixture -> the fixture of what its figures are drawn of, their names."""
for _of in [of for of in OF if of != "panels"]:
    _address, _first = ALSO.get(_of, ("", []))
    PAGES[_address or f"{_of}_address"] = (_of, (*_first, *OF[_of]))


HAND = SimpleNamespace(
    name="hand",
    template=Path("templates/articles/hand.md.j2"),
    front_matter=SimpleNamespace(title="Made <by> hand", author="Ann & Bo"),
)
"""The article that the figures are in."""

PROJECT = Project(ROOT)
"""The publication that it is in."""


ATLAS = {
    "article": "atlas",
    "at": "embed/atlas/head.html#head=L{layer}H{head}",
    "lines": [[f"place {n} of 9 in “<b>” ({m})" for m in range(9)] for n in range(9)],
}
"""An atlas of the site, of the models of all pages."""


def write(site, data, names=ORDER, study=HAND):
    """Write the page, its specifications and the script below `site`; the datasets lie there."""
    article = ArticleFigures(study.name, PROJECT, data)
    article.announced = list(names)
    body = str(article.passage()) if "attention_map" in names else ""
    if "table_attention_map" in names:
        body = str(article.table_text(data.first))
    for name in names:
        panels = {"data": hand_conditions.panels(data, name)} if name in GRIDS else {}
        body += str(article.figure(name, **panels))  # Markup would escape what stands before it
    folder = site / "figures" / study.name
    of_head = head_page.figures(article)
    every = [*article.placed, *(placed for placed in of_head if placed not in article.placed)]
    for placed in every:
        for panel in (*placed.panels, *placed.variants):
            files.write_text(folder / f"{panel.name}.json", store.dumps(panel.spec))
            compiled = store.dumps(vega.vega(panel.spec))
            files.write_text(folder / f"{panel.name}.vega.json", compiled)
            for name, rows in placed.written_rows(panel):
                store.write(folder / "rows" / panel.name / name, rows)
    for name, content in sentences.sentence_files(every).items():
        files.write_text(folder / name, store.dumps(content))
    if of_head:
        write_release(data, site / "datasets" / study.name)
    write_assets(site)
    ids = getattr(data, "names", None) or [
        data.path.name for data in [data] if hasattr(data, "path")
    ]
    known = {"articles": {study.name: dict.fromkeys(ids, 0)}, "atlases": [ATLAS]}
    files.write_text(site / "models" / "heads.json", store.dumps(known))
    write_embed_pages(study, article, site, head_page.pages(study, article, of_head))
    page = f"""<!doctype html><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy()}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../../assets/figure/figures.css">
<script type="module" src="../../assets/page/start.js"></script>
<style>html {{ font-size: 125% }} body {{ max-width: 720px; font-family: sans-serif }}</style>
<body class="md-typeset" data-md-color-scheme="default">{body}"""
    files.write_text(site / "articles" / study.name / "index.html", page)
    for path in site.rglob("*.html"):
        for picture in re.findall(r"[\w./-]+\.svg", path.read_text("utf-8")):
            files.write_text(path.parent / picture, "<svg xmlns='http://www.w3.org/2000/svg'/>")


LIVE = "figure.live-figure--live"
"""On an article's page, the one in the first window comes alive by itself: then the page's scripts
are at work."""

IN_SIGHT = """async id => { const figure = document.getElementById(id);
    if (!figure) return false;
    const {top, bottom} = figure.getBoundingClientRect();
    const block = bottom <= 0 || top >= innerHeight ? 'center' : 'nearest';
    const before = scrollY, frame = () => new Promise(requestAnimationFrame);
    figure.scrollIntoView({block, behavior: 'instant'});
    if (scrollY !== before) for (let n = 0; n < 2; n++) await frame(); // the page learns of it
    return figure.classList.contains('live-figure--live'); }"""
"""Scrolls as far as is needed, and says whether the figure is live. Playwright's own scrolling
waits for frames in any case."""


def go_live(page, number):
    """A figure, scrolled to until it is live: an address may scroll away from it meanwhile."""
    for _ in range(1800):
        try:
            if page.evaluate(IN_SIGHT, f"fig-{number}"):
                return page.locator(f"#fig-{number}")
        except Left as error:
            if "navigation" not in str(error):
                raise
        page.wait_for_timeout(25)
    pytest.fail(f"figure {number} never comes alive")
    return None


def first_tooltip(page, number):
    """Move over a figure until a tooltip shows; {} if none does."""
    go_live(page, number)
    chart = f"document.querySelector('#fig-{number} canvas')"
    page.evaluate(f"{chart}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    box = resting_box(page, number)
    # points of a scatter are smaller than the steps, so that one round may pass between them
    places = [
        (x + right, y - up)
        for right, up in ((0, 0), (1, 1.5), (0, 1.5), (1, 0))
        for y in range(88, 10, -3)
        for x in range(10, 96, 2)
    ]
    # a quick look by a pointer of the page's own, then by a real one wherever it was
    quick = [at for at, _ in told_at(page, number, places, most=4)]
    every = [
        (box["x"] + x * box["width"] / 100, box["y"] + y * box["height"] / 100) for x, y in places
    ]
    page.mouse.move(0, 0)  # it comes in anew
    for at in [*quick, *every]:
        page.mouse.move(*at)
        if found := page.evaluate(TOOLTIP):
            return found
    return {}


def told_at(page, number, places, panel=0, most=10_000):
    """The tooltips that a pointer gets at places of a chart, (across, down) in per cent: list of
    (place in the window, dict of name to value), not more than `most`.

    The pointer is one of the page's own events: a real one needs 20 ms a place.
    """
    return page.evaluate(
        """([number, panel, places, most]) => {
            const canvas = document.querySelectorAll(`#fig-${number} canvas`)[panel];
            const box = canvas.getBoundingClientRect();
            const found = [];
            for (const [x, y] of places) {
                if (found.length === most) break;
                const clientX = Math.round(box.x + x * box.width / 100); // as of a real one
                const clientY = Math.round(box.y + y * box.height / 100);
                const at = {clientX, clientY, bubbles: true, pointerType: 'mouse'};
                canvas.dispatchEvent(new PointerEvent('pointermove', at));
                const told = (TOOLTIP)();
                if (Object.keys(told).length) found.push([[clientX, clientY], told]);
            }
            return found; }""".replace("TOOLTIP", TOOLTIP),
        [number, panel, places, most],
    )


def resting_box(page, number):
    """Where a live figure's first chart is in the window once the page has come to rest there."""
    return resting(page.locator(f"#fig-{number} canvas").first)


def resting(element):
    """Where an element is in the window once it has come to rest there.

    An address that names a figure scrolls to it after it went live, a new width moves what is below
    a figure: a box measured at once may be where the element no longer is.
    """
    return at_rest(element.bounding_box, element.page.wait_for_timeout)


def at_rest(look, wait):
    """What `look` returns once it returns the same twice, 60 ms between; `wait` takes the ms."""
    before, now = None, look()
    for _ in range(1000):
        wait(60)
        before, now = now, look()
        if now == before:
            return now
    pytest.fail(f"never comes to rest: {now}")
    return None


def until(page, condition):
    """Wait for an expression of the page, a minute on a busy machine; Playwright's own wait needs
    eval, which is forbidden, and takes a promise for true."""
    for _ in range(2400):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never came true: {condition}")


PAINTED = """async () => {
    const start = document.querySelector('script[src$="page/start.js"]').src;
    const { figures } = await import(new URL('../figure/figure.js', start));
    await document.fonts.ready;
    const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
    const charts = () => [...figures.values()].flatMap((figure) => figure.charts);
    const shown = ({ started, state, shows, element }) =>
        !started || element.matches('.live-figure--failed')
        || JSON.stringify(state) === JSON.stringify(shows);
    do {
        for (let n = 0; n < 2; n++) await frame();
        for (const { view } of charts()) await view?.runAsync();
    } while (![...figures.values()].every(shown)); }"""


def painted(page):
    """Wait until the charts have drawn all that they were asked to: what their controls say, and
    what is marked, of which others than the chart with the pointer learn two frames later."""
    page.evaluate(PAINTED)


CALLED = """async text => JSON.stringify(await (%s)(JSON.parse(text)), (_, value) =>
    Number.isFinite(value) || typeof value !== 'number' ? value ?? null : String(value))"""


def called(page, script, argument=None):
    """What a function of the page returns of an argument, both sent as JSON: thousands of numbers
    take a tenth of the time that they take one by one. What is not finite is a text."""
    return json.loads(page.evaluate(CALLED % script, json.dumps(argument)))


def ink(page, number):
    """How many pixels of a chart are drawn, and a sum that changes with the picture."""
    return page.evaluate(
        """number => { const all = [...document.querySelectorAll(`#fig-${number} canvas`)];
        const canvas = all.find((each) => each.width); // of two looks, the one that is shown
        const {width, height} = canvas;
        const copy = Object.assign(document.createElement('canvas'), {width, height})
            .getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const {data} = copy.getImageData(0, 0, width, height);
        let [drawn, sum] = [0, 0];
        for (let n = 0; n < data.length; n += 4) if (data[n + 3]) {
            drawn++; sum = (sum * 31 + data[n] + 7 * data[n + 1] + 49 * data[n + 2]) % 1000003; }
        return [drawn, sum]; }""",
        number,
    )


def ink_at_rest(page, number):
    """`ink` once all has been loaded and nothing is painted any more."""
    go_live(page, number)
    painted(page)
    return at_rest(lambda: ink(page, number), page.wait_for_timeout)
