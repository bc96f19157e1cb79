"""Hostile text through the whole build and a browser: it shows as text, and does nothing.

See tests/site/hostile.py for the tokens, texts and names. One site is built for all tests.
"""

import csv
import io
import json
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from report.datasets import store
from report.datasets.formats.passage import token_label
from report.site.build import build
from report.text import isolated, shortened, xml_text
from tests import tabs
from tests.commands import report
from tests.figures.live_page import TOOLTIP, go_live, until
from tests.figures.tools import TABLE, saved, tool
from tests.serving import served
from tests.site import hostile

pytestmark = [pytest.mark.browser, pytest.mark.promise("text-is-text")]

ARTICLE = "articles/hostile/"
TITLE, AUTHOR, SUMMARY, TAG = (
    isolated(xml_text(text))
    for text in (hostile.TITLE, hostile.AUTHOR, hostile.SUMMARY, hostile.TAG)
)
TIP = 120
"""Characters of a token that tooltips, live region and table show."""


@dataclass(frozen=True)
class Built:
    folder: Path
    address: str

    @property
    def tokens(self):
        (path,) = self.folder.glob("datasets/hostile/*/passage.json")
        return store.read(path)["tokens"]

    @property
    def labels(self):
        return [each.get("label", each["text"]) for each in self.tokens]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    project = hostile.project(tmp_path_factory.mktemp("hostile"))
    with served(project / "site") as address:
        done = report("site", "--project", project, SITE_URL=address)
        assert done.returncode == 0, done.stderr
        yield Built(project / "site", address)


@pytest.fixture
def visit(browser, built, shared_tabs):
    """A function that opens a page: nothing may be wrong with it, see `tabs.visits`, and no text
    may have run."""
    pages = []
    with tabs.visits(browser, built.address, shared_tabs) as opened:

        def visit(path=ARTICLE):
            pages.append(opened(path))
            return pages[-1]

        yield visit
        assert [page.evaluate(hostile.RAN) for page in pages] == [None] * len(pages)


def clean(text):
    """A text as HTML shows it."""
    return " ".join(text.split())


def shown(locator):
    return clean(locator.text_content().removesuffix("¶"))


def test_the_command_that_checks_a_site_passes_it(built):
    done = report("check", built.folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.promise("long-tokens")
def test_every_token_is_whole_in_the_data(built):
    texts = [each["text"] for each in built.tokens]
    assert set(hostile.TOKENS) <= set(texts)
    assert "".join(texts[1:]) == hostile.PASSAGE
    for each in built.tokens:
        label = each.get("label", each["text"])
        assert label == token_label(each["text"])
        seen = label.replace("👩\u200d👩", "👩👩")  # a joiner between two pictures is at work
        assert not {unicodedata.category(letter) for letter in seen} & {"Cc", "Cf", "Zl", "Zp"}


WIDER = "document.documentElement.scrollWidth > innerWidth"

TURNED = """() => {
    const strange = /[^\\u0000-\\u007f“”’–—×…→¶·]/, found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, text = node.data;
        if (strange.test(text) || node.parentElement.closest('script, .passage')) continue;
        for (const { index } of text.matchAll(/[a-z](?=[a-z])/gi)) {
            const at = [index, index + 1].map((start) => {
                const range = document.createRange();
                range.setStart(node, start);
                range.setEnd(node, start + 1);
                return range.getBoundingClientRect();
            });
            if (at[0].width && at[0].top === at[1].top && at[0].left > at[1].left) {
                found.push(text);
                break;
            }
        }
    }
    return found;
}"""
"""Texts without a letter that sets a direction, which run from right to left all the same."""


def test_on_every_page_it_does_nothing_and_breaks_no_layout(visit, built):
    page = visit("")
    paths = sorted(built.folder.rglob("*.html"))
    assert len(paths) == 18
    for path in paths:
        name = path.relative_to(built.folder).as_posix()
        page.goto(built.address + name)
        for figure in page.locator(".live-figure").all():
            go_live(page, int(figure.get_attribute("id").removeprefix("fig-")))
        page.evaluate("document.querySelectorAll('details').forEach(each => (each.open = true))")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            until(page, f"innerWidth === {width} && !({WIDER})")  # charts follow the window
            assert page.evaluate(TURNED) == [], (name, width)
        assert page.evaluate(hostile.RAN) is None, name


@pytest.mark.promise("text-direction")
def test_the_test_of_directions_finds_what_is_turned_round(visit):
    page = visit("about/")
    assert page.evaluate(TURNED) == []
    page.evaluate("document.querySelector('h1').prepend('\\u202e')")
    assert page.evaluate(TURNED) == ["About"]


@pytest.mark.promise("text-direction")
def test_names_show_as_they_are_wherever_the_site_has_them(visit, built):
    page = visit()
    page.locator(".live-figure__seen").first.wait_for()
    assert clean(page.title()).startswith(clean(TITLE))
    for name, expected in (("description", SUMMARY), ("author", AUTHOR)):
        assert clean(page.get_attribute(f"meta[name={name}]", "content")) == clean(expected)
    for name, expected in (("title", TITLE), ("description", SUMMARY)):
        found = page.get_attribute(f"meta[property='og:{name}']", "content")
        assert clean(found) == clean(expected)
    tags = page.locator("meta[property='article:tag']").first
    assert tags.get_attribute("content") == TAG
    assert shown(page.locator("article h1")) == clean(TITLE)
    assert clean(TITLE) in clean(page.locator(".md-header__title").text_content())
    assert shown(page.locator(".byline__author")) == clean(AUTHOR)
    assert shown(page.locator(".byline .tag").first) == clean(TAG)
    model = isolated(hostile.NAME)
    assert model in page.locator("details", has_text="self-check").first.text_content()
    for path, parts in {
        "": (TITLE, SUMMARY, TAG),
        "archive/": (TITLE, SUMMARY, AUTHOR),
        "tags/": (TITLE, SUMMARY, TAG),
        "models/": (model, isolated(f"other {hostile.NAME}")),
        "glossary/": (TITLE,),
        "articles/several/": (TITLE, model, isolated(f"other {hostile.NAME}")),
        "articles/conditions/": (TITLE, SUMMARY, model),
        "embed/hostile/attention_map.html": (TITLE, AUTHOR),
    }.items():
        page.goto(built.address + path)
        text = clean(page.evaluate("document.body.textContent"))
        for part in parts:
            assert clean(part) in text, (path, part)


def test_the_passage_shows_every_token(visit, built):
    page = visit()
    spans = page.locator("#passage .token").all_text_contents()
    assert spans == [shortened(label, 400) for label in built.labels]


def test_tooltip_and_live_region_tell_every_token(visit, built):
    page = visit()
    go_live(page, 1)
    page.locator("#fig-1 .live-figure__chart").focus()
    page.keyboard.press("End")
    for index, label in reversed(list(enumerate(built.labels))):
        page.keyboard.press("ArrowRight" if index == len(built.labels) - 1 else "ArrowLeft")
        expected = shortened(f"{index}  “{label}”", TIP)
        assert page.evaluate(TOOLTIP)["target token"] == expected
        until(page, "document.querySelector('#fig-1 output[aria-live]').textContent !== ''")
        assert expected in page.text_content("#fig-1 output[aria-live]")
    box = page.locator("#vg-tooltip-element").bounding_box()
    assert box["width"] < 460
    assert box["height"] < 400


@pytest.mark.promise("long-tokens")
def test_table_view_and_files_have_every_token(visit, built):
    page = visit()
    tool(page, 3, TABLE).click()
    page.locator("#fig-3 tbody tr").first.wait_for()
    known = {shortened(label, TIP) for label in built.labels}
    column = page.locator("#fig-3 thead th").all_text_contents().index("token text")
    cells = page.locator(f"#fig-3 tbody tr > :nth-child({column + 1})").all_text_contents()
    assert len(cells) > 100
    assert set(cells) <= known

    _, content = saved(page, 3, "JSON")
    (table,) = json.loads(content)["tables"]
    written = {row["token_text"] for row in table["rows"]}
    assert written == set(built.labels[1:])  # the first token is left out
    _, content = saved(page, 3, "CSV")
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    assert {row["token_text"].removeprefix("'") for row in rows} >= written - {"'"}
    for row in rows:
        assert not row["token_text"].startswith(("=", "+", "-", "@", "\t", "\r"))
    _, content = saved(page, 3, "SVG")
    harmless(content.decode())
    _, content = saved(page, 1, "PNG")
    assert Image.open(io.BytesIO(content)).size[0] > 400
    _, content = saved(page, 1, "Vega-Lite file with the data in it")
    json.loads(content)


def harmless(svg):
    """An SVG file holds nothing but drawing: no script, no handler, no address elsewhere."""
    for element in Xml.fromstring(svg).iter():
        name = element.tag.rpartition("}")[2]
        assert name not in ("script", "foreignObject", "a", "iframe", "style"), name
        for key, value in element.attrib.items():
            assert not key.rpartition("}")[2].startswith("on"), key
            if key.endswith("href"):
                assert value.startswith(("data:image/png", "#")), value


@pytest.mark.promise("saved-files")
def test_pictures_specifications_and_cards_are_what_they_claim(built):
    pictures = list(built.folder.glob("figures/*/*.svg"))
    assert len(pictures) > 20
    for path in pictures:
        harmless(path.read_text("utf-8"))
    axes = Xml.parse(built.folder / "figures/hostile/attention_map-light.svg").getroot()
    assert "[a](jav…" in "".join(axes.itertext())
    for path in built.folder.glob("figures/*/*.json"):
        spec = path.read_text("utf-8")
        assert hostile.LONG[:100] not in spec  # shortened: it is in the data
    for path in built.folder.glob("figures/*/card.png"):
        assert Image.open(path).size == (1200, 630)


def test_feed_provenance_and_citation_have_names_as_text(built):
    items = Xml.parse(built.folder / "feed.xml").getroot().findall("channel/item")
    assert len(items) == 3
    for item in items:
        assert item.findtext("title") == TITLE
        assert item.findtext("description") == SUMMARY
        assert TAG in [each.text for each in item.findall("category")]
    told = store.read(built.folder / "datasets" / "hostile" / "provenance.json")
    assert told["article"]["title"] == TITLE
    assert told["article"]["author"] == AUTHOR
    assert told["datasets"][0]["model"]["name"] == isolated(hostile.NAME)
    assert told["bibtex"].count("\n") == 8
    assert told["bibtex"].count("{") == told["bibtex"].count("}")
    assert all(letter.isprintable() or letter == "\n" for letter in told["bibtex"])


def test_search_finds_articles_and_shows_text(visit):
    page = visit("about/")
    for asked in ("turned", "onerror", "summary", "{{"):
        box = page.locator("[data-md-component=search-query]")
        box.click()
        box.fill("")
        box.press_sequentially(asked)
        if asked == "turned":
            result = page.locator(f".md-search-result__item a[href*='{ARTICLE}']").first
            result.wait_for(timeout=60_000)
            assert "<img src=x onerror=" in result.inner_text()
        page.wait_for_load_state("networkidle")
        assert page.locator(".md-search img, .md-search script").count() == 0
        page.keyboard.press("Escape")


def test_previews_and_pins_show_text(visit, built):
    page = visit("glossary/")
    page.wait_for_load_state("networkidle")
    page.locator("a.figure-ref").first.hover()
    page.locator(".hover-card img").wait_for()
    page = visit()
    go_live(page, 1)
    long = built.labels.index(hostile.LONG)
    for index in (1, built.labels.index(hostile.TOKENS[0]), long):
        page.locator(f"#passage [data-token='{index}']").evaluate("each => each.click()")
        chip = page.locator(".pins__chip", has_text=f"token {index}×")
        chip.wait_for()
        label = shortened(shortened(built.labels[index], 400), TIP)
        assert f"“{label}”" in chip.text_content()
        assert chip.bounding_box()["width"] <= 1280
    assert not page.evaluate(WIDER)


def test_zensical_shows_it_as_text_too(visit, built, tmp_path, monkeypatch):
    project = tmp_path / "project"
    shutil.copytree(built.folder.parent, project, ignore=shutil.ignore_patterns("site"))
    monkeypatch.setenv("SITE_URL", built.address)
    build(project / "mkdocs.yml", project / "site-zensical", builder="zensical")
    assert report("check", project / "site-zensical").returncode == 0
    shutil.move(project / "site-zensical", built.folder / "zensical")
    for path in ("", ARTICLE):
        page = visit(f"zensical/{path}")
        page.wait_for_load_state("networkidle")
        for figure in page.locator(".live-figure").all():
            go_live(page, int(figure.get_attribute("id").removeprefix("fig-")))
        assert not page.evaluate(WIDER)
        assert clean(TITLE) in clean(page.evaluate("document.body.textContent"))
    page.locator("header .md-search__button").click()
    page.keyboard.type("turned")
    page.locator("a:has-text('Cite this') mark").first.wait_for(timeout=60_000)
