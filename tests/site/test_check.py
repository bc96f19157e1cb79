"""The check of a built site finds each kind of damage, and names the page and the thing."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from report import files as files_
from report.datasets import store
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


def replace(name, old, new):
    def damage(site):
        path = site / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")

    return damage


def add(name, html):
    return replace(name, "<title>", f"{html}<title>")


def append(name, content):
    return lambda site: (site / name).write_bytes((site / name).read_bytes() + content)


def remove(name):
    return lambda site: (site / name).unlink()


def change(folder, name, damage):
    """Change one dataset; its checksum in the manifest is right again, to let only numbers be
    wrong, and the manifest has its seal."""

    def change(site):
        path, manifest = site / folder / name, site / folder / "manifest.json"
        data = json.loads(path.read_text("utf-8"))
        damage(data)
        path.write_text(json.dumps(data))
        facts = json.loads(manifest.read_text("utf-8"))
        if path != manifest:
            facts["files"][name]["sha256"] = files_.sha256(path)
        manifest.write_text(json.dumps(store.sealed(facts)))

    return change


def both(dataset, reduction):
    return list(dataset["conditions"]["filler"][reduction].values())


def line(dataset, reduction):
    return both(dataset, reduction)[0]


def text(dataset):
    return dataset["conditions"][1]


def column(dataset, name):
    return dataset["tables"]["effects"]["columns"][name]["values"]


def shorten(table):
    table["rows"] -= 1
    for column in table["columns"].values():
        column["values"].pop()


FOREIGN = "https://fonts.example.org/x"
SPEC = "figures/a/attention_map.json"
COMPILED = "figures/a/attention_map.vega.json"
DAMAGES = {
    "broken link": (
        replace("index.html", 'href="a/"', 'href="b/"'),
        r"index\.html: b/ leads nowhere",
    ),
    "link out of the site": (
        replace("a/index.html", 'href="../"', 'href="..%2f..%2f..%2fetc/passwd"'),
        r"a/index\.html: \.\.%2f\.\.%2f\.\.%2fetc/passwd leads nowhere",
    ),
    "missing anchor": (
        replace("a/index.html", 'id="method"', 'id="methods"'),
        r"a/index\.html: #method: that page has no anchor #method",
    ),
    "missing anchor of another page": (
        replace("index.html", "a/#fig-1", "a/#fig-2"),
        r"index\.html: a/#fig-2: that page has no anchor #fig-2",
    ),
    "state of a missing figure": (
        replace("index.html", "#fig-1:layer", "#fig-7:layer"),
        r"index\.html: a/#fig-7:layer=1: that page has no anchor #fig-7",
    ),
    "missing picture": (
        remove("figures/a/map.svg"),
        r"a/index\.html: \.\./figures/a/map\.svg#only-light leads nowhere",
    ),
    "missing script": (
        remove("assets/figures.js"),
        r"a/index\.html: \.\./assets/figures\.js leads nowhere",
    ),
    "missing specification": (
        remove(SPEC),
        r"a/index\.html: figure attention_map: no specification at \.\./figures/a/attention_map",
    ),
    "specification that is no JSON": (
        replace(SPEC, "{", ""),
        r"a/index\.html: figure attention_map: specification is broken",
    ),
    "specification of another kind": (
        lambda site: (site / SPEC).write_text("[]"),
        r"a/index\.html: figure attention_map: specification is broken",
    ),
    "missing first shard": (
        remove(f"{DATASETS}/attention/0/0.json"),
        r"a/index\.html: figure attention_map: no dataset at attention/0/0\.json",
    ),
    "missing shard in the middle": (
        remove(f"{DATASETS}/attention/1/2.json"),
        rf"{DATASETS}/attention/1/2\.json: no such dataset",
    ),
    "no passage": (remove(f"{DATASETS}/passage.json"), r"passage\.json: no such dataset"),
    "no manifest": (
        remove(f"{DATASETS}/manifest.json"),
        r"a/index\.html: figure attention_map: no dataset at manifest\.json",
    ),
    "corrupted JSON": (
        lambda site: (site / DATASETS / "updates/1.json").write_text('{"schema": "table/1", '),
        rf"{DATASETS}/updates/1\.json: is not JSON",
    ),
    "JSON that breaks its schema": (
        replace(f"{DATASETS}/attention/1/1.json", '"layer":1', '"layer":"one"'),
        rf"{DATASETS}/attention/1/1\.json: does not satisfy schema attention/4",
    ),
    "broken manifest": (
        replace(f"{DATASETS}/manifest.json", '"seed":0', '"seed":"none"'),
        rf"{DATASETS}/manifest\.json: does not satisfy schema manifest/1",
    ),
    "dataset changed after measuring": (
        replace(f"{DATASETS}/attention/2/3.json", '"layer":2', '"layer":1'),
        rf"{DATASETS}/attention/2/3\.json: not the file that was measured",
    ),
    "one value too many": (
        replace(f"{DATASETS}/attention/1/1.json", '"marker_count":[', '"marker_count":[1,'),
        rf"{DATASETS}/attention/1/1\.json: layer 1 head 1: marker_count has 25 values, not 24",
    ),
    "shard of another head": (
        lambda site: shutil.copy(
            site / DATASETS / "attention/1/1.json", site / DATASETS / "attention/1/2.json"
        ),
        rf"{DATASETS}/attention/1/2\.json: is of layer 1 head 1",
    ),
    "shard of another passage": (
        change(DATASETS, "manifest.json", lambda d: d["passage"].update(tokens=25)),
        rf"{DATASETS}/attention/1/2\.json: has 24 tokens, the passage 25",
    ),
    "line of another head": (
        lambda site: shutil.copy(
            site / CONDITIONS / "received/1/1.json", site / CONDITIONS / "received/1/2.json"
        ),
        rf"{CONDITIONS}/received/1/2\.json: is of layer 1 head 1",
    ),
    "line with a value less": (
        change(CONDITIONS, "received/0/1.json", lambda d: line(d, "mean").pop()),
        r"received/0/1\.json: layer 0 head 1, condition 'filler': mean has 10 means and 11 errors",
    ),
    "line with a position less": (
        change(CONDITIONS, "received/0/1.json", lambda d: [each.pop() for each in both(d, "mean")]),
        r"received/0/1\.json: layer 0 head 1, 'filler', mean: 10 values, not 11",
    ),
    "more than all": (
        change(CONDITIONS, "received/0/1.json", lambda d: line(d, "mean").__setitem__(3, 50001)),
        r"layer 0 head 1, 'filler', mean: a mean of probabilities is not between 0 and 1",
    ),
    "probabilities that do not add up": (
        change(CONDITIONS, "received/0/1.json", lambda d: line(d, "last").__setitem__(3, 0)),
        r"layer 0 head 1, 'filler', last: probabilities sum to 0\.\d+, not 1",
    ),
    "an error of one prompt": (
        change(CONDITIONS, "received/0/1.json", lambda d: both(d, "all")[1].__setitem__(-1, 5)),
        r"layer 0 head 1, 'filler', all: errors are not of the positions of several prompts",
    ),
    "a condition less": (
        change(CONDITIONS, "received/0/1.json", lambda d: d["conditions"].pop("none")),
        r"received/0/1\.json: layer 0 head 1: has conditions filler",
    ),
    "a reduction less": (
        change(CONDITIONS, "received/0/1.json", lambda d: d["conditions"]["none"].pop("all")),
        r"received/0/1\.json: layer 0 head 1, 'none': has mean, last",
    ),
    "texts of conditions that are gone": (
        remove(f"{CONDITIONS}/conditions.json"),
        rf"{CONDITIONS}/received/1/2\.json: .*conditions\.json: no such dataset",
    ),
    "data of a panel that are gone": (
        remove(f"{CONDITIONS}/received/1/2.json"),
        r"several/index\.html: figure filler_lines: no dataset at ba9876543210/received/1/2\.json",
    ),
    "tokens of a panel that are gone": (
        remove(f"{CONDITIONS}/conditions.json"),
        r"several/index\.html: figure filler_lines: no dataset at ba9876543210/conditions\.json",
    ),
    "manifest of one of several models": (
        remove(f"{CONDITIONS}/manifest.json"),
        r"several/index\.html: figure filler_lines: no dataset at ba9876543210/manifest\.json",
    ),
    "two conditions of a name": (
        change(CONDITIONS, "conditions.json", lambda d: text(d).update(name="none")),
        r"conditions\.json: two conditions have one name: none, none",
    ),
    "too few positions": (
        change(CONDITIONS, "conditions.json", lambda d: text(d)["positions"].pop()),
        r"conditions\.json: condition 'filler': positions are not 9 from -1 to 10",
    ),
    "a position that is none": (
        change(CONDITIONS, "conditions.json", lambda d: text(d)["positions"].append(99)),
        r"conditions\.json: condition 'filler': positions are not 9 from -1 to 10",
    ),
    "a segment beyond the tokens": (
        change(CONDITIONS, "conditions.json", lambda d: text(d)["segments"][2].update(last=9)),
        r"conditions\.json: condition 'filler': segment 'question' is not within the tokens",
    ),
    "an added segment that is not there": (
        change(CONDITIONS, "conditions.json", lambda d: text(d).update(added="note")),
        r"conditions\.json: condition 'filler': no segment is called 'note'",
    ),
    "counts that rise": (
        change(CONDITIONS, "conditions.json", lambda d: text(d)["counts"].append(3)),
        r"conditions\.json: condition 'filler': counts must begin at .* prompts, 3, and never",
    ),
    "more tokens than positions": (
        change(CONDITIONS, "conditions.json", lambda d: text(d)["tokens"].extend("abc")),
        r"conditions\.json: condition 'filler': 12 tokens, 11 positions",
    ),
    "effects of a layer less": (
        change(CONDITIONS, "effects.json", lambda d: shorten(d["tables"]["layers"])),
        r"effects\.json: table 'layers' has 3 rows, not 4",
    ),
    "a table less": (
        change(CONDITIONS, "effects.json", lambda d: d["tables"].pop("layers")),
        r"effects\.json: has the tables effects, not effects, layers",
    ),
    "more than everything left": (
        change(CONDITIONS, "effects.json", lambda d: column(d, "lambda").__setitem__(0, 10001)),
        r"effects\.json: table 'effects': lambda is not between 0 and 1",
    ),
    "foreign script": (
        add("a/index.html", f'<script src="{FOREIGN}.js"></script>'),
        rf"a/index\.html: line \d+: loads {FOREIGN}\.js from another host",
    ),
    "foreign script without scheme": (
        add("index.html", '<script src="//cdn.example.org/v.js"></script>'),
        r"index\.html: line \d+: loads //cdn\.example\.org/v\.js from another host",
    ),
    "foreign style sheet": (
        add("index.html", f'<link rel="stylesheet" href="{FOREIGN}.css">'),
        rf"index\.html: line \d+: loads {FOREIGN}\.css from another host",
    ),
    "foreign preconnect": (
        add("index.html", '<link rel="preconnect" href="https://fonts.example.org">'),
        r'index\.html: line \d+: <link rel="preconnect"> may not be in pages',
    ),
    "foreign picture in a set": (
        add("index.html", f'<img alt="" src="a/" srcset="a/ 1x, {FOREIGN}.png 2x">'),
        rf"index\.html: line \d+: loads {FOREIGN}\.png from another host",
    ),
    "foreign font in a style sheet": (
        replace("assets/site.css", "data:font/woff2;base64,AA", f"{FOREIGN}.woff2"),
        rf"assets/site\.css: loads {FOREIGN}\.woff2 from another host",
    ),
    "foreign style sheet in a style sheet": (
        replace("assets/site.css", "body", f"@import '{FOREIGN}.css'; body"),
        rf"assets/site\.css: loads {FOREIGN}\.css from another host",
    ),
    "foreign font in a page": (
        add("index.html", f"<style>@font-face {{ src: url({FOREIGN}.woff2) }}</style>"),
        rf"index\.html: line \d+: loads {FOREIGN}\.woff2 from another host",
    ),
    "foreign background of an element": (
        add("index.html", f'<p style="background: url({FOREIGN}.png)">x</p>'),
        rf"index\.html: line \d+: loads {FOREIGN}\.png from another host",
    ),
    "no policy": (replace("index.html", POLICY, ""), f"index\\.html: has no {NAME}"),
    "two policies": (add("index.html", POLICY), f"index\\.html: has 2 {NAME}s"),
    "policy that lets everything run": (
        replace("a/index.html", "script-src 'self'", "script-src 'self' 'unsafe-inline'"),
        rf"a/index\.html: its {NAME} is not the one that builds write",
    ),
    "policy after a script": (
        replace("index.html", POLICY, f'<script src="assets/figures.js"></script>{POLICY}'),
        rf"index\.html: its {NAME} comes after <script>, which it does not bind",
    ),
    "script in a page": (
        add("index.html", "<script>alert(1)</script>"),
        r"index\.html: has a script in it without a hash \(alert\(1\)\)",
    ),
    "code in an attribute": (
        replace("a/index.html", "<img ", '<img onerror="alert(1)" '),
        r"a/index\.html: line \d+: onerror is no attribute that <img> may have",
    ),
    "code in a link": (
        add("index.html", '<a href="java\nscript:alert(1)">x</a>'),
        r"index\.html: line \d+: href of <a> leads to java script:alert\(1\), which is no page",
    ),
    "page that is not UTF-8": (
        append("a/index.html", b"\xff"),
        r"a/index\.html: is not UTF-8 text \(invalid start byte at byte \d+\)",
    ),
    "home page that is not UTF-8": (
        append("index.html", b"\xff"),
        r"index\.html: is not UTF-8 text",
    ),
    "style sheet that is not UTF-8": (
        append("assets/site.css", b"\xff"),
        r"assets/site\.css: is not UTF-8 text",
    ),
    "script that is not UTF-8": (
        append("assets/loading.js", b"\xff"),
        r"assets/loading\.js: is not UTF-8 text",
    ),
    "NUL in an address": (
        replace("index.html", 'href="a/"', 'href="a%00/"'),
        r"index\.html: a%00/ leads nowhere",
    ),
    "address of the site that is none": (
        replace("index.html", 'href="https://example.org/"', 'href="https://[/"'),
        r"index\.html: https://\[/ is not the address of a site",
    ),
    "NUL in a specification": (
        replace(SPEC, "attention/{layer}", r"attention\u0000/{layer}"),
        r"a/index\.html: figure attention_map: no dataset at attention\\x00/0/0\.json",
    ),
    "address that is too long for a path": (
        replace("index.html", 'href="a/"', f'href="{"a" * 5000}"'),
        r"index\.html: a{5000} leads nowhere",
    ),
    "address that is none": (
        replace("index.html", 'href="a/"', 'href="//[a/"'),
        r"index\.html: //\[a/ is no address",
    ),
    "missing import": (
        remove("assets/loading.js"),
        r"assets/figures\.js: \./loading\.js leads nowhere",
    ),
    "missing import that may wait": (
        replace("assets/figures.js", 'import("./loading.js")', 'import("../gone.js")'),
        r"assets/figures\.js: \.\./gone\.js leads nowhere",
    ),
    "missing file beside a script": (
        replace("assets/figures.js", '"site.css"', '"tools.css"'),
        r"assets/figures\.js: tools\.css leads nowhere",
    ),
    "missing picture of a style sheet": (
        remove("assets/paper.svg"),
        r"assets/site\.css: paper\.svg leads nowhere",
    ),
    "missing picture of a style": (
        add("a/index.html", "<p style=\"background: url('gone.svg')\">x</p>"),
        r"a/index\.html: gone\.svg leads nowhere",
    ),
    "specification that was not compiled": (
        remove(COMPILED),
        r"a/index\.html: figure attention_map: no specification attention_map\.vega\.json",
    ),
    "compiled specification that is no JSON": (
        replace(COMPILED, "{", ""),
        r"figure attention_map: specification attention_map\.vega\.json is broken",
    ),
    "compiled specification of something else": (
        replace(COMPILED, "attention/{layer}", "attention/{head}"),
        r"attention_map\.vega\.json was not compiled of attention_map\.json",
    ),
    "value of a control that an address does not have": (
        replace(SPEC, '"param": "layer"', '"param": "other"'),
        r"figure attention_map: specification is broken \(KeyError\('layer'\)\)",
    ),
    "site map that is no XML": (
        replace("sitemap.xml", "</url>", "</uri>"),
        r"sitemap\.xml: is not XML \(mismatched tag",
    ),
    "feed that is no XML": (replace("feed.xml", "</rss>", ""), r"feed\.xml: is not XML"),
    "packed site map of another site": (
        replace("sitemap.xml", "<urlset>", "<urlset><!-- new -->"),
        r"sitemap\.xml\.gz: is not the site map that lies beside it",
    ),
    "packed site map that is cut off": (
        lambda site: (site / "sitemap.xml.gz").write_bytes(b"\x1f\x8b\x08"),
        r"sitemap\.xml\.gz: cannot be read",
    ),
    "site map that robots do not find": (
        replace("robots.txt", "sitemap.xml", "map.xml"),
        r"robots\.txt: https://example\.org/map\.xml leads nowhere",
    ),
    "two domains": (
        append("CNAME", b"www.example.org\n"),
        r"CNAME: 'example\.org\\nwww\.example\.org' is no name of a domain",
    ),
    "search that leads to no page": (
        replace("search/search_index.json", '"a/"', '"b/"'),
        r"search/search_index\.json: b/ leads nowhere",
    ),
    "search that leads to no place": (
        replace("search/search_index.json", "#method", "#methods"),
        r"search_index\.json: a/#methods: that page has no anchor #methods",
    ),
    "index of a search without entries": (
        replace("search/search_index.json", "docs", "pages"),
        r"search_index\.json: is no index of a search \(KeyError\('docs'\)\)",
    ),
    "index of a search that is no JSON": (
        replace("search/search_index.json", "{", ""),
        r"search_index\.json: cannot be read",
    ),
    "missing alt": (
        replace("a/index.html", ' alt="A map"', ""),
        r"a/index\.html: pictures without alt text: 1",
    ),
}


@pytest.mark.promise("foreign-scripts", "no-other-host")
@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_found_and_named(site, kind):
    damage, said = DAMAGES[kind]
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
    links = "".join(f'<a href="gone-{n}">x</a>' for n in range(40))
    add("index.html", links)(site)
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


def rewritten(site, name, before, after):
    path = site / name
    assert before in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")


def test_links_from_the_root_are_right_on_the_host_that_the_site_is_built_for(site):
    for name in ("index.html", "sitemap.xml", "feed.xml", "robots.txt"):
        path = site / name
        path.write_text(
            path.read_text().replace("https://example.org/", "https://example.org/repo/")
        )
    (site / "sitemap.xml.gz").unlink()
    files_.write_text(site / "404.html", f'{POLICY}<a href="/repo/a/#fig-1">article</a>')
    checked(site)
    files_.write_text(site / "404.html", f'{POLICY}<a href="/a/">article</a>')
    with pytest.raises(ReportError, match=r"404\.html: /a/ leads nowhere"):
        checked(site)


@pytest.mark.parametrize(
    "tag",
    [
        '<link rel="canonical" href="https://example.org/b/">',
        '<meta property="og:image" content="https://example.org/b/">',
        '<meta property="og:url" content="https://example.org/b/">',
        '<a href="https://example.org/b/">b</a>',
    ],
)
def test_whole_addresses_inside_the_site_must_lead_somewhere(site, tag):
    rewritten(site, "a/index.html", "<title>Article</title>", f"<title>Article</title>{tag}")
    with pytest.raises(ReportError, match=r"a/index\.html: /b/ leads nowhere"):
        checked(site)
    rewritten(site, "a/index.html", "https://example.org/b/", "https://example.org/a/")
    checked(site)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sitemap.xml", "<urlset><url><loc>{}</loc></url></urlset>"),
        ("feed.xml", "<rss><item><link>{}</link></item></rss>"),
        (
            "feed.xml",
            '<rss xmlns:atom="http://www.w3.org/2005/Atom"><atom:link href="{}" rel="self"/></rss>',
        ),
    ],
)
def test_what_site_map_and_feed_list_must_be_there(site, name, text):
    (site / "sitemap.xml.gz").unlink()
    files_.write_text(site / name, text.format("https://example.org/a/"))
    checked(site)
    for wrong in ("https://example.org/b/", "https://example.com/a/", "/a/"):
        files_.write_text(site / name, text.format(wrong))
        with pytest.raises(ReportError, match=f"{name}: {wrong} leads nowhere"):
            checked(site)


def test_the_page_of_a_figure_alone_must_be_there_and_have_the_figure(site):
    at = 'data-figure="attention_map"'
    replace("a/index.html", at, f'{at} data-embed="../embed/a/attention_map.html"')(site)
    with pytest.raises(ReportError, match=r"attention_map\.html#fig-1 leads nowhere"):
        checked(site)
    alone = ARTICLE.replace("../", "../../").replace('<a href="#method">here</a>', "")
    files_.write_text(site / "embed/a/attention_map.html", alone)
    assert checked(site)["figures"] == 4
    replace("embed/a/attention_map.html", 'id="fig-1"', 'id="fig-2"')(site)
    with pytest.raises(ReportError, match="that page has no anchor #fig-1"):
        checked(site)
