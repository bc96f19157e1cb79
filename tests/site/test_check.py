"""The check of a built site finds each kind of damage, and names the page and the thing."""

import re
import shutil
import subprocess
import sys

import pytest

from report import files as files_
from report.errors import ReportError
from report.measures import shipped
from report.pages.policy import NAME
from report.site import check as check_module
from report.site.check import check_site
from tests.commands import ROOT
from tests.datasets import measured
from tests.figures import hand_made
from tests.site import small_site
from tests.site.small_site import ARTICLE, CONDITIONS, DATASETS, POLICY, checked

pytestmark = pytest.mark.promise("check-links")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The small site as it should be."""
    return small_site.write(tmp_path_factory.mktemp("site"))


@pytest.fixture
def site(sound, tmp_path):
    """A copy to damage."""
    return shutil.copytree(sound, tmp_path / "site")


def test_a_sound_site_passes_and_is_counted(sound):
    assert check_site(sound) == {
        "pages": 3,
        "links": 8,
        "figures": 3,
        "pictures": 1,
        # tokens, and each measure of heads but that of the next token, which no decoder sees
        "datasets": 1
        + (len(shipped()) - 1)
        + hand_made.LAYERS * (1 + hand_made.HEADS)
        + (2 + measured.LAYERS * measured.HEADS),
    }


def replace(site, name, old, new):
    path = site / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def append(site, name, content):
    (site / name).write_bytes((site / name).read_bytes() + content)


def add(site, html, name="index.html"):
    replace(site, name, "<title>", f"{html}<title>")


def remove(site, name):
    (site / name).unlink()


FOREIGN = "https://fonts.example.org/x"
SPEC, COMPILED = "figures/a/attention_map.json", "figures/a/attention_map.vega.json"
SEARCH = "search/search_index.json"
OF_MAP = r"a/index\.html: figure attention_map: "
REPLACED = [
    ("index.html", 'href="a/"', 'href="b/"', r"index\.html: b/ leads nowhere"),
    ("index.html", 'href="a/"', 'href="a%00/"', r"index\.html: a%00/ leads nowhere"),
    ("index.html", 'href="a/"', f'href="{"a" * 5000}"', r"index\.html: a{5000} leads nowhere"),
    ("index.html", 'href="a/"', 'href="//[a/"', r"index\.html: //\[a/ is no address"),
    ("index.html", '="https://example.org/"', '="https://[/"', r"html: https://\[/ is not the add"),
    (
        "a/index.html",
        'href="../"',
        'href="..%2f..%2fetc"',
        r"a/index\.html: \.\.%2f.*etc leads now",
    ),
    ("a/index.html", 'id="method"', 'id="m"', "#method: that page has no anchor #method"),
    ("index.html", "a/#fig-1", "a/#fig-2", "a/#fig-2: that page has no anchor #fig-2"),
    ("index.html", "#fig-1:layer", "#fig-7:layer", "layer=1: that page has no anchor #fig-7"),
    ("a/index.html", ' alt="A map"', "", r"a/index\.html: pictures without alt text: 1"),
    ("index.html", POLICY, "", f"index\\.html: has no {NAME}"),
    ("a/index.html", "src 'self'", "src *", rf"a/index\.html: its {NAME} is not the one that bui"),
    ("index.html", POLICY, f'<script src="a"></script>{POLICY}', "comes after <script>, which it"),
    (SPEC, "{", "", f"{OF_MAP}specification is broken"),
    (
        SPEC,
        "attention/{layer}",
        r"attention\u0000/{layer}",
        r"no dataset at attention\\x00/0/0\.js",
    ),
    (
        SPEC,
        '"param": "layer"',
        '"param": "other"',
        r"specification is broken \(KeyError\('layer'\)",
    ),
    (COMPILED, "{", "", r"figure attention_map: specification attention_map\.vega\.json is broken"),
    (
        COMPILED,
        "{layer}",
        "{head}",
        r"attention_map\.vega\.json was not compiled of attention_map\.",
    ),
    (
        "assets/site.css",
        "data:font/woff2;base64,AA",
        FOREIGN,
        rf"site\.css: loads {FOREIGN} from an",
    ),
    (
        "assets/site.css",
        "body",
        f"@import '{FOREIGN}'; body",
        rf"site\.css: loads {FOREIGN} from an",
    ),
    (
        "assets/figures.js",
        'import("./loading',
        'import("../gone',
        r"js: \.\./gone\.js leads nowhere",
    ),
    ("assets/figures.js", '"site.css"', '"tools.css"', r"figures\.js: tools\.css leads nowhere"),
    ("sitemap.xml", "</url>", "</uri>", r"sitemap\.xml: is not XML \(mismatched tag"),
    ("sitemap.xml", "<urlset>", "<urlset><!-- -->", r"sitemap\.xml\.gz: is not the site map that"),
    ("feed.xml", "</rss>", "", r"feed\.xml: is not XML"),
    ("robots.txt", "sitemap.xml", "map.xml", r"robots\.txt: https://example\.org/map\.xml leads n"),
    (SEARCH, '"a/"', '"b/"', r"search/search_index\.json: b/ leads nowhere"),
    (SEARCH, "#method", "#methods", "a/#methods: that page has no anchor #methods"),
    (
        SEARCH,
        "docs",
        "pages",
        r"search_index\.json: is no index of a search \(KeyError\('docs'\)\)",
    ),
    (SEARCH, "{", "", r"search_index\.json: cannot be read"),
    (
        f"{DATASETS}/attention/2/3.json",
        '"layer":2',
        '"layer":1',
        r"3\.json is not the file that was m",
    ),
    (
        f"{DATASETS}/manifest.json",
        '"seed":0',
        '"seed":"none"',
        r"manifest\.json: does not satisfy sc",
    ),
]
"""A file, a text in it, another one; and what is said."""

ADDED = [
    (f'<script src="{FOREIGN}.js"></script>', rf"line \d+: loads {FOREIGN}\.js from another host"),
    (
        f"<style>p {{ src: url({FOREIGN}) }}</style>",
        rf"line \d+: loads {FOREIGN} from another host",
    ),
    ("<script>alert(1)</script>", r"has a script in it without a hash \(alert\(1\)\)"),
    (
        '<a href="java\nscript:alert(1)">x</a>',
        r"href of <a> leads to java script:alert\(1\), which",
    ),
    ('<img alt="" src="a/" srcset="lost.svg 1x">', r"index\.html: lost\.svg leads nowhere"),
    ("<p style=\"background: url('gone.svg')\">x</p>", r"index\.html: gone\.svg leads nowhere"),
    (POLICY, f"index\\.html: has 2 {NAME}s"),
]
REMOVED = [
    ("figures/a/map.svg", r"a/index\.html: \.\./figures/a/map\.svg#only-light leads nowhere"),
    ("assets/figures.js", r"a/index\.html: \.\./assets/figures\.js leads nowhere"),
    ("assets/loading.js", r"assets/figures\.js: \./loading\.js leads nowhere"),
    ("assets/paper.svg", r"assets/site\.css: paper\.svg leads nowhere"),
    (SPEC, rf"{OF_MAP}no specification at \.\./figures/a/attention_map"),
    (COMPILED, rf"{OF_MAP}no specification attention_map\.vega\.json"),
    (f"{DATASETS}/attention/0/0.json", rf"{OF_MAP}no dataset at attention/0/0\.json"),
    (f"{DATASETS}/attention/1/2.json", r"attention/1/2\.json is missing"),
    (f"{DATASETS}/passage.json", r"passage\.json is missing"),
    (f"{DATASETS}/manifest.json", rf"{OF_MAP}no dataset at manifest\.json"),
    (f"{CONDITIONS}/conditions.json", r"filler_lines: no dataset at ba9876543210/conditions\.json"),
    (f"{CONDITIONS}/received/1/2.json", r"filler_lines: no dataset at ba.*/received/1/2\.json"),
    (f"{CONDITIONS}/manifest.json", r"filler_lines: no dataset at ba9876543210/manifest\.json"),
]
OTHERS = [
    (lambda s: (s / SPEC).write_text("[]"), f"{OF_MAP}specification is broken"),
    (lambda s: (s / "sitemap.xml.gz").write_bytes(b"\x1f\x8b\x08"), r"gz: cannot be read"),
    (lambda s: append(s, "CNAME", b"b.org\n"), r"CNAME: 'example\.org\\nb\.org' is no name of a d"),
    (
        lambda s: append(s, "a/index.html", b"\xff"),
        r"a/index\.html: is not UTF-8 text \(invalid st",
    ),
    (lambda s: append(s, "index.html", b"\xff"), r"index\.html: is not UTF-8 text"),
    (lambda s: append(s, "assets/site.css", b"\xff"), r"assets/site\.css: is not UTF-8 text"),
    (lambda s: append(s, "assets/loading.js", b"\xff"), r"assets/loading\.js: is not UTF-8 text"),
    (lambda s: (s / "x.svg").write_text("<svg onload='a'/>"), r"x\.svg: line 1: onload is no attr"),
    (lambda s: (s / "x.htm").touch(), r"x\.htm: is a page for browsers"),
]
DAMAGES = [
    *(((lambda s, row=row: replace(s, *row)), said) for *row, said in REPLACED),
    *(((lambda s, html=html: add(s, html)), said) for html, said in ADDED),
    *(((lambda s, name=name: remove(s, name)), said) for name, said in REMOVED),
    *OTHERS,
]


@pytest.mark.promise("foreign-scripts", "no-other-host")
@pytest.mark.parametrize(("damage", "said"), DAMAGES, ids=[said for _, said in DAMAGES])
def test_damage_is_found_and_named(site, damage, said):
    damage(site)
    with pytest.raises(ReportError) as caught:
        checked(site)
    lines = str(caught.value).splitlines()
    assert re.fullmatch(rf"{re.escape(str(site))}: \d+ problems?:", lines[0])
    # a file that is gone is missed by everything that needs it
    assert any(re.search(said, line) for line in lines[1:]), lines
    assert all(line.startswith("  ") for line in lines[1:])


def test_a_page_that_stops_the_parser_is_a_problem(site, monkeypatch):
    """Which pages do depends on the version of Python."""

    def stop(page, html):
        assert "Article" not in html, "no declaration"

    monkeypatch.setattr(check_module._Page, "feed", stop)
    with pytest.raises(ReportError, match=r"a/index\.html: cannot be read \(no declaration"):
        check_site(site)


def test_many_problems_are_counted_and_the_first_are_listed(site):
    add(site, "".join(f'<a href="gone-{n}">x</a>' for n in range(40)))
    with pytest.raises(ReportError, match=r"40 problems \(and 28 more\):") as caught:
        checked(site)
    assert len(str(caught.value).splitlines()) == 1 + 12


def test_checking_needs_no_torch(sound):
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in ("torch", "transformers"))
    code = (
        f"import sys; {hidden}; from report.site.check import check_site; check_site(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, sound], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_links_from_the_root_are_right_on_the_host_that_the_site_is_built_for(site):
    for name in ("index.html", "sitemap.xml", "feed.xml", "robots.txt"):
        text = (site / name).read_text()
        (site / name).write_text(text.replace("https://example.org/", "https://example.org/repo/"))
    (site / "sitemap.xml.gz").unlink()
    files_.write_text(site / "404.html", f'{POLICY}<a href="/repo/a/#fig-1">article</a>')
    checked(site)
    files_.write_text(site / "404.html", f'{POLICY}<a href="/a/">article</a>')
    with pytest.raises(ReportError, match=r"404\.html: /a/ leads nowhere"):
        checked(site)


THERE = "https://example.org/a/"
ATOM = '<rss xmlns:atom="http://www.w3.org/2005/Atom"><atom:link href="{}" rel="self"/></rss>'
WHOLE = [
    *(
        ("a/index.html", f"{ARTICLE}{tag}", ["https://example.org/b/"])
        for tag in (
            '<link rel="canonical" href="{}">',
            '<meta property="og:image" content="{}">',
            '<meta property="og:url" content="{}">',
            '<a href="{}">b</a>',
        )
    ),
    *(
        (name, text, ["https://example.org/b/", "https://example.com/a/", "/a/"])
        for name, text in (
            ("sitemap.xml", "<urlset><url><loc>{}</loc></url></urlset>"),
            ("feed.xml", "<rss><item><link>{}</link></item></rss>"),
            ("feed.xml", ATOM),
        )
    ),
]
"""A file, what stands in it, and addresses that lead nowhere."""


@pytest.mark.parametrize(("name", "text", "wrong"), WHOLE)
def test_whole_addresses_inside_the_site_must_lead_somewhere(site, name, text, wrong):
    (site / "sitemap.xml.gz").unlink()
    files_.write_text(site / name, text.replace("{}", THERE))
    checked(site)
    for address in wrong:
        files_.write_text(site / name, text.replace("{}", address))
        with pytest.raises(ReportError, match=f"{name}: .*{address[-3:]} leads nowhere"):
            checked(site)


def test_the_page_of_a_figure_alone_must_be_there_and_have_the_figure(site):
    at = 'data-figure="attention_map"'
    replace(site, "a/index.html", at, f'{at} data-embed="../embed/a/attention_map.html"')
    with pytest.raises(ReportError, match=r"attention_map\.html#fig-1 leads nowhere"):
        checked(site)
    alone = ARTICLE.replace("../", "../../").replace('<a href="#method">here</a>', "")
    files_.write_text(site / "embed/a/attention_map.html", alone)
    assert checked(site)["figures"] == 4
    replace(site, "embed/a/attention_map.html", 'id="fig-1"', 'id="fig-2"')
    with pytest.raises(ReportError, match="that page has no anchor #fig-1"):
        checked(site)
