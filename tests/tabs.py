"""Tabs that many tests open their pages in, one after the other.

A tab that has read the scripts of a page opens it in half the time. Nothing that a test did is left
in it. What a test is about may be the first visit; then it has a browser window of its own, by the
mark `first_visit`. So do tests that count the steps of the history, of which a tab keeps 50, and
tests that add a script, which a tab cannot lose.
"""

from contextlib import contextmanager

from tests import violations

DESK = {"viewport": {"width": 1280, "height": 1000}}


def opened(browser, **options):
    """A tab in a browser window of its own, which keeps what its pages complain of.

    options: of Playwright's `new_context`, the viewport among them
    """
    context = browser.new_context(**options)
    tab = context.new_page()
    tab.viewport = options.get("viewport")
    tab.media = {"color_scheme": options.get("color_scheme", "light")}
    tab.media |= {"reduced_motion": options.get("reduced_motion", "no-preference")}
    tab.problems = []
    tab.asked = []  # addresses
    violations.watch(context, tab.problems)
    context.on("request", lambda request: tab.asked.append(request.url))
    tab.on("console", lambda said: said.type in ("error", "warning") and _say(tab, said.text))
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on("dialog", lambda dialog: (tab.problems.append(dialog.message), dialog.dismiss()))
    tab.on("websocket", lambda socket: tab.asked.append(socket.url))
    return tab


def _say(tab, text):
    if not text.startswith(violations.SAID):  # which is told already
        tab.problems.append(text)


def left(tab):
    """Make a tab as it was before a test. Returns what its page complained of, and the addresses
    that it asked for."""
    tab.unroute_all()
    tab.evaluate("location.protocol === 'http:' && (localStorage.clear(), sessionStorage.clear())")
    tab.goto("about:blank")  # what a page complains of while it is left is its own still
    for other in tab.context.pages:
        if other != tab:
            other.close()
    tab.context.clear_cookies()
    tab.context.clear_permissions()
    tab.context.set_offline(False)
    tab.set_viewport_size(tab.viewport)
    tab.emulate_media(media="null", **tab.media)
    tab.mouse.move(0, 0)
    for key in ("Alt", "Control", "Shift"):  # a test that failed may have held one
        tab.keyboard.up(key)
    said = tab.problems[:], tab.asked[:]
    tab.problems.clear()
    tab.asked.clear()
    return said


@contextmanager
def visits(browser, root, shared, alone=False):
    """A function that opens an address of a site: of its path and of options of `opened`.

    Whatever is done in these tabs, no console may complain, no dialog open, nothing may be tried
    that the page's policy forbids, and no other host may be asked for anything.

    root: address of the site
    shared: tabs by their options, which other tests have left, and which get more
    alone: whether every visit is in a browser window of its own
    """
    used = []

    def visit(path="", **options):
        options = DESK | options
        key = repr(sorted(options.items()))
        tab = None if alone else shared.get(key)
        if tab is None or tab in used:
            tab = opened(browser, **options)
            if not alone:
                shared.setdefault(key, tab)
        used.append(tab)
        tab.goto(root + path)
        return tab

    yield visit
    problems, asked = [], []
    for tab in used:
        said, addresses = left(tab)
        problems += said
        asked += addresses
        if tab not in shared.values():
            tab.context.close()
    assert problems == [], problems
    assert [url for url in asked if not url.startswith((root, "data:", "blob:"))] == []
