"""What pages may hold: what authors write and must not stops the build where they wrote it, and is
found in a built site; usual HTML passes as it is."""

import itertools
import random
import re

import pytest
from playwright.sync_api import Error

from report.errors import ReportError
from report.site.allowed import Drawing
from report.site.build import build
from report.site.protect import drawings, parsed, problems, protect, strays
from tests.serving import served
from tests.site import unmeasured
from tests.site.small_site import POLICY

pytestmark = pytest.mark.promise("page-elements")

THERE = "https://elsewhere.example/x"
ELEMENTS = (
    *("base", "embed", "fencedframe", "frame", "object", "portal", "template", "x-element"),
    *("svg><animate", "svg><foreignObject", "svg><image", "svg><set", "svg><use", "math><maction"),
)
ATTRIBUTES = (
    *("action", "background", "formaction", "onerror", "onpointerrawupdate", "ping", "shadowroot"),
    *("srcdoc", "xlink:href"),
)
LOADED = (
    *("img src", "img srcset", "source srcset", "video poster", "video src", "audio src"),
    *("track src", "iframe src", "script src", "p data-spec", "figure data-page"),
    *('link rel="alternate stylesheet" href',),
)
NO_ADDRESSES = (
    *("//elsewhere.example/x.png", r"\\elsewhere.example\x.png", "\t/\n/elsewhere.example/x"),
    *(
        "&#104;ttps&colon;//elsewhere.example/x",
        "https:elsewhere.example/x",
        "///elsewhere.example",
    ),
)
STYLES = (
    *(f'@import "{THERE}.css";', f"@import url({THERE}.css);", f"@import'{THERE}.css'"),
    f'p {{ --a: "/*"; background: url({THERE}.png); --b: "*/" }}',
    f'p {{ background: image-set("{THERE}.png" 1x) }}',
)
PAGES = (
    *("javascript:alert(1)", "java\tscript:alert(1)", "&#x1;&#106;avascript&colon;alert(1)"),
    *("vbscript:x", "data:text/html,<script>alert(1)</script>", "blob:https://elsewhere.example/x"),
)
FRAMES = (
    *("../../images/own.svg", "own.xml?own.html#a/", "own", "own.pdf", "http://[own.html"),
    "data:text/html,x",
)
ATTACKS = {
    **{f"<{tag}>": f"<{tag}></{tag.rpartition('<')[2]}>" for tag in ELEMENTS},
    **{name: f'<p {name}="{THERE}">x</p>' for name in ATTRIBUTES},
    **{f"<{start}>": f'<{start}="{THERE}.png">' for start in LOADED},
    **{address: f'<img src="{address}" alt="">' for address in NO_ADDRESSES},
    **{style: f"<style>{style}</style>" for style in STYLES},
    **{f"to {address}": f'<a href="{address}">x</a>' for address in PAGES},
    **{f"frame {address}": f'<iframe src="{address}"></iframe>' for address in FRAMES},
    "refresh": f'<meta http-equiv="refresh" content="0;url={THERE}">',
    "refresh in capitals": f"<META HTTP-EQUIV=' Refresh' CONTENT='0;url={THERE}'>",
    "set of pictures": f'<img src="" srcset=" 1x, {THERE}.png 2x" alt="">',
    "prefetch": '<link rel="prefetch" href="own.html">',
    "style": f'<p style="background: url({THERE}.png)">x</p>',
    "fill": f'<svg><rect fill="url({THERE}.svg#a)"/></svg>',
    "style in codes": r'<p style="background: \75 rl(\68 ttps:\2f\2f elsewhere.example)"></p>',
    "diagram that the theme fetches a library for": '<pre class="mermaid">graph TD</pre>',
    "handler after a slash": "<svg/onload=alert(1)>",
    "script in SVG": '<svg><script href="data:text/javascript,alert(1)"></script></svg>',
    "script of data": '<script src="data:text/javascript,alert(1)"></script>',
    "link in MathML": '<math href="javascript:alert(1)"><mi>x</mi></math>',
    "import map": '<script type="importmap">{"imports": {}}</script>',
    "script of an old type": '<script type="text/ecmascript">alert(1)</script>',
    # what browsers read otherwise than Python
    "comment that ends at once": "<!--><img src=x onerror=alert(1)>-->",
    "comment with an old end": "<!-- --!><img src=x onerror=alert(1)>-->",
    "comment that ends later": '<!-- -- ><p title="--><img src=x onerror=alert(1)>"></p>',
    "section of data": '<![CDATA[ ><p title="]]><img src=x onerror=alert(1)>"></p>',
    "declaration": "<![x[ ><img src=x onerror=alert(1)>",
    "text of a title": "<title><!--</title><img src=x onerror=alert(1)>--></title>",
    "no script": '<noscript><p title="</noscript><img src=x onerror=alert(1)>"></p></noscript>',
    "style in SVG": "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "data in MathML": '<math><script type="application/json"><img src=x onerror=y></script></math>',
    "script that does not end": (
        '<script type="application/json"/><!-- </script><img src=x onerror=alert(1)> -->'
    ),
    "script that ends earlier": (
        '<script type="application/json"></script x><img src=x onerror=alert(1)></script>'
    ),
    "script that ends later": (
        '<script type="application/json"><!--<script></script><!-- </script><img src=x on=y>-->'
    ),
    "script without an end": (
        '<script type="application/json"></script x><img src=x onerror=alert(1)>'
    ),
    "script in the text of a frame": (
        '<iframe><script type="application/json"></iframe><img src=x onerror=alert(1)></script>'
    ),
    "end tag with a text": '<p>x</p title="><!--"><img src=x onerror=alert(1)><!-- -->',
    "space that is a letter": '<p class=x\u00a0b="><img src=x onerror=alert(1)>">x</p>',
    "an attribute twice": '<a href="javascript:alert(1)" href="/">x</a>',
}

HEALTHY = """<details open><summary>More of <sub>it</sub> and <sup>that</sup></summary>

<figure class="own"><img src="images/favicon.svg" width="20" height="20" alt="A picture" \
loading="lazy"><figcaption>With <kbd>Ctrl</kbd>, <abbr title="a ratio">r.</abbr></figcaption>\
</figure>

</details>

<div class="wide" id="own" style="color: red; background: url(images/favicon.svg)">
<p align="center" data-own="https://elsewhere.example/">A <span lang="de" dir="auto">Wort</span>,
<mark>a</mark> <del>b</del> <ins>c</ins> <small>d</small> <q cite="https://a.example/">e</q>
<code>f</code> <em>g</em><br>h<wbr>i</p><hr></div>
<table><caption>T</caption><thead><tr><th scope="col" colspan="2">a</th></tr></thead>
<tbody><tr><td align="right">1</td><td>2</td></tr></tbody></table>
<ol start="3" reversed><li value="3">x</li></ol><dl><dt>a</dt><dd>b</dd></dl>
<svg viewBox="0 0 10 10" role="img"><title>A</title><g fill="none"><path d="M0" stroke="url(#a)"/>\
</g><linearGradient id="a"><stop offset="0" stop-color="red"/></linearGradient></svg>
<math display="block"><mfrac><mi>a</mi><mn>2</mn></mfrac></math>
<video src="images/own.mp4" controls poster="images/favicon.svg"></video>
<img src="data:image/png;base64,AA==" alt=""> <!-- <p>old</p> -->
<a href="https://elsewhere.example/" target="_blank" rel="noopener">away</a>
<a href="mailto:ann@example.org">post</a> <a href="tel:+123">call</a> <time datetime="2026">x</time>
<iframe src="embed/own/fig-1/" title="A"></iframe><iframe src="embed/own.html#fig-1"></iframe>
<label>x <input type="range" min="0" max="1" name="x"></label> <meter value="1" max="2"></meter>
"""
"""What authors write, in Markdown."""


@pytest.mark.parametrize("kind", ATTACKS)
def test_what_pages_may_not_hold_stops_the_build_where_it_was_written(tmp_path, kind):
    head = f'<!doctype html><html><head><meta charset="utf-8">{POLICY}</head><body>'
    page = tmp_path / "site" / "articles" / "one" / "index.html"
    article = tmp_path / "templates" / "articles" / "one.md.j2"
    for path, text in ((page, head), (article, "---\ntitle: One\n---\n\nText.\n\n")):
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}{ATTACKS[kind]}\n", "utf-8")
    before = page.read_bytes()
    with pytest.raises(ReportError, match=rf"^{article}, line 7: .*; take it out: pages load"):
        protect(tmp_path / "site", tmp_path)
    assert page.read_bytes() == before
    assert problems(before.decode())  # of a built site


def test_usual_html_passes():
    assert parsed(HEALTHY).refused == []


PACKED = ("x.html.gz", "x.svg.BR", "x.html.de", "x.mhtml")


@pytest.mark.parametrize(
    "name", ["x.htm", "X.HTML", "a/x.xhtml", "x.Html", "x.mht", "x.svgz", *PACKED]
)
def test_a_page_that_would_have_no_policy_is_named(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("<script>alert(1)</script>")
    with pytest.raises(ReportError, match=rf"^{name}: is a page for browsers, .*; call it by anot"):
        protect(tmp_path)


DRAWN = {
    "script": "<script>alert(1)</script>",
    "script of another file": f'<script href="{THERE}.js"/>',
    "script of HTML": '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>',
    "page": "<foreignObject><p xmlns='http://www.w3.org/1999/xhtml'>x</p></foreignObject>",
    "handler": '<rect onclick="alert(1)"/>',
    "handler in capitals": '<rect onClick="alert(1)"/>',
    "handler of a beginning": '<animate onbegin="alert(1)" attributeName="x" dur="1s"/>',
    "animated link": '<a><set attributeName="href" to="javascript:alert(1)"/></a>',
    "code in a link": '<a href="java&#10;script:alert(1)"><text>x</text></a>',
    "code in an old link": '<a xlink:href="javascript:alert(1)"><text>x</text></a>',
    "code in a link of another prefix": (
        '<a xmlns:y="http://www.w3.org/1999/xlink" y:href="data:text/html,x"><text>x</text></a>'
    ),
    "picture": f'<image href="{THERE}.png"/>',
    "old picture": f'<image xlink:href="{THERE}.png"/>',
    "picture of a filter": f'<filter><feImage href="{THERE}.png"/></filter>',
    "use": f'<use href="{THERE}.svg#a"/>',
    "use of data": '<use href="data:image/svg+xml,x#a"/>',
    "fill": f'<rect fill="url({THERE}.svg#a)"/>',
    "cursor": f'<rect cursor="url({THERE}.png), auto"/>',
    "style": f'<rect style="fill: url({THERE}.svg)"/>',
    "style sheet": f'<style>@import "{THERE}.css";</style>',
    "style sheet in parts": f"<style>p {{ fill: ur<!-- -->l({THERE}) }}</style>",
    "place of what it names": f'<g xml:base="{THERE}"><image href="x.png"/></g>',
    "listener": '<ev:listener xmlns:ev="http://www.w3.org/2001/xml-events" event="load"/>',
    "what is no XML": "<g><rect></g>",
    "instruction": f'<?xml-stylesheet href="{THERE}.css"?>',
}
ROOT_OF_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"\n'
    '     viewBox="0 0 9 9">\n'
)
AROUND = {
    "entities": '<!DOCTYPE svg [<!ENTITY a "b">]>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
    "handler of the whole": '\n<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "style sheet before": f'<?xml-stylesheet href="{THERE}.css"?>\n<svg/>',
    "page of another kind": '<html xmlns="http://www.w3.org/1999/xhtml"><script/></html>',
} | {kind: f"{ROOT_OF_SVG}{text}\n</svg>" for kind, text in DRAWN.items()}

SOUND = """<?xml version="1.0" encoding="utf-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1"
  xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" inkscape:version="1.2" width="9pt"
  xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" xml:space="preserve">
<sodipodi:namedview pagecolor="#fff" inkscape:cx="1"/>
<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:cc="http://creativecommons.org/ns#"><cc:Work rdf:about=""/></rdf:RDF></metadata>
<defs><style type="text/css">*{stroke-linejoin: round; fill: url(#a)}</style>
<linearGradient id="a" xlink:href="#b"><stop offset="0" style="stop-color:#000"/></linearGradient>
<filter id="f"><feGaussianBlur stdDeviation="2" in="SourceGraphic"/></filter></defs>
<!-- by hand --><g id="one" clip-path="url(#c)" filter="url(#f)" transform="translate(1 2)">
<use xlink:href="#m" x="1" style="fill:none"/><text font-family="sans" dy=".3em">A</text></g>
<image href="data:image/png;base64,AA==" width="1"/><image href="own.png"/>
<a href="https://elsewhere.example/" target="_blank"><title>B</title></a></svg>"""


XHTML = "http://www.w3.org/1999/xhtml"
DOCUMENTS = {
    "page": f'\n<html xmlns="{XHTML}"><script>RUNS</script></html>',
    "script in data": f'<a>\n<h:script xmlns:h="{XHTML}">RUNS</h:script></a>',
    "handler in data": f'<a>\n<h:img xmlns:h="{XHTML}" src="x" onerror="RUNS"/></a>',
    "picture in data": (
        '<a>\n<svg xmlns="http://www.w3.org/2000/svg"><script>RUNS</script></svg></a>'
    ),
    "style sheet": '<?xml version="1.0"?>\n<?xml-stylesheet type="text/xsl" href="own.xsl"?><a/>',
    "declaration": f'<!-- a -->\n<!DOCTYPE a [<!ATTLIST a xmlns CDATA "{XHTML}">]><a/>',
    "transformation": '\n<a xmlns:x="http://www.w3.org/1999/XSL/Transform" x:version="1.0"/>',
    "what is no XML": f'\n<a b><s xmlns="{XHTML}">RUNS</s></a>',
}
"""What no file may hold that browsers may take for XML, in its second line."""


@pytest.mark.parametrize(
    ("name", "text", "encoding", "line"),
    [
        *(
            (("own.svg", "a/Own.SVG")[n % 2], text, "utf-8", 3 if kind in DRAWN else 1 + (n == 1))
            for n, (kind, text) in enumerate(AROUND.items())
        ),
        *(
            (("own.xml", "a/own.rdf", "own")[n % 3], text, ("utf-8", "utf-16")[n % 2], 2)
            for n, text in enumerate(DOCUMENTS.values())
        ),
    ],
    ids=[*AROUND, *(f"XML: {kind}" for kind in DOCUMENTS)],
)
def test_what_browsers_would_run_of_other_files_is_named_with_its_line(
    tmp_path, name, text, encoding, line
):
    own = tmp_path / "site_src" / name
    for path in (own, tmp_path / "site" / name):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding)
    with pytest.raises(ReportError, match=rf"^{own}, line {line}: .*; take it out: pages load"):
        protect(tmp_path / "site", tmp_path)


def test_pictures_of_usual_programs_lists_for_machines_and_text_pass(tmp_path):
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><id xml:lang="en">a</id></feed>'
    (tmp_path / "own.svg").write_text(SOUND)
    (tmp_path / "own.atom").write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!-- a -->{atom}')
    (tmp_path / "own.txt").write_text(DOCUMENTS["page"])
    (tmp_path / "own.bin").write_bytes(b"\xef\xbb\xbf \0")
    assert Drawing(tmp_path / "own.svg").refused == []
    protect(tmp_path)
    assert [path.name for path in drawings(tmp_path)] == ["own.atom", "own.svg"]


@pytest.mark.browser
def test_nothing_runs_of_a_file_that_passes_framed_or_opened(browser, tmp_path):
    """And what is refused would run, in the origin of the site."""
    texts = [*DOCUMENTS.values(), AROUND["script"].replace("alert(1)", "RUNS"), SOUND]
    names = ("xml", "rdf", "svg", "xhtml", "txt", "bin")
    would_run = set()
    page = browser.new_page()
    with served(tmp_path) as address:
        for number, (text, name) in enumerate(itertools.product(texts, names)):
            own, around = tmp_path / f"own{number}.{name}", tmp_path / f"around{number}.html"
            own.write_text(text.replace("RUNS", "parent.ran = 1"))
            around.write_text(f'<meta charset="utf-8"><iframe src="{own.name}"></iframe>')
            refused = strays(tmp_path) or any(each.refused for each in drawings(tmp_path).values())
            for path in (own, around):
                try:
                    page.goto(f"{address}{path.name}")
                except Error:  # it is downloaded
                    continue
                if page.evaluate("window.ran"):
                    assert refused, (name, text)
                    would_run.add((name, path == own))
            own.unlink()
            around.unlink()
    page.close()
    assert {("xml", True), ("xml", False), ("svg", False)} <= would_run


@pytest.mark.parametrize("builder", ["mkdocs", "zensical"])
def test_prose_is_looked_at_as_it_is_built(tmp_path, builder):
    """Usual HTML stays as it is, and code that is shown is text."""
    project = unmeasured.write(tmp_path / "project")
    about, site = project / "site_src" / "about.md", project / "built"
    fenced = "\n".join(re.sub(r"\s+", " ", attack) for attack in ATTACKS.values())
    shown = "Such as `<img onerror=alert(1)>`:\n\n    <script>alert(1)</script>\n"
    about.write_text(f"# About\n\n{HEALTHY}\n\n```html\n{fenced}\n```\n\n{shown}", "utf-8")
    build(project / "mkdocs.yml", site, builder=builder)
    html = (site / "about" / "index.html").read_text("utf-8")
    assert problems(html) == []
    assert all(tag in html for tag in ('<abbr title="a ratio">', "<kbd>", "<mfrac>", "<meter"))
    (project / "site_src" / "index.md").write_text("# Home\n\nA.\n\n[x](data:text/html,x)\n")
    with pytest.raises(ReportError, match=r"site_src/index\.md, line 5: href of <a> leads to data"):
        build(project / "mkdocs.yml", site, builder=builder)
    settings = (project / "mkdocs.yml").read_text("utf-8")
    (project / "site_src" / "index.md").write_text("# Home\n")
    (project / "mkdocs.yml").write_text(f"copyright: <a href='blob:x'>y</a>\n{settings}")
    with pytest.raises(ReportError, match=r"mkdocs\.yml, line 1: href of <a> leads to blob:x"):
        build(project / "mkdocs.yml", site, builder=builder)
    assert (site / "about" / "index.html").read_text("utf-8") == html


PARTS = (
    *("<!--", "-->", "--!>", "<!-->", "-- >", "<!", "<![CDATA[", "]]>", "<?", ">", "<", '"', "'"),
    *("=", "/", " ", "\n", "\xa0", "\x0b", "\x1f", "\0", "<p ", "<p title=", "</p ", "</p>", "x"),
    *("<p class=x", 'title="', "class='", '<a href="x"', "</a", "<br/", "<pre>", "<table>", "<td>"),
    *("<title>", "</title>", "<title/>", "<noscript>", "</noscript>", '<p title="</noscript>">'),
    *("<iframe>", "</iframe>", "<style>", "</style>", "<style/>", "</script>", "</script x>"),
    *(
        "<script type=application/json>",
        "<svg>",
        "</svg>",
        "<math>",
        "</math>",
        "<desc>",
        "<mtext>",
    ),
    *("<select>", "</select>", "<template>", "<textarea>", "</textarea>", "<form>", "<mtext>"),
)
HARM = "<img src=x onerror=y>"

SEEN = """pages => pages.map(html => {
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.contentDocument.write(html);
    frame.contentDocument.close();
    const found = frame.contentDocument.querySelector("[onerror]") !== null;
    frame.remove();
    return found;
})"""
"""Whether a browser sees the handler."""


@pytest.mark.browser
def test_nothing_that_a_browser_sees_is_hidden_by_what_stands_around_it(browser):
    chance = random.Random(0)
    bodies = [
        "".join([*chance.choices(PARTS, k=4), HARM, *chance.choices(PARTS, k=4)])
        for _ in range(400)
    ]
    bodies += [text.replace("alert(1)", "y") for text in ATTACKS.values() if "onerror" in text]
    pages = [f"<!doctype html><meta charset=utf-8><body><div>{body}</div>" for body in bodies]
    page = browser.new_page()
    page.goto("about:blank")
    seen = page.evaluate(SEEN, pages)
    page.close()
    refused = [bool(parsed(html).refused) for html in pages]
    assert sum(seen) > 200
    both = zip(bodies, seen, refused, strict=True)
    assert [body for body, is_seen, is_refused in both if is_seen and not is_refused] == []
