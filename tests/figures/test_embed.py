"""The page of a figure alone, in a frame on a site of another origin."""

import re
from html import escape
from types import SimpleNamespace

import pytest

from report.pages.render import write_embed_pages
from report.project import Project
from tests.figures.live_page import GRIDS, OF, ORDER, TOOLTIP, resting, until
from tests.figures.tools import menu, set_to
from tests.serving import served

ALONE = "/articles/hand/", "/embed/hand/"


def test_every_figure_has_a_page_alone_and_departed_ones_have_none(address, data):
    folder = data.path.parents[2] / "embed" / "hand"
    assert {path.stem for path in folder.glob("*.html")} == set(ORDER)
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "left.html").write_text("")
    none = SimpleNamespace(project=Project(folder.parents[2]), placed=[])
    write_embed_pages(SimpleNamespace(name="other"), none, folder.parents[1])
    assert list((folder.parent / "other").iterdir()) == []


def test_a_page_alone_has_one_figure_and_the_way_to_its_article(address, data):
    folder = data.path.parents[2] / "embed" / "hand"
    for number, name in enumerate(ORDER, 1):
        html = (folder / f"{name}.html").read_text("utf-8")
        assert re.findall(r'<figure [^>]*id="([^"]*)"', html) == [f"fig-{number}"]
        assert "data-link " not in html  # there is no other figure to join
        assert f'href="../../articles/hand/#fig-{number}"' in html
        assert escape("Made <by> hand") in html
        assert "<by>" not in html
        assert "Ann &amp; Bo" in html
        assert "<script>" not in html
        assert "default-src 'self'" in html


@pytest.fixture
def elsewhere(tmp_path):
    """A function from the HTML of a page's body to its address on another origin."""
    with served(tmp_path) as root:

        def host(body):
            page = f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{body}'
            (tmp_path / "index.html").write_text(page, "utf-8")
            return root

        yield host


def snippet(page, number):
    """What the menu of a figure gives to be pasted elsewhere."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu(page, number).get_by_role("button", name="Copy snippet").click()
    until(page, f"document.querySelector('#fig-{number} .live-figure__said').textContent")
    return page.evaluate("navigator.clipboard.readText()")


def framed(page, number):
    """The frame of a host page, once its figure is live."""
    page.wait_for_selector("iframe")
    page.frame_locator("iframe").locator(f"#fig-{number}.live-figure--live").wait_for()
    return page.frames[1]


@pytest.mark.browser
def test_a_figure_works_in_a_frame_of_another_origin(page, address, elsewhere):
    page.goto(address)
    set_to(page, 1, layer=2, head=3)
    html = snippet(page, 1)
    assert re.match(
        r'<iframe src="http[^"]*/embed/hand/attention_map\.html#fig-1:layer=2,head=3" ', html
    )
    assert 'title="Figure 1. Attention Map."' in html
    assert re.search(r'allow="[^"]*fullscreen', html)
    root = elsewhere(f"<h1>Elsewhere</h1>{html}")
    assert root.split("/")[2] != address.split("/")[2]
    page.goto(root)
    frame = framed(page, 1)
    assert frame.evaluate("document.querySelector('[name=layer]').value") == "2"
    high, room = frame.evaluate("[document.documentElement.scrollHeight, innerHeight]")
    assert high <= room + 1  # the frame that is proposed has room for all
    page.frame_locator("iframe").locator("[name=layer]").focus()
    page.keyboard.press("ArrowLeft")
    until(frame, "location.hash === '#fig-1:layer=1,head=3'")
    canvas = resting(page.frame_locator("iframe").locator("#fig-1 canvas"))
    page.mouse.move(canvas["x"] + 0.2 * canvas["width"], canvas["y"] + 0.8 * canvas["height"])
    until(frame, "!!document.querySelector('#vg-tooltip-element.visible')")
    assert frame.evaluate(TOOLTIP)["current token"]
    link = page.frame_locator("iframe").locator(".embed__source a")
    link.focus()
    back = address + "#fig-1:layer=1,head=3"
    assert link.evaluate("link => link.href") == back
    assert link.get_attribute("target") == "_blank"


@pytest.mark.browser
@pytest.mark.parametrize(
    "fixture, names",
    [("grids", GRIDS), ("table_address", OF["table"]), ("sweep_address", OF["sweep"])],
)
def test_every_figure_of_several_panels_works_alone(page, request, fixture, names):
    root = request.getfixturevalue(fixture).replace(*ALONE)
    for number, name in enumerate(names, 1):
        page.goto(f"{root}{name}.html")
        page.wait_for_selector(f"#fig-{number}.live-figure--live")
        page.wait_for_selector(f"#fig-{number} .live-figure__toolbar")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
@pytest.mark.parametrize("scheme, slate", [("light", "default"), ("dark", "slate")])
def test_it_follows_the_palette_that_the_reader_prefers(page, address, scheme, slate):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{address.replace(*ALONE)}attending_to_itself.html")
    page.wait_for_selector("#fig-4.live-figure--live")
    assert page.evaluate("document.body.dataset.mdColorScheme") == slate
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    other = {"light": "dark", "dark": "light"}[scheme]
    page.emulate_media(color_scheme=other)
    until(page, f"document.body.dataset.mdColorScheme !== '{slate}'")


@pytest.mark.browser
@pytest.mark.parametrize(
    "name, width, panels",
    [
        ("update_magnitude", 1280, ("",)),
        ("attending_to_itself", 1280, ("-1", "-2")),
        ("attending_to_itself", 600, ("-1",)),  # where there is room for one of its two looks
    ],
)
def test_without_a_script_one_picture_a_panel_shows(browser, address, name, width, panels):
    for scheme in ("light", "dark"):
        context = browser.new_context(
            java_script_enabled=False,
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
        )
        page = context.new_page()
        page.goto(f"{address.replace(*ALONE)}{name}.html")
        shown = [each for each in page.locator("img").all() if each.is_visible()]
        assert len(shown) == len(panels)
        for picture, panel in zip(shown, panels, strict=True):
            source = picture.get_attribute("src")
            assert source.endswith(f"/{name}{panel}-{scheme}.svg#only-{scheme}"), source
        context.close()
