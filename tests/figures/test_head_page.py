"""The page of one head: its numbers, those of another beside it, the ways from head to head."""

import gzip
import json
import re
import shutil
from types import SimpleNamespace

import pytest

from report import files
from report.datasets import store
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.pages import head_page
from report.pages.article import ArticleFigures
from report.pages.lists import HEADS, write_heads
from report.site.check import check_heads
from tests.commands import ROOT
from tests.figures import hand_atlas, live_page
from tests.figures.live_page import until
from tests.serving import served
from tests.site.test_accessible import fits, worst

TITLES = {"hand": "Made <by> hand", "three": "Three & more"}
AT = "embed/hand/head.html"


def study(name):
    front = SimpleNamespace(title=TITLES[name], author="Ann & Bo")
    return SimpleNamespace(name=name, front_matter=front)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of two atlases, its folder and their data: a small one that shows texts, and the
    frozen one of three models that shows none."""
    folder = tmp_path_factory.mktemp("heads")
    small = hand_atlas.study(folder / "datasets" / "hand", without=("to_punctuation",))
    there = folder / "datasets" / "three"
    shutil.copytree(ROOT / "frozen" / "the-same-heads-three-times", there)
    manifests = {at: store.read(at / "manifest.json") for at in there.iterdir()}
    whole = [at for at, manifest in manifests.items() if manifest["kind"] == "atlas"]
    three = open_study(sorted(whole, key=lambda at: manifests[at]["model"]["name"]))
    datas = {"hand": small, "three": three}
    for name, data in datas.items():
        live_page.write(folder, data, ["heads_by_two"], study(name))
        mark = f'<span class="head-name" data-model="{head_page.models(data)[0][1]}">'
        files.write_text(folder / "articles" / name / "index.md", f"{mark}L1H2</span>")
    pages = [SimpleNamespace(name=name, title=title) for name, title in TITLES.items()]
    write_heads(pages, [*datas.values()], folder)
    return folder, small, three


@pytest.fixture(scope="module")
def root(site):
    with served(site[0]) as address:
        yield address


def go(page, root, anchor, at=AT):
    page.goto("about:blank")
    page.goto(f"{root}{at}#{anchor}")
    until(page, "document.querySelector('h1').textContent !== 'One head'")


def texts(page):
    """First cell of each row of the table -> the others, as texts."""
    until(page, "document.querySelectorAll('.head__numbers tbody tr').length > 3")
    rows = page.locator(".head__numbers tbody tr").all()
    cells = [row.locator("th, td").all_text_contents() for row in rows]
    return {first: others for first, *others in cells}


def in_words(data, name, layer, head):
    """Value with standard error, control and rank of a measure, by plain loops over all heads."""
    decimals = int(re.sub(r"\D", "", data.words[name].number))
    scale, unit = (100, "\u00a0%") if "%" in data.words[name].number else (1, "")

    def number(values):
        text = f"{scale * values[layer, head]:.{decimals}f}{unit}"
        return text.replace("-", "\u2212").replace("\u00a0", " ")

    values = data.of_heads(name, name, "corpus")
    higher = [1 for row in values for value in row if value > values[layer, head]]
    error = number(data.of_heads(f"error_{name}", name, "corpus"))
    control = number(data.of_heads(name, name, "control"))
    return [f"{number(values)} ± {error}", control, str(1 + len(higher))]


def measure(table, title):
    (row,) = [cells for name, cells in table.items() if name.startswith(title)]
    return [cell.replace("\u00a0", " ") for cell in row]


@pytest.mark.browser
def test_a_head_has_an_address_with_its_numbers_and_figures(page, root, site):
    _, small, _ = site
    layer, head = hand_atlas.PREVIOUS
    go(page, root, f"head=L{layer}H{head}")
    assert page.locator("h1").text_content() == "L1H2 of hand"
    table = texts(page)
    assert len(table) == len(small.words)
    assert next(iter(table)).startswith("Lost without the head")
    for name in ("lost", "to_previous_token", "induction", "entropy"):
        expected = in_words(small, name, layer, head)
        assert measure(table, small.words[name].title) == expected
    figures = page.locator(".live-figure")
    wanted = ["head_distances", "head_tokens", "head_examples"]
    assert [each.get_attribute("data-figure") for each in figures.all()] == wanted
    for each in figures.all():
        each.scroll_into_view_if_needed()
        each.and_(page.locator(".live-figure--live")).wait_for()
    assert page.locator(".live-figure [name=layer]:visible").count() == 0
    until(
        page,
        """[...document.querySelectorAll('.live-figure__seen')]
        .every(each => each.textContent.includes('L1H2'))""",
    )
    spoken = page.locator(".head__named a")
    assert spoken.text_content() == TITLES["hand"]  # as text, whatever it is
    assert spoken.get_attribute("href") == f"{root}articles/hand/"
    back = page.locator(".head__steps a", has_text="All heads").get_attribute("href")
    assert back.startswith(f"{root}articles/hand/#fig-1:")
    assert back.endswith("pinned_layer=1,pinned_head=2")


@pytest.mark.browser
def test_keys_and_links_lead_from_head_to_head(page, root):
    go(page, root, "head=L1H3")
    texts(page)
    steps = page.locator(".head__steps a").all_text_contents()
    assert steps[:4] == ["← L1H2", "→ L2H0", "↑ L0H3", "↓ L2H3"]
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('h1').textContent === 'L2H0 of hand'")
    page.keyboard.press("ArrowUp")  # scrolls
    page.keyboard.press("ArrowLeft")
    until(page, "document.querySelector('h1').textContent === 'L1H3 of hand'")
    page.locator(".head__steps a").first.focus()
    page.keyboard.press("ArrowUp")
    until(page, "document.querySelector('h1').textContent === 'L0H3 of hand'")
    until(page, "document.activeElement.closest('.head__steps') !== null")
    page.keyboard.press("ArrowUp")  # there is no layer above
    until(page, "location.hash.includes('head=L0H3')")
    page.locator(".head__choose [name=head]").fill("2.1")
    page.locator(".head__choose [name=head]").press("ArrowLeft")
    page.locator(".head__choose [name=head]").press("Enter")
    until(page, "document.querySelector('h1').textContent === 'L2H1 of hand'")
    assert measure(texts(page), "Induction")[0].startswith("80")
    page.locator(".live-figure").first.scroll_into_view_if_needed()
    page.locator("#fig-1.live-figure--live").wait_for()
    page.go_back()
    until(page, "document.querySelector('h1').textContent === 'L0H3 of hand'")
    until(page, "document.querySelector('#fig-1 .live-figure__seen').textContent.includes('L0H3')")
    assert page.evaluate("document.title").startswith("L0H3 of hand – Made <by> hand")


@pytest.mark.browser
def test_two_heads_stand_side_by_side_also_of_another_atlas(page, root, site):
    _, small, three = site
    go(page, root, "head=L1H2&beside=L2H1")
    table = texts(page)
    expected = [*in_words(small, "lost", 1, 2), *in_words(small, "lost", 2, 1)]
    assert measure(table, "Lost") == expected
    rows = page.locator(".head__row").all()
    assert [row.locator(".live-figure").count() for row in rows] == [2, 2, 2]
    last = page.locator(".live-figure").last
    last.scroll_into_view_if_needed()
    last.and_(page.locator(".live-figure--live")).wait_for()
    assert last.locator(".live-figure__number").text_content() == "L2H1."
    until(
        page,
        "[...document.querySelectorAll('.live-figure__seen')].at(-1).textContent.includes('L2H1')",
    )
    model = page.locator(".head__choose [name=model]")
    choices = model.locator("option").all_text_contents()
    assert choices[1:] == [f"{label}, in “{TITLES['three']}”" for label in three.labels]
    model.select_option(choices[2])
    page.locator(".head__choose [name=head]").fill("L0H1")
    page.get_by_role("button", name="Show beside").click()
    page.locator(
        "h1", has_text="L1H2 of hand, beside L0H1 of gemma3-6x8"
    ).wait_for()  # the page is loaded again
    expected = [*in_words(small, "lost", 1, 2), *in_words(three.models[1], "lost", 0, 1)]
    assert measure(texts(page), "Lost") == expected
    assert measure(texts(page), "Attending to punctuation")[0] == "not measured"
    other = page.locator("#fig-1-beside")
    other.scroll_into_view_if_needed()
    other.and_(page.locator(".live-figure--live")).wait_for()
    until(
        page,
        "document.querySelector('#fig-1-beside .live-figure__seen').textContent.includes('L0H1')",
    )
    assert page.locator(".head__lacks").count() == 2  # of the figures of texts
    page.get_by_role("link", name="Change sides").click()
    page.wait_for_url("**/embed/three/head.html#head=L0H1&model=gemma3-6x8&beside=L1H2*")
    page.locator(
        "h1", has_text="L0H1 of gemma3-6x8, beside L1H2 of hand"
    ).wait_for()  # the page is loaded again


def held(page, pattern):
    """Has the answers to matching requests wait; returns a function that lets all go on, and says
    how many those were."""
    waiting = []

    def go_on():
        for route in waiting:
            route.continue_()
        page.unroute(pattern)
        return len(waiting)

    page.route(pattern, lambda route: waiting.append(route))
    return go_on


@pytest.mark.browser
def test_numbers_are_of_the_head_that_was_asked_for_last_whichever_come_first(page, root, site):
    _, small, three = site
    go_on = held(page, "**/datasets/three/*.json")
    other = f"beside=L3H0&beside-atlas=three&beside-model={three.names[0]}"
    go(page, root, f"head=L1H2&{other}")
    until(page, "document.querySelector('.head__row')")
    page.evaluate("location.hash = 'head=L2H1'")
    assert measure(texts(page), "Lost") == in_words(small, "lost", 2, 1)
    assert go_on() > 0
    figure = page.locator(".live-figure").last
    figure.scroll_into_view_if_needed()
    figure.and_(page.locator(".live-figure--live")).wait_for()
    assert measure(texts(page), "Lost") == in_words(small, "lost", 2, 1)
    assert page.locator(".head__row > div").count() == page.locator(".head__row").count()
    page.evaluate("location.hash = 'head=L1H2'")
    page.locator("h1", has_text="L1H2 of hand").wait_for()
    assert measure(texts(page), "Lost") == in_words(small, "lost", 1, 2)


@pytest.mark.browser
@pytest.mark.parametrize(
    "kept", [{}, {"atlases": [{"article": "three", "model": "x", "label": "X"}]}]
)
def test_what_the_site_says_of_heads_may_be_of_an_earlier_build(page, root, site, kept):
    page.route("**/models/heads.json", lambda route: route.fulfill(json=kept))
    go(page, root, "head=L1H2")
    assert measure(texts(page), "Lost") == in_words(site[1], "lost", 1, 2)
    page.locator(".head__choose").wait_for(state="visible")
    assert page.locator(".head__says").text_content() == ""
    offered = page.locator(".head__choose [name=model] option").all_text_contents()
    assert offered[1:] == ["X, in “three”"] * len(kept)


@pytest.mark.browser
def test_what_is_not_drawn_yet_says_nothing_and_is_printed_the_second_time(page, root):
    go_on = held(page, "**/figures/hand/*.vega.json")
    go(page, root, "head=L1H2")
    texts(page)
    last = page.locator(".live-figure").last
    words = last.locator("figcaption")
    assert not last.locator(".live-figure__seen").is_visible()  # it is of another head

    def printed():
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        said = words.evaluate("each => getComputedStyle(each, '::after').content")
        chart = last.locator(".live-figure__box").first.is_visible()
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        return said, chart

    until(page, "document.querySelector('.live-figure').dataset.page")  # the scripts are at work
    said, chart = printed()
    assert "print once more" in said and not chart
    go_on()
    last.and_(page.locator(".live-figure--live")).wait_for()
    assert printed() == ("none", True)
    until(
        page,
        "[...document.querySelectorAll('.live-figure__seen')].at(-1).textContent.includes('L1H2')",
    )


@pytest.mark.browser
def test_on_a_phone_numbers_of_two_heads_stand_below_each_other(phone, root, site):
    _, _, three = site
    go(phone, root, "head=L3H0&beside=L5H5", "embed/three/head.html")
    until(phone, "document.querySelectorAll('.head__numbers tbody tr').length > 3")
    rows = phone.locator(".head__numbers tbody tr").all()
    first, second = (row.locator("td").all_text_contents() for row in rows[:2])
    assert first[0] == "L3H0"
    assert first[1:] == in_words(three.models[0], "lost", 3, 0)
    assert second[0] == "L5H5"
    assert second[1:] == in_words(three.models[0], "lost", 5, 5)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = [each.bounding_box() for each in phone.locator(".head__row > div").all()[:2]]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


HOSTILE = {
    "": "Which head?",
    "head=<img src=x onerror=alert(1)>": "Which head?",
    "head=L1H2&model=<b>": "This atlas has hand, and no other model.",
    "head=L3H0": "hand has layers 0 to 2, with heads 0 to 3.",
    "head=L1H2&beside=L0H0&beside-atlas=../../evil": "This site has no such atlas.",
    "head=L1H2&beside=L0H0&beside-atlas=three&beside-model=__proto__": "no other model.",
    "fig-1:layer=1": "Which head?",
}


@pytest.mark.browser
@pytest.mark.promise("foreign-scripts")
def test_an_address_that_names_no_head_gets_one_sentence(page, root):
    for anchor, sentence in HOSTILE.items():
        go(page, root, anchor)
        assert page.locator("h1").text_content() == "No head of this name"
        assert sentence in page.locator(".head__says").text_content()
        assert page.locator(".head__says p").count() == 1
        assert page.locator("main img:not(.live-figure *), main b").count() == 0
        assert not page.locator(".head__figures").is_visible()
    page.locator(".head__choose [name=head]").fill("L9H9")
    page.get_by_role("button", name="Show", exact=True).click()
    until(page, "document.querySelector('.head__choose output').textContent.includes('layers 0')")
    page.locator(".head__choose [name=head]").fill("L0H2")
    page.locator(".head__choose [name=head]").press("Enter")
    until(page, "document.querySelector('h1').textContent === 'L0H2 of hand'")


@pytest.mark.browser
def test_the_field_that_finds_heads_leads_to_their_pages(page, root):
    page.goto(f"{root}articles/three/#fig-1:up=lost,found=L3H0%2C%20L5H5")
    page.wait_for_selector(".live-figure__way >> nth=1")
    ways = page.locator(".live-figure__way")
    (first, _) = [each.get_attribute("href") for each in ways.all()]
    assert first == f"{root}embed/three/head.html#head=L3H0&model=falcon-8x8"
    page.get_by_role("link", name="Side by side").click()
    until(
        page,
        "document.querySelector('h1').textContent === 'L3H0 and L5H5 of falcon-8x8'",
    )


@pytest.mark.browser
def test_it_can_be_embedded_elsewhere(page, root, tmp_path):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    go(page, root, "head=L1H2")
    texts(page)
    page.get_by_role("button", name="Copy snippet to embed").click()
    until(page, "document.querySelector('.head__share span').textContent === 'Copied'")
    frame = page.evaluate("navigator.clipboard.readText()")
    files.write_text(tmp_path / "index.html", f"<!doctype html><link rel=icon href=data:,>{frame}")
    with served(tmp_path) as elsewhere:
        page.goto(elsewhere)
        inside = page.frame_locator("iframe")
        inside.locator("h1", has_text="L1H2 of hand").wait_for()
        inside.locator(".head__numbers td").first.wait_for()
        assert inside.locator(".head__back").get_attribute("target") == "_blank"


def test_no_figure_of_an_atlas_takes_the_address_of_its_heads(site):
    _, small, three = site
    article = ArticleFigures("hand", live_page.PROJECT, small)
    with pytest.raises(ReportError, match="'head' is the address of the page of one head"):
        article.figure("heads_by_two", key="head")
    assert head_page.models(small) == [("hand", small.path.name, "hand")]
    assert [name for name, *_ in head_page.models(three)] == three.names


def test_a_check_finds_what_leads_to_no_head(site, tmp_path):
    folder, *_ = site
    there = {folder / "embed" / name / "head.html": {"head"} for name in TITLES}
    assert check_heads(folder, there) == []
    assert check_heads(tmp_path, {}) == []
    content = json.loads((folder / HEADS).read_text("utf-8"))
    content["titles"]["gone"] = "Gone"
    content["atlases"][0]["at"] = "embed/hand/heads_by_two.html#head=L{layer}H{head}"
    copy = shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("datasets"))
    files.write_text(copy / HEADS, json.dumps(content))
    problems = check_heads(copy, {copy / "embed" / "three" / "head.html": {"head"}})
    assert problems == [
        f"{HEADS}: embed/hand/heads_by_two.html is not the page of a head",
        f"{HEADS}: articles/gone/ leads nowhere",
    ]
    files.write_text(copy / HEADS, "[]")
    assert "cannot be read" in check_heads(copy, {})[0]


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "name"), [("light", "page"), ("dark", "phone")])
def test_axe_finds_nothing_in_one_head_or_two(request, root, scheme, name):
    tab = request.getfixturevalue(name)
    tab.emulate_media(color_scheme=scheme)
    go(tab, root, "head=L1H2&beside=L2H1")
    texts(tab)
    tab.locator(".head__measures summary").click()
    tab.locator(".live-figure").first.scroll_into_view_if_needed()
    tab.locator(".live-figure--live").first.wait_for()
    assert worst(tab) == []
    fits(tab, tab.viewport_size["width"])
    tab.emulate_media(color_scheme="light")


@pytest.mark.browser
@pytest.mark.first_visit
def test_a_page_and_the_next_head_are_light(page, root, site):
    """As static hosts compress them; the charts come with what a reader scrolls to."""
    fetched = []
    page.context.on("request", lambda request: fetched.append(request.url))
    go(page, root, "head=L1H2")
    texts(page)
    page.wait_for_load_state("networkidle")
    paths = [site[0] / url.removeprefix(root).partition("#")[0] for url in set(fetched)]
    weights = {path: len(gzip.compress(path.read_bytes(), 6)) for path in paths if path.is_file()}
    assert site[0] / AT in weights
    assert sum(weights.values()) <= 120_000, weights
    for each in page.locator(".live-figure").all():
        each.scroll_into_view_if_needed()
        each.and_(page.locator(".live-figure--live")).wait_for()
    fetched.clear()
    page.locator(".head__steps a").first.click()
    until(
        page,
        """[...document.querySelectorAll('.live-figure__seen')]
        .every(each => each.textContent.includes('L1H1'))""",
    )
    paths = [site[0] / url.removeprefix(root).partition("#")[0] for url in set(fetched)]
    assert paths
    assert sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths) <= 40_000, paths
