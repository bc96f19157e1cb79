"""An article in one file, opened from a disk without a network: it shows what the site shows."""

import json
import zipfile
from types import SimpleNamespace

import pytest

from report.errors import ReportError, UsageError
from report.site.bundled import scripts
from report.site.bundled.bundle import MARK, bundle, text_blocks
from report.site.bundled.page import Addresses, rewritten
from tests.figures import hand_made, live_page
from tests.figures.live_page import TOOLTIP
from tests.serving import served
from tests.site import test_print
from tests.site.test_core import LIVE, Chromium, box_of, drawn, to
from tests.site.test_print import bars, printed

HOME = '<!doctype html><link rel="canonical" href="{}"><title>Home</title>'
CARD = "document.querySelector('.hover-card:not([hidden])')?.textContent"
HOSTILE = '</script><script>window.ran = 1</script><!-- <script> "quoted" &amp; ]]>'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small built site, whose article links to the glossary, to other pages and to nothing."""
    folder = tmp_path_factory.mktemp("bundled") / "site"
    data = hand_made.study(folder / "datasets" / "hand" / "0123456789ab")
    live_page.write(folder, data)
    (data.path / "hostile.json").write_text(json.dumps({"text": HOSTILE}))
    (folder / "index.html").write_text(HOME.format("https://example.org/lab/"))
    for name in ("glossary", "about"):
        (folder / name).mkdir()
        (folder / name / "index.html").write_text("<!doctype html><title>Other</title>")
    links = (
        '<p id="links"><a class="term" href="../../glossary/#layer">layer</a> '
        '<a id="about" href="../../about/">about</a> <a href="ftp://example.org/">bad</a> '
        '<a id="there" href="../hand/#fig-2">there</a> '
        '<a id="saved" href="../../datasets/hand/0123456789ab/hostile.json">data</a> '
        "&lt;b&gt; &#60;</p>"
    )
    page = folder / "articles" / "hand" / "index.html"
    cited = (
        '<h1>By <i>hand</i></h1><h2 id="one">One &amp; <em>only</em>'
        '<a class="headerlink" href="#one">¶</a></h2>'
        '<p><a class="cite" href="#ref:x:1/a">Xiao et al., 2023</a></p>'
        '<ul class="references"><li id="ref:x:1/a">Guangxuan Xiao. 2023. '
        '<a href="https://arxiv.org/abs/2309.17453">Sinks</a>.</li></ul>'
    )
    page.write_text(page.read_text("utf-8") + links + cited, "utf-8")
    return folder


@pytest.fixture(scope="module")
def files(site, tmp_path_factory):
    """The article as one .html, and as an unpacked .zip: paths of the pages by ending."""
    folder = tmp_path_factory.mktemp("handed on")
    html = bundle(site, "hand", folder / "a file.html")
    packed = bundle(site, "hand", folder, limit=1000)
    assert packed.path.name == "hand.zip"
    with zipfile.ZipFile(packed.path) as archive:
        assert archive.testzip() is None
        archive.extractall(folder / "unpacked")
    return {"html": html.path, "zip": folder / "unpacked" / "hand" / "hand.html"}


@pytest.fixture(scope="module")
def browsers(browser, firefox):
    """Both browsers by name."""
    chromium = Chromium(browser)
    chromium.context.set_offline(True)
    chromium.size = lambda width, height: chromium.page.set_viewport_size(
        {"width": width, "height": height}
    )
    yield {"chromium": chromium, "firefox": firefox}
    chromium.context.close()


@pytest.fixture(params=["chromium", "firefox"])
def reader(request, browsers):
    """A browser whose console may not complain, and which may ask for nothing but files."""
    reader = browsers[request.param]
    reader.size(1280, 1000)
    reader.problems.clear()
    reader.asked.clear()
    yield reader
    assert reader.problems == []
    own = ("file:", "data:", "blob:", "about:")
    assert [url for url in reader.asked if not url.startswith(own)] == []


def shown(reader, address):
    """What a reader is shown of figure 1, at first and at another head, in numbers and pixels."""
    reader.open(address)
    to(reader, 1)
    first = drawn(reader, 1)
    x, y, width, height = box_of(reader, 1)
    reader.move(x + 0.3 * width, y + 0.7 * height)
    reader.until(f"Object.keys(({TOOLTIP})()).length > 3")
    told = reader.evaluate(f"({TOOLTIP})()")
    reader.move(5, 5)
    reader.evaluate("void document.querySelector('#fig-1 input[name=head]').focus()")
    reader.press("End")
    last = reader.evaluate("document.querySelector('#fig-1 input[name=head]').max")
    link = "document.querySelector('#fig-1 a[data-link-data]')"
    reader.until(f"{link}.href.endsWith('/{last}.json')")
    reader.until("location.hash.startsWith('#fig-1:')")
    reader.evaluate("new Promise(next => setTimeout(next, 200))")
    seen = reader.evaluate("document.querySelector('#fig-1 figcaption').textContent")
    return SimpleNamespace(first=first, told=told, second=drawn(reader, 1), seen=seen)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["html", "zip"])
def test_a_bundle_shows_what_the_site_shows(reader, kind, files, browser, site):
    here = shown(reader, files[kind].as_uri())
    if isinstance(reader, Chromium):
        online = Chromium(browser)
        with served(site) as address:
            there = shown(online, f"{address}articles/hand/")
        online.context.close()
        assert here == there
    assert here.first != here.second
    assert {"title", "score", "current token", "target token"} <= here.told.keys()


@pytest.mark.browser
def test_all_figures_links_cards_and_the_menu_work(reader, files):
    reader.open(files["html"].as_uri() + "#fig-2:layer=1,head=1")
    reader.until(LIVE.format(2))
    assert reader.evaluate("document.querySelector('#fig-2 input[name=head]').value") == "1"
    for figure in range(1, 1 + len(live_page.ORDER)):
        to(reader, figure)
    assert reader.evaluate("document.querySelectorAll('.live-figure--failed').length") == 0
    links = "[...document.querySelectorAll('#links a')].map(each => each.getAttribute('href'))"
    assert reader.evaluate(links) == [
        "#word:layer",
        "https://example.org/lab/about/",
        "#fig-2",
        "datasets/hand/0123456789ab/hostile.json",
    ]
    point_at(reader, "#links .term")
    assert reader.until(CARD).lower().startswith("layer")
    reader.evaluate("void document.querySelector('#fig-2 .live-figure__tool').click()")
    reader.until("document.querySelector('#fig-2 .live-figure__tables tbody tr')?.tagName")
    more = "document.querySelector('#fig-2 .live-figure__tool[aria-expanded]')"
    reader.evaluate(f"void {more}.click()")
    reader.until("document.querySelector('#fig-2 .live-figure__menu')?.tagName")
    assert reader.evaluate("window.ran ?? null") is None


def point_at(reader, selector):
    """Move the mouse to the middle of an element, once it rests there with nothing over it."""
    element = f"document.querySelector({selector!r})"
    reader.evaluate(f"void {element}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    reader.move(
        *reader.until(
            f"""(async () => {{ const middle = () => {{
                const {{x, y, width, height}} = {element}.getBoundingClientRect();
                return [x + width / 2, y + height / 2]; }};
            const before = middle();
            await new Promise(next => setTimeout(next, 120));
            const now = middle();
            const above = document.elementFromPoint(...now);
            return String(now) === String(before) && {element}.contains(above) && now; }})()"""
        )
    )


@pytest.mark.browser
def test_a_citation_shows_its_entry_and_a_phone_has_the_contents(reader, files):
    reader.open(files["html"].as_uri())
    folded = "getComputedStyle(document.querySelector('details.contents')).display"
    assert reader.evaluate(folded) == "none"  # they are beside the text
    point_at(reader, "a.cite")
    assert reader.until(CARD) == "Guangxuan Xiao. 2023. Sinks."
    assert reader.evaluate("document.querySelector('.hover-card a').tabIndex") == -1
    reader.size(390, 844)
    assert reader.evaluate(folded) == "block"
    point_at(reader, ".contents > summary")
    reader.click()
    reader.until("document.querySelector('.contents a').checkVisibility()")
    assert reader.evaluate("document.querySelector('.contents').innerText.trim().split('\\n')") == [
        "Contents",
        "One & only",
    ]
    point_at(reader, ".contents a")
    reader.click()
    reader.until("location.hash === '#one'")
    reader.size(1280, 1000)


def ink_of(sheet):
    """Pixels of a sheet that are neither white nor grey."""
    return (sheet.max(2).astype(int) - sheet.min(2) > 40).sum()


@pytest.mark.browser
def test_it_is_printed_as_the_reader_left_it(browser, files):
    reader = Chromium(browser)
    reader.open(files["html"].as_uri() + "#fig-1:layer=1,head=1")
    reader.until(LIVE.format(1))
    for figure in (1, 2):
        to(reader, figure)
    reader.page.evaluate(test_print.MARK)
    sheets, texts = printed(reader.page)
    said = " ".join(" ".join(texts).split())
    assert "Layer: 1 Head: 1" in said
    assert "Contents" not in said
    ((first, height),) = bars(sheets, 1)[0].items()  # on one sheet
    assert height > 150
    assert ink_of(sheets[first]) > 500  # the live chart, with colours
    reader.context.close()


def test_two_runs_give_the_same_bytes(site, tmp_path):
    for limit in (10**9, 1000):
        one = bundle(site, "hand", tmp_path, limit).path
        before = one.read_bytes()
        assert bundle(site, "hand", tmp_path, limit).path.read_bytes() == before


def test_the_policy_asks_no_host_and_names_every_script(files):
    page = files["html"].read_text("utf-8")
    policy = page.partition('Content-Security-Policy" content="')[2].partition('"')[0]
    assert "connect-src 'none'" in policy
    assert "default-src 'none'" in policy
    scripts = policy.partition("script-src ")[2].split()
    assert len(scripts) == 2
    assert all(each.startswith("'sha256-") for each in scripts)


def test_data_cannot_end_their_element(site):
    text = text_blocks({'a/<b>".json': HOSTILE.encode()})
    assert text.count("<script") == text.count("</script>") == 1
    assert "<b>" not in text
    assert "</script" not in scripts.script_text(f"x = '{HOSTILE}'")


def test_without_an_address_other_pages_are_plain_text(site):
    page = site / "articles" / "hand" / "index.html"
    html = rewritten(page.read_text("utf-8"), Addresses(site, "hand")).text("", "")
    assert '<span id="about">about</span>' in html
    assert "<span>bad</span>" in html
    assert "data-embed" not in html
    assert 'href="#word:layer"' in html
    assert "&lt;b&gt; &#60;" in html


def test_an_unknown_article_is_answered_with_those_there_are(site, tmp_path):
    with pytest.raises(UsageError, match=r"no article '\.\./x'.* there are: hand"):
        bundle(site, "../x", tmp_path)
    with pytest.raises(ReportError, match="no built site here"):
        bundle(tmp_path, "hand")


@pytest.mark.promise("killed-commands")
def test_what_a_killed_bundle_left_is_removed(site, tmp_path):
    (tmp_path / ".hand.html.0123abcd.report.tmp").write_text("x")
    assert bundle(site, "hand", tmp_path).path.parent == tmp_path
    assert len(list(tmp_path.iterdir())) == 1


def test_only_a_bundle_is_replaced(site, tmp_path):
    path = tmp_path / "mine.html"
    path.write_text("mine")
    with pytest.raises(ReportError, match="no bundle, so it is not replaced"):
        bundle(site, "hand", path)
    assert path.read_text() == "mine"
    path.write_text(f"<!doctype html>\n{MARK}")
    assert bundle(site, "hand", path).size == path.stat().st_size > 10_000
    assert [each.name for each in tmp_path.iterdir()] == ["mine.html"]


def test_a_name_that_does_not_fit_is_refused(site, tmp_path):
    with pytest.raises(UsageError, match=r"one \.html or a \.zip"):
        bundle(site, "hand", tmp_path / "x.pdf")
    with pytest.raises(UsageError, match=r"ends in \.zip"):
        bundle(site, "hand", tmp_path / "x.html", limit=1000)
    assert not list(tmp_path.iterdir())
