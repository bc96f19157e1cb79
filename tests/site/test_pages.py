"""Pages of the site below a folder of its host, as it is published: each whole, what its head says,
and ways through them. (`visit` forbids complaints.)

That what is pushed is what was built: see test_domain.py.
"""

import gzip
import json
import re
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from tests.commands import report
from tests.figures.live_page import go_live, ink, ink_at_rest, until
from tests.serving import BELOW
from tests.site.conftest import ARTICLE
from tests.site.test_accessible import DOCS

pytestmark = pytest.mark.browser


def test_the_command_that_checks_a_site_passes_it(built):
    done = report("check", built.folder)
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"all right .*\b(\d+) figures", done.stderr)[1]) >= 10


CAPTION = re.compile(r'data-embed="[^"]*/([^"/]+)/([^"/]+)\.html".*?</strong>(.*?)<details')
SEEN = re.compile(r'(.*)<span class="live-figure__seen">(?:<span .*?</span>)?(.*)</span>')


def test_captions_say_what_a_point_is_and_what_there_is_to_see_in_thirty_words(built):
    read = 0
    for page in built.folder.glob("articles/*/index.html"):
        for article, name, caption in CAPTION.findall(page.read_text("utf-8")):
            line, opening = SEEN.match(caption).groups()
            files = (built.folder / "figures" / article).glob(f"{name}.seen*.json")
            states = [state for path in files for state in json.loads(path.read_text()).values()]
            for seen in (opening, *(first for _, first, _ in states)):
                shown = re.sub("<.*?>", "", f"{line} {seen}")
                assert len(shown.split()) <= 30, shown
                read += 1
    assert read > 1000


def test_every_page_is_whole_and_every_link_of_it_leads_somewhere(visit, built):
    root, folder = built.address, built.folder
    pages = [path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")]
    assert len(pages) >= 8
    alike = {name for name in pages if name.startswith("docs/")} - {name[:-1] for name in DOCS}
    page = visit("")
    links = set()
    for name in sorted({*pages} - alike):  # the command that checks a site reads them all
        page.goto(root if name == "." else f"{root}{name}/")
        page.wait_for_load_state("load")
        broken = page.evaluate(
            """async () => {
              const shown = [...document.images].filter(i => i.offsetParent);
              for (const i of shown) i.loading = 'eager';
              await Promise.all(shown.map(i => i.decode().catch(() => 0)));
              return shown.filter(i => !i.naturalWidth).map(i => i.src);
            }"""
        )
        assert broken == [], name
        links |= set(page.evaluate("[...document.links].map(a => a.href.split('#')[0])"))
    inside = sorted(link for link in links if link.startswith(root.removesuffix(BELOW)))
    assert len(inside) > 50
    assert [link for link in inside if not link.startswith(root)] == []
    statuses = page.evaluate(
        "links => Promise.all(links.map(async l => (await fetch(l, {method: 'HEAD'})).status))",
        inside,
    )
    assert dict(zip(inside, statuses, strict=True)) == dict.fromkeys(inside, 200)


@pytest.mark.parametrize("path", ["nowhere", "a/b/c/d/e.html"])
def test_the_page_for_unknown_addresses_works_at_any_depth(visit, path):
    page = visit(path)
    assert "Page not found" in page.inner_text("main h1")
    page.wait_for_load_state("networkidle")
    assert len(page.problems) == 1  # itself alone: styles, scripts and pictures were there
    assert "404" in page.problems.pop()
    assert page.evaluate("getComputedStyle(document.querySelector('.md-header')).position") in (
        "sticky",
        "fixed",
    )
    page.locator("main a", has_text="the archive").click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")


class Head(HTMLParser):
    """What a page says of itself: pairs of a name and a text, in order."""

    def __init__(self, text):
        super().__init__()
        self.pairs, self._in_title = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        self._in_title = tag == "title"
        if tag == "meta" and (name := at.get("name") or at.get("property")):
            self.pairs.append((name, at.get("content")))
        if tag == "link" and at.get("rel") == "canonical":
            self.pairs.append(("canonical", at["href"]))

    def handle_data(self, data):
        if self._in_title:
            self.pairs.append(("title", data))
        self._in_title = False

    def all_of(self, name):
        return [text for each, text in self.pairs if each == name]


def test_each_page_has_a_description_of_its_own_and_one_canonical_address(built):
    """Read from the files: what is in the head is there before any script runs."""
    root, folder = built.address, built.folder
    listed = Xml.parse(folder / "sitemap.xml").getroot()
    addresses = [each.text for each in listed.findall("{*}url/{*}loc")]
    names = {path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")}
    assert {a.removeprefix(root).rstrip("/") or "." for a in addresses} == names
    descriptions = []
    for address in addresses:
        page = folder / address.removeprefix(root) / "index.html"
        head = Head(page.read_text("utf-8").partition("</head>")[0])
        assert head.all_of("canonical") == head.all_of("og:url") == [address]
        assert len(head.all_of("title")) == 1
        [description] = head.all_of("description")
        descriptions.append(description)
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_a_shared_article_has_a_card_with_its_figure(visit, built):
    root, folder = built.address, built.folder
    page = visit(ARTICLE)
    named = {
        name: page.get_attribute(f"meta[property='og:{name}']", "content")
        for name in ("type", "title", "description", "image", "image:alt", "site_name")
    }
    assert named["type"] == "article"
    assert named["title"] == page.inner_text("main h1").removesuffix("¶").strip()
    assert named["description"] == page.get_attribute("meta[name=description]", "content")
    assert named["image"] == f"{root}figures/attention-focus-plots/card.png"
    cover = "[data-figure=attending_to_first_token] img"  # that stands for the article
    assert named["image:alt"] == page.get_attribute(cover, "alt")
    assert page.get_attribute("meta[name='twitter:card']", "content") == "summary_large_image"
    day = page.get_attribute("meta[property='article:published_time']", "content")
    assert day == page.get_attribute(".byline time", "datetime")
    with Image.open(folder / named["image"].removeprefix(root)) as card:
        assert card.size == (1200, 630)
        assert len(card.getcolors(1 << 20)) > 500  # the figure's lines, not text on white
    page.goto(f"{root}archive/")
    assert page.get_attribute("meta[property='og:image']", "content") == f"{root}assets/card.png"
    assert (folder / "assets" / "card.png").is_file()


def test_the_feed_is_found_from_any_page_and_lists_the_articles(visit, built):
    root, folder = built.address, built.folder
    page = visit("about/")
    address = page.evaluate("document.querySelector('link[type=\"application/rss+xml\"]').href")
    assert address == f"{root}feed.xml"
    channel = Xml.parse(folder / "feed.xml").getroot().find("channel")
    items = {item.findtext("link"): item for item in channel.findall("item")}
    pages = sorted((folder / "articles").glob("*/index.html"))
    assert {f"{root}articles/{path.parent.name}/" for path in pages} == items.keys()
    for address, item in items.items():
        page.goto(address)
        heading = page.inner_text("main h1").removesuffix("¶").strip()
        assert item.findtext("title") == heading
        day = page.get_attribute(".byline time", "datetime")
        assert parsedate_to_datetime(item.findtext("pubDate")).date().isoformat() == day
    page.goto(f"{root}archive/")
    assert page.locator("main a[href$='feed.xml']").count() == 1


def test_figures_work_after_going_back_and_forth_without_a_reload(visit):
    page = visit("")
    page.evaluate("window.stayed = true")
    page.locator(".card h2").get_by_role("link", name="Attention Focus Plots").click()
    page.wait_for_url(f"**/{ARTICLE}")
    go_live(page, 1)
    page.go_back()
    page.wait_for_selector(".cards")
    assert page.locator("figure.live-figure").count() == 0
    page.go_forward()
    page.wait_for_selector("#fig-1")
    go_live(page, 1)
    assert page.locator("#fig-1 canvas").count() == 1
    before = ink(page, 1)
    slider = page.locator("#fig-1 input[name=head]")
    slider.focus()
    page.keyboard.press("ArrowRight" if slider.input_value() == "0" else "Home")
    until(page, "location.hash.startsWith('#fig-1:')")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(100)
    assert ink(page, 1) != before
    assert page.evaluate("window.stayed") is True


def test_no_link_is_read_as_its_html(built):
    for path in (built.project / "site_src").rglob("*.md"):
        assert "&lt;a class" not in path.read_text("utf-8"), path


def test_the_home_page_shows_a_figure_of_every_article_and_leads_to_them(visit, built):
    page = visit("")
    articles = [path.name for path in (built.project / "site_src" / "articles").iterdir()]
    assert page.locator(".card").count() == len(articles) >= 2
    for name in articles:
        card = page.locator(f".card:has(a[href*='{name}'])")
        card.scroll_into_view_if_needed()
        pictures = [each for each in card.locator("img").all() if each.is_visible()]
        assert len(pictures) == 1
        assert pictures[0].evaluate("async img => (await img.decode(), img.naturalWidth)") > 300
    page.locator(f".card:has(a[href*='{ARTICLE}']) .card__picture").click()
    page.wait_for_selector("#fig-1")


def test_every_figure_has_a_page_alone_that_no_list_names(built):
    folder = built.folder / "embed"
    articles = {path.parent.name for path in built.folder.glob("articles/*/index.html")}
    assert {path.name for path in folder.iterdir()} == articles
    for name in articles:
        article = (built.folder / "articles" / name / "index.html").read_text("utf-8")
        alone = {path.stem for path in (folder / name).glob("*.html")}
        figures = {part.split('"')[0] for part in article.split('data-figure="')[1:]}
        assert alone == figures | ({"head"} if f"embed/{name}/head.html#" in article else set())
    assert f"{built.address}embed/" not in (built.folder / "sitemap.xml").read_text("utf-8")
    index = json.loads((built.folder / "search" / "search_index.json").read_text("utf-8"))
    assert not any(page["location"].startswith("embed/") for page in index["docs"])


@pytest.mark.parametrize(
    "path", ["embed/attention-focus-plots/attention_map.html", "docs/gallery/attention_map/"]
)
def test_a_figure_alone_or_of_the_gallery_is_live_and_leads_to_its_article(visit, path):
    page = visit(f"{path}#fig-1:layer=1,head=2")
    page.wait_for_selector("#fig-1.live-figure--live")
    assert page.input_value("#fig-1 [name=head]") == "2"
    if path.startswith("docs/"):
        page.locator("main").get_by_role("link", name="Figure 1 of Attention Focus Plots").click()
        page.wait_for_url(f"**/{ARTICLE}#fig-1")
        return
    with page.expect_popup() as popup:
        page.click(".embed__source a")
    popup.value.wait_for_selector("#fig-1.live-figure--live")
    assert popup.value.url.endswith(f"{ARTICLE}#fig-1:layer=1,head=2")


def test_pages_of_the_gallery_are_as_light_as_articles(built):
    def heaviest(pattern):
        return max(len(gzip.compress(path.read_bytes(), 6)) for path in built.folder.glob(pattern))

    assert heaviest("docs/gallery/**/index.html") <= heaviest("articles/*/index.html")


NOTES = """() => {
    const box = (each) => each.getBoundingClientRect();
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const notes = [...document.querySelectorAll('.sidenote')].filter((each) => box(each).width);
    const others = document.querySelectorAll('.md-nav--secondary, .md-content__inner '
        + ':is(p, li, h1, h2, h3, figure, table, pre, summary)');
    const covered = notes.flatMap((note) => [...others, ...notes]
        .filter((each) => each !== note && !note.contains(each) && meet(box(note), box(each)))
        .map((each) => `${note.textContent} on ${each.tagName} ${each.textContent}`.slice(0, 160)));
    const far = notes.map((note) => box(note).top - box(note.previousElementSibling).top);
    const left = Math.min(...notes.map((note) => box(note).left));
    return { notes: notes.length, covered, far, left };
}"""


def test_notes_stand_in_the_margin_of_wide_windows_alone(visit):
    """Each is seen, beside its sentence, and covers nothing."""
    page = visit("articles/how-heads-form/", viewport={"width": 1280, "height": 800})
    count = page.locator(".footnote li").count()
    for width in (1240, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        seen = page.evaluate(NOTES)
        assert seen["notes"] == count >= 1
        assert seen["covered"] == []
        assert seen["left"] >= 0
        assert min(seen["far"]) > -10  # not above the reference
    page.set_viewport_size({"width": 1100, "height": 800})
    assert page.evaluate(NOTES)["notes"] == 0


def test_a_token_tells_index_and_id_and_is_marked_in_the_figures(visit, model):
    page = visit()
    tokens = page.locator(".passage .token")
    assert tokens.count() == model.length
    for index in (0, model.length - 1):
        tokens.nth(index).hover()
        said = page.inner_text(".passage__tip").split("\n")[-1]
        assert said == f"token {index}, id {model.ids[index]}"
    words = [i for i, each in enumerate(model.ids) if model.tokenizer.decode([each]).isalpha()]
    assert tokens.nth(words[0]).text_content() == model.tokenizer.decode([model.ids[words[0]]])

    page.mouse.move(0, 0)  # the mark of the last token goes, here and in the figure
    until(page, "!document.querySelector('.token--marked')")
    before = ink_at_rest(page, 1)
    index = model.length // 2
    tokens.nth(index).hover()
    assert page.get_attribute(".token--marked", "data-token") == str(index)
    for _ in range(60):  # the pointer must stay: to scroll there would take the mark away
        drawn = ink(page, 1)
        if drawn != before:
            break
        page.wait_for_timeout(50)
    assert drawn != before  # guides through its row and its column


SHIFT = """window.shift = 0; new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({type: 'layout-shift', buffered: true})"""


@pytest.mark.first_visit
def test_nothing_moves_while_a_reader_scrolls_through(visit):
    page = visit("about/")
    page.add_init_script(SHIFT)
    page.goto(page.url.replace("about/", ARTICLE))
    height = page.evaluate("document.documentElement.scrollHeight")
    page.mouse.move(640, 500)
    for _ in range(height // 700 + 1):
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(60)
    page.wait_for_selector("#fig-10.live-figure--live")
    assert page.evaluate("scrollY") > height / 2
    assert page.evaluate("window.shift") < 0.01
    assert page.evaluate("document.documentElement.scrollHeight") == height


@pytest.mark.first_visit
@pytest.mark.parametrize("path", [ARTICLE, "articles/who-gets-the-drink/"])
def test_without_javascript_every_figure_is_pictures_with_words_and_links(visit, path):
    page = visit(path, java_script_enabled=False)
    figures = page.locator("figure.live-figure")
    assert figures.count() >= 5
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        seen = [each for each in figure.locator("img").all() if each.is_visible()]
        assert seen
        for picture in seen:
            assert picture.get_attribute("src").endswith("-light.svg#only-light")
            assert len(picture.get_attribute("alt")) > 40
            assert picture.bounding_box()["height"] > 100
        assert figure.locator("input:visible, select:visible").count() == 0
        assert len(figure.locator("figcaption").inner_text()) > 40
        names = [
            link.get_attribute("aria-label") or link.inner_text()
            for link in figure.locator(".live-figure__links a").all()
        ]  # the check of the site has followed their addresses
        panels = figure.locator(".live-figure__panel").count()
        each = [f" of panel {n + 1}" for n in range(panels)] if panels > 1 else [""]
        assert {*names} == {f"{kind}{of}" for kind in ("Data", "Specification") for of in each}
    for hint in page.locator(".live-only").all():  # what one could do with live figures
        assert not hint.is_visible()
    if path == ARTICLE:
        assert not page.locator(".passage__bar").is_visible()  # nothing shades the passage
        assert re.fullmatch(r"id \d+", page.locator(".token").nth(7).get_attribute("title"))
