"""Where addresses lead inside a site, and which addresses style sheets and scripts hold."""

import re
import signal
from collections import deque

import pytest

from report.pages import assets, bibliography, render
from report.site import check, links, protect
from report.site.links import in_script, in_styles, is_foreign, leads_to


@pytest.fixture
def site(tmp_path):
    for name in ("index.html", "a/index.html", "a/100%.svg", "outside.html"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).touch()
    (tmp_path / "site" / "outside.html").rename(tmp_path / "outside.html")
    return tmp_path / "site"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("", "a/index.html"),
        ("#top", "a/index.html"),
        ("?q=x", "a/index.html"),
        ("..", "index.html"),
        ("../a", "a/index.html"),
        ("100%25.svg#only-light", "a/100%.svg"),
        ("/repo/a/", "a/index.html"),
        ("/a/", None),
        ("none", None),
        ("../../outside.html", None),
        ("..%2f..%2foutside.html", None),
        ("a%00", None),
        ("x" * 5000, None),
        ("//[", None),
    ],
)
def test_addresses_lead_to_files_of_the_site_or_nowhere(site, address, expected):
    found = leads_to(address, site / "a" / "index.html", site, "/repo/")
    assert found == (site / expected if expected else None)


def test_addresses_in_style_sheets():
    text = """/* url(old.png) */ @import "more.css"; a { background: url( 'a b.svg' ) }
    b { mask: URL(c.svg); filter: url(#blur) }
    c { src: url("data:image/svg+xml,<svg a='url(d.svg)'/>") }"""
    assert in_styles(text) == ["more.css", "a b.svg", "c.svg"]


def test_addresses_in_scripts():
    text = """import "./a.js";
import { b } from '../b.js';export * from "./c.js";
// import "./old.js"
  /* import "./older.js" */
import { d } from "bare"; const from = "x/y";
const later = () => import("./e.js"), styles = new URL("f.css", import.meta.url);
const root = new URL("..", import.meta.url), own = new URL("g.css", root);"""
    assert in_script(text) == ["./a.js", "../b.js", "./c.js", "./e.js", "f.css"]


@pytest.mark.parametrize("address", ["https://a.org/x", "//a.org/x", "HTTP://a.org", "ws://a.org"])
def test_addresses_on_other_hosts(address):
    assert is_foreign(address)
    assert not is_foreign(f"x/{address}")


PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": pattern
    for module in (assets, bibliography, check, links, protect, render)
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str)
}
OWN = {"assets.COMMA"}
"""Only read the theme's own style sheets, of a version that is locked."""

AT_ONE_PLACE = {"check.DOMAIN", "bibliography.ARXIV", "bibliography.JOINED"}
"""Never searched for: they match at one place, or a whole text."""

REPEATED = [
    *("a", "ab.", "<", "/*", "/* ", "*/", "//", "'", '"', "(", "[", "{", "\\", "\n", " \n", "\t"),
    *("url(", "url('", "url( ", "import ", "import(", "import '", '<link href="', "@import "),
    *("[^a]: x\n", ":not(", "--a:", "1.", "<head", "Sitemap: ", "a-", "new URL(", "arXiv: "),
]


@pytest.mark.promise("bounded-reading")
@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - OWN))
def test_no_text_takes_quadratic_time(name):
    """A linear pattern takes milliseconds for each text, a quadratic one minutes."""

    def stop(*_):
        raise TimeoutError

    ended = []
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        for repeated in REPEATED:
            text = repeated * (200_000 // len(repeated))
            if name in AT_ONE_PLACE:
                PATTERNS[name].match(text)
            else:
                deque(PATTERNS[name].finditer(text), maxlen=0)
            ended.append(repeated)
    except TimeoutError:
        pass  # the text that is missing below is the one
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert ended == REPEATED
