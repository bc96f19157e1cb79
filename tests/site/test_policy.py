"""The policy of the built site, in browsers: all that readers do works, nothing else runs.

A page that goes against it fails any test that opens it by `visit`, and tests/site/test_look.py
opens all of them.
"""

import os
import re
import shutil
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import TimeoutError as NotYet

from report.site.protect import problems
from tests import violations
from tests.figures.live_page import go_live, until
from tests.serving import served
from tests.site.conftest import ARTICLE
from tests.site.reader import travel

pytestmark = pytest.mark.browser

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')

RAN = "document.documentElement.dataset"


@pytest.mark.promise("policy")
def test_every_page_has_it_and_those_of_the_theme_have_the_same(built):
    found = {}
    for path in built.folder.rglob("*.html"):
        html = path.read_text("utf-8")
        assert problems(html) == [], path
        (found[path.relative_to(built.folder).as_posix()],) = POLICY.findall(html)
    alone = {policy for name, policy in found.items() if name.startswith("embed/")}
    whole = {policy for name, policy in found.items() if not name.startswith("embed/")}
    assert len(alone) == len(whole) == 1
    assert "sha256" not in alone.pop()
    assert {"index.html", "404.html", f"{ARTICLE}index.html"} <= found.keys()


@pytest.mark.promise("under-the-policy", "no-other-host")
def test_everything_that_readers_do_works_under_it(visit):
    page = visit("")

    def search(word):
        box = page.locator("[data-md-component=search-query]")
        for _ in range(5):  # the theme closes a search that is opened while a page arrives
            box.fill("")
            box.click()
            box.press_sequentially(word)  # it listens to keys
            with suppress(NotYet):
                page.wait_for_selector(".md-search-result__link", timeout=12_000)
                return
            page.keyboard.press("Escape")
        pytest.fail("nothing is found")

    travel(page, search)


INJECTED = {
    "script": "<script>{ran}</script>",
    "module": "<script type=module>{ran}</script>",
    "handler": '<img src="nowhere.png" alt="" onerror="{ran}">',
    "link": '<a class="pressed" href="javascript:void ({ran})">x</a>',
    "frame": '<iframe srcdoc="<script>parent.{ran}</script>"></iframe>',
    "text": '<script src="data:text/javascript,{ran}"></script>',
    "file": '<script src="{elsewhere}"></script>',
    "picture": '<img alt="" src="{elsewhere}">',
    "style": '<link rel="stylesheet" href="{elsewhere}">',
    "page": '<iframe src="{elsewhere}"></iframe>',
    "object": '<object data="{elsewhere}"></object>',
    "base": '<base href="{elsewhere}">',
    "form": '<form action="{elsewhere}" target="_blank"><button class="pressed">x</button></form>',
}
"""What would do harm: it leaves a mark on the page, or asks another host; `base` after what it
would change."""


def harm(address, *kinds):
    """HTML of several kinds of `INJECTED`; address: of the other host."""
    return "".join(
        INJECTED[kind]
        .replace("{ran}", f"{RAN}.{kind}=1")
        .replace("{elsewhere}", f"{address}{kind}")
        for kind in kinds or INJECTED
    )


@pytest.fixture
def elsewhere():
    """Address of another host, and the list of what it was asked for."""
    asked = []

    class Noting(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path.strip("/?"))
            self.send_error(404)

        do_POST = do_GET  # noqa: N815 (the name that the server calls)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Noting) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}/", asked
        serving.shutdown()


@pytest.fixture
def written(built, tmp_path):
    """A function that puts HTML in front of the article's text, in a site that is otherwise the
    built one; it returns the address of the article."""
    site = tmp_path / "site"
    left_out = shutil.ignore_patterns("articles")
    shutil.copytree(built.folder, site, ignore=left_out, copy_function=os.link)

    def write(html):
        article = (built.folder / ARTICLE / "index.html").read_text("utf-8")
        assert article.count("<article ") == 1
        (site / ARTICLE).mkdir(parents=True)
        changed = article.replace("<article ", f"{html}<article ", 1)
        (site / ARTICLE / "index.html").write_text(changed, "utf-8")
        return address + ARTICLE

    with served(site) as address:
        yield write


@pytest.fixture
def changed(browser, written):
    """A function that opens such an article; it returns the page and the violations."""
    contexts = []

    def open_changed(html, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        found = []
        violations.watch(context, found)
        page = context.new_page()
        page.goto(written(html))
        return page, found

    yield open_changed
    for context in contexts:
        context.close()


def marks(page):
    """The kinds of code that ran."""
    found = set(page.evaluate(f"({{...{RAN}}})")) & INJECTED.keys()
    moved = page.evaluate("document.baseURI.split('#')[0] !== location.href.split('#')[0]")
    return found | ({"base"} if moved else set())


def press(page):
    page.evaluate("document.querySelectorAll('.pressed').forEach(each => each.click())")


def test_without_a_policy_what_is_injected_would_do_harm(changed, elsewhere):
    """So that the next test is none of something that does nothing anyway."""
    address, asked = elsewhere
    page, _ = changed(harm(address), bypass_csp=True)
    press(page)
    for _ in range(2400):
        if marks(page) | set(asked) >= INJECTED.keys():
            break
        page.wait_for_timeout(25)
    assert INJECTED.keys() - marks(page) - set(asked) == set()


@pytest.mark.promise("injected-code")
def test_what_is_injected_into_a_page_does_nothing(changed, elsewhere):
    address, asked = elsewhere
    page, found = changed(harm(address))
    go_live(page, 1)  # the page itself works all the same
    press(page)
    for _ in range(2400):
        if len(found) >= len(INJECTED):
            break
        page.wait_for_timeout(25)
    assert marks(page) == set()
    assert asked == []
    against = [each.removeprefix(violations.SAID).split()[0] for each in found]
    assert Counter(against) == {
        "script-src-elem": 6,  # script, module, link, frame, text, file
        "script-src-attr": 1,
        "img-src": 1,
        "style-src-elem": 1,
        "frame-src": 1,
        "object-src": 1,
        "base-uri": 1,
        "form-action": 1,
    }


EVALUATED = (
    "eval('1')",
    "new Function('return 1')()",
    "(function* () {}).constructor('yield 1')().next()",
    "setTimeout('document.documentElement.dataset.ran = 1')",
)


@pytest.mark.promise("policy")
def test_text_is_never_evaluated(changed):
    """Not even by a script of the site itself."""
    page, found = changed("")
    for number, code in enumerate(EVALUATED):
        script = f"""try {{ {code}; document.title = 'done {number}'; }}
            catch (error) {{ document.title = error.name + ' {number}'; }}"""
        page.route("**/try.js", lambda route, _, script=script: route.fulfill(body=script))
        page.evaluate(
            "() => { document.body.append(Object.assign(document.createElement('script'),"
            " { src: '../../try.js' })); }"
        )
        until(page, f"document.title.endsWith(' {number}')")
        refused = page.title() == f"EvalError {number}"
        assert refused == ("setTimeout" not in code)  # which does nothing, and says nothing
        page.unroute("**/try.js")
    until(page, "document.readyState === 'complete'")
    assert [each.removeprefix(violations.SAID).split()[1] for each in found] == ["eval"] * 4
    assert page.evaluate(f"{RAN}.ran") is None


@pytest.mark.promise("injected-code")
def test_firefox_keeps_to_it_too(written, elsewhere, firefox):
    kinds = ("script", "module", "handler", "file", "picture", "style", "page")
    firefox.open(written(harm(elsewhere[0], *kinds)))
    firefox.evaluate("void document.querySelector('#fig-1').scrollIntoView()")
    firefox.until("document.querySelector('#fig-1').classList.contains('live-figure--live')")
    assert firefox.evaluate(f"({{...{RAN}}})").keys() & INJECTED.keys() == set()
    assert elsewhere[1] == []
