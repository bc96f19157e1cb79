"""The policy of pages: whose scripts get a hash, where it is written, what is refused."""

import base64
import hashlib

import pytest

from report.errors import ReportError
from report.pages.policy import NAME, policy, script_hash
from report.site.protect import problems, protect

HEAD = '<!doctype html>\n<html><head>\n<meta charset="utf-8">\n<title>x</title>'
THEME = '<script>scope=new URL("{}",location),get=e=>e</script><script>palette()</script>'
DATA = '<script type="application/json">{"base": ".."}</script>'
FILES = '<script src="a.js"></script><script type="module" src="b.js"></script>'

AHEAD = '\n<link rel="preload" as="script" href="a.js">\n<link rel="modulepreload" href="b.js">'
"""A browser that has read the policy looks for no scripts ahead of where it is."""


def page(root, body=""):
    return f"{HEAD}{THEME.format(root)}</head><body>{DATA}{FILES}{body}"


PAGES = {
    "404.html": page("/repo/"),
    "index.html": page("."),
    "articles/a/index.html": page("../.."),
    "articles/b/index.html": page("../..", "<p>a &lt;script&gt; as text"),
    "embed/a/b.html": f'{HEAD}<meta http-equiv="{NAME}" content="{policy()}"></head>',
}


@pytest.fixture
def site(tmp_path):
    for name, html in PAGES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, "utf-8")
    return tmp_path


def of(html):
    """The policy of a page, taken from its text."""
    return html.split(f'<meta http-equiv="{NAME}" content="')[1].split('">')[0]


@pytest.mark.promise("policy")
def test_every_page_gets_one_and_the_same_with_the_hashes_of_the_themes_scripts(site):
    protect(site)
    written = {name: (site / name).read_text("utf-8") for name in PAGES}
    scripts = [f'scope=new URL("{root}",location),get=e=>e' for root in ("/repo/", ".", "../..")]
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in [*scripts, "palette()"]
    }
    assert len(hashes) == 4
    for name, html in written.items():
        assert problems(html) == []
        assert html.count(NAME) == 1
        if name.startswith("embed/"):
            assert html == PAGES[name]
            continue
        assert of(html) == policy(hashes)
        added = f'\n<meta http-equiv="{NAME}" content="{of(html)}">{AHEAD}'
        assert html.replace(added, "") == PAGES[name]
        assert html.index(NAME) < html.index("<title>")


@pytest.mark.promise("policy")
def test_it_says_no_more_than_that():
    directives = dict(each.split(" ", 1) for each in policy(["'sha256-x'"]).split("; "))
    assert directives == {
        "default-src": "'self'",
        "script-src": "'self' 'sha256-x'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }


def test_a_script_is_hashed_as_a_browser_reads_it():
    # the hash of the specification's own example: an empty text
    assert script_hash("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    assert script_hash("a\r\nb") == script_hash("a\nb")


@pytest.mark.promise("foreign-scripts")
@pytest.mark.parametrize(
    "script",
    [
        "<script>alert(1)</script>",
        "<script type=module>alert(1)</script>",
        "<SCRIPT>alert(1)</SCRIPT >",
        '<script>scope=new URL("x",alert(1)),get=e=>e</script>',
        '<script>scope=new URL(""+alert(1)+"",location),get=e=>e</script>',
    ],
)
def test_a_script_that_is_not_the_themes_stops_the_build(site, script):
    (site / "articles/a/index.html").write_text(page("../..", script), "utf-8")
    with pytest.raises(ReportError, match=r"^articles/a/index\.html: has a script in it that is"):
        protect(site)
    assert (site / "index.html").read_text("utf-8") == PAGES["index.html"]


def test_a_page_that_brings_a_policy_of_its_own_is_not_spared(site):
    loose = f'<meta http-equiv="{NAME}" content="default-src *">'
    html = page("../..", f"{loose}<script>alert(1)</script>")
    (site / "articles/a/index.html").write_text(html, "utf-8")
    with pytest.raises(ReportError, match="that is not the theme's"):
        protect(site)


def test_a_page_whose_head_begins_otherwise_is_named(site):
    (site / "own.html").write_text("<!doctype html><title>x</title>", "utf-8")
    with pytest.raises(ReportError, match=r"^own\.html: its head does not begin with <meta chars"):
        protect(site)


def test_a_page_that_is_not_utf8_is_named(site):
    (site / "own.html").write_bytes(page(".", "café").encode("latin-1"))
    with pytest.raises(ReportError, match=r"^own\.html: is not UTF-8 text \(.*\d\); save"):
        protect(site)


def test_line_ends_of_a_page_stay_as_they_are(site):
    html = page(".").replace("\n", "\r\n")
    (site / "index.html").write_bytes(html.encode())
    protect(site)
    written = (site / "index.html").read_bytes().decode()
    added = f'\n<meta http-equiv="{NAME}" content="{of(written)}">{AHEAD}'
    assert written.replace(added, "") == html
