"""A passage of 2,048 tokens in a browser: looking closer at its map, finding one's way in its text.

The page is opened once for nearly all of it, so each test leaves the whole map shown.
"""

import base64
import math
import re

import numpy as np
import pytest

from report.datasets import store
from report.figures.build.find import figure_named
from tests.figures import hand_long, live_page
from tests.figures.conftest import DESK, PHONE, quiet_page
from tests.figures.hand_long import LENGTH, RARE
from tests.figures.live_page import TOOLTIP, called, given, go_live, resting, until
from tests.figures.tools import menu
from tests.serving import served

pytestmark = pytest.mark.browser

CHART = "[...(await import('/assets/figure/figure.js')).figures.values()][0].charts[0]"
PACKED = """shades => { let text = '';
    for (const shade of shades) text += String.fromCharCode(shade);
    return btoa(text); }"""
"""The shades of a picture as one text: as a list of numbers, they would take seconds to a test."""
PICTURE = f"""async () => {{
    const found = ({CHART}).map.beside?.places.map.found;
    const {{ down, across, shades }} = found?.picture ?? {{}};
    return found?.done ? [down, across, ({PACKED})(shades)] : null;
}}"""
SHOWN = f"async () => ({CHART}).map.part(({CHART}).shown.map)"
WHOLE = {"top": 0, "left": 0, "rows": LENGTH, "columns": LENGTH}
NOTE = "document.querySelector('.live-figure__note')?.textContent"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    data = hand_long.study(folder / "datasets" / "hand" / "0123456789ab")
    live_page.write(folder, data, ["attention_map"])
    with served(folder) as root:
        yield f"{root}articles/hand/"


@pytest.fixture(scope="module")
def opened(browser, site):
    with quiet_page(browser, **DESK) as page:
        page.goto(site)
        ready(page)
        yield page


@pytest.fixture(scope="module")
def rotary(tmp_path_factory):
    """Two rotary heads, and the probabilities of their files."""
    folder = tmp_path_factory.mktemp("rotary")
    return hand_long.rotary_study(folder / "datasets" / "hand" / "0123456789ab")


@pytest.fixture
def page(opened):
    yield opened
    opened.keyboard.press("Escape")
    press(opened, "0")
    opened.mouse.move(0, 0)
    assert opened.evaluate(SHOWN) == WHOLE


def ready(page):
    """Wait until the map is live, and all of it is worked out."""
    go_live(page, 1)
    page.wait_for_selector("#fig-1 .live-figure__toolbar")
    page.evaluate("document.querySelector('#fig-1 canvas').scrollIntoView({block: 'center'})")
    page.evaluate(f"async () => {{ await ({CHART}).map.zooming(); }}")  # a pointer would bring it
    return finished(page)


def finished(page):
    """The picture of the workers, uint8 [down, across], once it has all."""
    for _ in range(2400):
        if found := page.evaluate(PICTURE):
            return unpacked(*found)
        page.wait_for_timeout(25)
    return pytest.fail("the picture is never finished")


def unpacked(down, across, shades):
    return np.frombuffer(base64.b64decode(shades), np.uint8).reshape(down, across).astype(int)


def press(page, *keys):
    page.locator("#fig-1 .live-figure__chart").focus()
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(30)


def shown(page):
    return page.evaluate(SHOWN)


def comes_to_show(page, part):
    for _ in range(2400):
        if shown(page) == part:
            return
        page.wait_for_timeout(25)
    assert shown(page) == part


def place(page, current, target):
    """Where the middle of a cell is in the window."""
    return page.evaluate(
        f"""async ([i, j]) => {{ const {{ view }} = {CHART};
        const box = view.container().querySelector('canvas').getBoundingClientRect();
        const [x, y] = view.origin(), {{ left, top }} = view.padding();
        return [box.left + left + x + view.scale('x')(j + 0.5),
                box.top + top + y + view.scale('y')(i + 0.5)]; }}""",
        [current, target],
    )


def pooled(down, across, given):
    """The shade of every pixel, cell by cell: that of its largest probability; 0 where none is."""
    rows, columns = np.nonzero(np.tri(LENGTH, dtype=bool))
    largest = np.full((down, across), -1.0)
    at = rows * down // LENGTH, columns * across // LENGTH
    np.maximum.at(largest, at, given[rows, columns])
    part = np.log(np.clip(largest, 1e-3, None) / 1e-3) / math.log(1000)
    return np.where(largest < 0, 0, 1 + 254 * part)


def assert_whole_picture(page):
    found = finished(page)
    down, across = found.shape
    assert across < LENGTH
    expected = pooled(down, across, hand_long.probability(0))
    assert ((found == 0) == (expected == 0)).all()
    # a file's probabilities are within 0.0005 of the measured ones: 0.4 of the faintest
    off = 254 * math.log(1 + 0.0005 / 1e-3) / math.log(1000) + 1
    assert np.abs(found - expected).max() <= off
    row, column = RARE[0] * down // LENGTH, RARE[1] * across // LENGTH
    assert found[row, column] == 255


def test_every_pixel_shows_the_largest_probability_of_its_cells(page):
    assert_whole_picture(page)


def test_workers_have_the_keys_that_rotary_heads_share(browser, rotary):
    """Keys lie in a file of their own; what is drawn beside the page is of queries and of keys."""
    data, given = rotary
    folder = data.path.parents[2]
    live_page.write(folder, data, ["attention_map"])
    with served(folder) as root, quiet_page(browser, **DESK) as page:
        page.goto(f"{root}articles/hand/")
        assert_shades(ready(page), given[0])
        page.evaluate("location.hash = '#fig-1:layer=0,head=1'")
        until(page, f"async () => ({CHART}).map.beside.places.map.map.shard.head === 1")
        assert_shades(finished(page), given[1])
        assert page.evaluate(f"async () => ({CHART}).map.beside.lost === undefined")
        assert not page.locator(".live-figure__note").count()


def test_a_head_that_is_cut_off_is_told_although_the_page_leaves_it_to_workers(browser, rotary):
    data, _ = rotary
    folder = data.path.parents[2]
    live_page.write(folder, data, ["attention_map"])

    def cut(route):
        file = route.fetch().json()
        file["queries"]["integers"] = file["queries"]["integers"][:400]
        route.fulfill(json=file)

    with served(folder) as root, quiet_page(browser, **DESK) as page:
        page.expected = ("Error: a file of a head is cut off",)
        page.route("**/attention/*/*.json", cut)
        page.goto(f"{root}articles/hand/")
        page.locator("#fig-1").scroll_into_view_if_needed()
        page.wait_for_selector("#fig-1.live-figure--failed")
        said = page.inner_text("#fig-1 .live-figure__live")
        assert "(a file of a head is cut off). The still picture stays." in said


def assert_shades(found, given):
    """A picture of workers, of probabilities that are known as its file has them."""
    expected = pooled(*found.shape, given)
    assert ((found == 0) == (expected == 0)).all()
    assert np.abs(found - expected).max() <= 1
    assert len(np.unique(found)) > 100


def test_a_coarse_picture_comes_first_and_a_part_is_worked_out_alone(page):
    """Rows are worked out when they are needed: those of the part that a reader looks at."""
    found = page.evaluate(
        f"""async () => {{
        const {{ attention }} = await import('/assets/data/shard.js');
        const {{ inBand }} = await import('/assets/figure/map_bands.js');
        const {{ RANKS }} = await import('/assets/data/ranking.js');
        const chart = {CHART}, {{ shard }} = chart.shown.map, {{ look }} = chart.shown;
        const asked = new Set(), map = attention(shard), row = map.row;
        map.row = i => {{ asked.add(i); return row(i); }};
        const part = {{ top: 1000, left: 500, rows: 600, columns: 700 }};
        const found = [];
        for await (const {{ picture: {{ across, down, from, shades }}, targets, done }} of
                inBand(map, {{ look, part, band: part, pixels: [300, 300] }}, () => false)) {{
            const told = Array.from({{ length: part.rows }}, (_, n) => n)
                .filter(n => targets[n * RANKS] >= 0);
            found.push([down, across, ({PACKED})(shades), told, done, asked.size, from]);
        }}
        return [found, Math.min(...asked), Math.max(...asked)]; }}"""
    )
    pictures, lowest, highest = found
    assert (lowest, highest) == (1000, 1599)
    down, across, shades, told, done, asked, from_ = pictures[0]
    assert not done and not from_
    assert asked == len(told) < 600 / 8
    assert np.diff(told).min() == np.diff(told).max()  # spread over the part
    whole = unpacked(*pictures[-1][:3])
    assert pictures[-1][4:6] == [True, 600]
    assert pictures[-1][3] == list(range(600))
    coarse = unpacked(down, across, shades)
    assert coarse.shape == whole.shape == (300, 300)
    assert len(np.unique(coarse)) > 20
    at = np.array(told) * 300 // 600
    assert (coarse[at] <= whole[at]).all()  # of each pixel, some of its cells


BANDS = f"""async ([part, pixels, count]) => {{
    const {{ bandsOf, inBand }} = await import('/assets/figure/map_bands.js');
    const {{ cellsOf }} = await import('/assets/data/raster.js');
    const {{ map, look }} = {CHART}.shown;
    const drawn = async band => {{
        let last;
        for await (last of inBand(map, {{ look, part, pixels, band }}, () => false));
        const {{ picture: {{ from, shades }}, targets }} = last;
        return [from, ({PACKED})(shades), [...targets]];
    }};
    const bands = bandsOf(map, part, pixels, count);
    const cells = bands.map(band => cellsOf(map, band));
    const found = [];
    for (const band of bands) found.push(await drawn(band));
    return [bands.map(({{ top, rows }}) => [top, rows]), cells, found, await drawn(part)];
}}"""


@pytest.mark.parametrize(
    ("rows", "pixels", "count"),
    [(2048, [600, 600], 2), (431, [300, 97], 2), (431, [300, 97], 3), (50, [90, 90], 2)],
)
def test_bands_of_a_picture_have_as_many_cells_and_are_joined_without_a_seam(
    page, rows, pixels, count
):
    part = {"top": 2048 - rows, "left": 0, "rows": rows, "columns": LENGTH}
    bands, cells, found, (_, whole, targets) = page.evaluate(BANDS, [part, pixels, count])
    assert len(bands) == count
    assert [top for top, _ in bands[1:]] == [top + rows for top, rows in bands[:-1]]
    assert sum(rows for _, rows in bands) == rows
    row_of_pixels = -(-rows // min(rows, pixels[1])) * LENGTH
    assert max(cells) - min(cells) <= 2 * row_of_pixels
    parts = [base64.b64decode(shades) for _, shades, _ in found]
    assert b"".join(parts) == base64.b64decode(whole)
    starts = [start for start, *_ in found]
    assert starts == [sum(map(len, parts[:n])) // pixels[0] for n in range(count)]
    assert [target for *_, some in found for target in some] == targets


@pytest.mark.parametrize("name", ["attention_breakdown", "bias_vs_position"])
def test_figures_of_many_points_take_some_of_the_tokens(page, rotary, name):
    data, _ = rotary
    figure = figure_named(name)
    state = {control.param: control.value for control in figure.controls(data)}
    report = figure.chart(data, **state).usermeta["report"]
    file = store.read(data.path / "attention/0/0.json")
    file["keys"] = store.read(data.path / file["keys"])
    found = called(
        page,
        """async ([file, tokens, state, report]) => {
        const { decoders } = await import('/assets/data/decoders.js');
        return decoders[report.data.decode](file, tokens, state, report).datasets; }""",
        [file, [token.label for token in data.tokens], state, report],
    )
    expected = figure.rows(data, **state)
    assert found.keys() == expected.keys()
    for dataset, rows in expected.items():
        assert len(found[dataset]) == len(rows)
        assert len(rows) in (LENGTH // 2, LENGTH - 1)  # every second token; every distance
        for one, other in zip(found[dataset], rows, strict=True):
            assert one == pytest.approx(other, abs=1e-6)


def test_the_pointer_finds_a_cell_that_shares_its_pixel_with_others(page):
    page.mouse.move(*place(page, *RARE))
    told = page.evaluate(TOOLTIP)
    assert told["current token"] == f"{RARE[0]}  “ w{RARE[0]}”"
    assert told["target token"] == f"{RARE[1]}  “ w{RARE[1]}”"
    row = hand_long.probability(0)[RARE[0]]
    assert given(told)[0] == pytest.approx(row[RARE[1]], abs=1e-3)
    # no cell so small can be aimed at: the sentence is about the row
    said = re.findall(r"([\d.]+)\u202f%", told["title"])
    assert [float(each) / 100 for each in said] == pytest.approx(np.sort(row)[:-4:-1], abs=1e-3)


def test_the_wheel_looks_closer_with_a_key_and_scrolls_without(page):
    at = place(page, 1500, 400)
    page.mouse.move(*at)
    page.keyboard.down("Control")
    for _ in range(9):
        page.mouse.wheel(0, -200)
        page.wait_for_timeout(40)
    page.keyboard.up("Control")
    part = shown(page)
    assert part["rows"] < 100
    assert part["top"] <= 1500 < part["top"] + part["rows"]
    assert part["left"] <= 400 < part["left"] + part["columns"]
    _, y = place(page, 1500, 400)
    # a pixel of the whole map, to which the pointer is rounded, is 3.5 rows
    assert abs(y - at[1]) < 5 * 720 / part["rows"]
    cells = hand_long.scores(0)
    for current, target in ((1500, 400), (1503, 396)):
        page.mouse.move(*place(page, current, target))
        told = page.evaluate(TOOLTIP)
        assert told["current token"].startswith(f"{current} ")
        assert told["target token"].startswith(f"{target} ")
        terms = re.search(r"\((.*)\)", told["score"].replace("−", "-"))[1].split(", ")
        for name, said, term in zip(("content", "ALiBi"), terms, cells, strict=True):
            value = float(said.removeprefix(f"{name} "))
            # one decimal is told of scores with a low probability, which are kept as coarsely
            assert value == pytest.approx(term[current, target], abs=0.2), name
    until(page, f"location.hash.endsWith('part={part['top']}+{part['left']}+{part['rows']}')")
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 60)
    until(page, f"scrollY !== {before}")
    assert shown(page) == part


def test_looking_closer_keeps_the_first_column(page):
    press(page, "+", "+")
    part = shown(page)
    assert part["left"] == 0
    assert part["top"] > LENGTH / 4  # where rows have many cells


def test_a_drag_moves_what_is_shown_and_a_click_pins(page):
    press(page, "+", "+", "+")
    page.wait_for_timeout(100)
    before = shown(page)
    x, y = place(page, before["top"] + 100, before["left"] + 50)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 20, y - 40)
    page.mouse.move(x - 40, y - 80)
    page.mouse.up()
    page.wait_for_timeout(100)
    after = shown(page)
    assert after["top"] > before["top"] and after["left"] > before["left"]
    assert not page.locator(".pins__chip").count()
    cell = after["top"] + 120, after["left"] + 30
    page.mouse.click(*place(page, *cell))
    until(page, f"location.hash.includes('cell={cell[0]}+{cell[1]}')")
    hash = page.evaluate("location.hash")
    assert f"part={after['top']}+{after['left']}+{after['rows']}" in hash
    assert f"pinned_token={cell[0]}" in hash
    page.evaluate("location.hash = '#fig-1:layer=0,head=1'")
    until(page, "!document.querySelector('.pins__chip')")
    comes_to_show(page, WHOLE)
    page.evaluate("hash => { location.hash = hash }", hash)
    until(page, "document.querySelector('.pins__chip') !== null")
    comes_to_show(page, after)


def test_keys_reach_every_cell_and_what_is_shown_follows(page):
    press(page, "+", "+", "+", "+", "End", "ArrowRight")
    part = shown(page)
    told = page.evaluate(TOOLTIP)
    assert told["current token"].startswith(f"{LENGTH - 1} ")
    assert told["target token"].startswith(f"{LENGTH - 1} ")
    assert part["top"] + part["rows"] == LENGTH == part["left"] + part["columns"]
    press(page, "Home")
    assert shown(page)["left"] == 0
    press(page, "Shift+ArrowUp", "-")
    assert shown(page)["rows"] == 2 * part["rows"]
    assert "Current tokens" in page.locator("#fig-1 .live-figure__live").text_content()


def test_the_frame_on_the_overview_is_what_is_shown_and_can_be_dragged(page):
    assert not page.locator(".live-figure__overview").count()
    press(page, "+", "+")
    box = resting(page.locator(".live-figure__overview canvas"))
    plot = page.locator("#fig-1 canvas.marks").bounding_box()
    assert plot["x"] < box["x"] and box["x"] + box["width"] <= plot["x"] + plot["width"]
    page.mouse.move(box["x"] + 30, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 45, box["y"] + 105)
    page.mouse.up()
    page.wait_for_timeout(150)
    part = shown(page)
    cells = LENGTH / box["width"]
    assert part["top"] + part["rows"] / 2 == pytest.approx(105 * cells, abs=1.5 * cells)
    assert part["left"] + part["columns"] / 2 == pytest.approx(45 * cells, abs=1.5 * cells)
    frame = page.locator(".live-figure__frame").bounding_box()
    assert frame["y"] == pytest.approx(box["y"] + part["top"] / cells, abs=1.5)
    assert frame["height"] == pytest.approx(part["rows"] / cells, abs=1.5)


def test_names_of_tokens_grow_denser(page):
    labels = f"""async () => {{ const found = [];
        const visit = group => {{ for (const mark of group.items ?? []) {{
            if (mark.role === 'axis-label') found.push(...mark.items.filter(
                each => each.opacity > 0 && each.text).map(each => each.text));
            else for (const item of mark.items ?? []) visit(item); }} }};
        for (const item of ({CHART}).view.scenegraph().root.items) visit(item);
        return found; }}"""
    whole = page.evaluate(labels)
    press(page, "+", "+", "+", "+", "+", "+")
    page.wait_for_timeout(150)
    part = shown(page)
    near = page.evaluate(labels)
    named = {int(text.split("\u00a0")[-1]) for text in near}
    assert len(whole) > 40
    assert {*range(part["top"], part["top"] + part["rows"])} <= named
    assert max(named) < max(part["top"] + part["rows"], part["left"] + part["columns"])


def test_files_and_tables_are_of_what_is_shown_or_of_all(page):
    press(page, *["+"] * 6)
    part = shown(page)
    found = page.evaluate(
        f"""async () => {{
        const {{ tablesOf }} = await import('/assets/tools/numbers.js');
        const {{ specification }} = await import('/assets/tools/specification.js');
        const chart = {CHART};
        const values = async whole => Object.fromEntries((await specification(chart, whole))
            .params.map(({{name, value}}) => [name, value]));
        const [table] = tablesOf(chart.figure);
        return [table.rows, await values(false), await values(true)]; }}"""
    )
    rows, near, all_of_it = found
    seen = [
        (i, j)
        for i in range(part["top"], part["top"] + part["rows"])
        for j in range(part["left"], part["left"] + part["columns"])
        if j <= i
    ]
    assert [(row["current_token"], row["target_token"]) for row in rows] == seen
    given = hand_long.probability(0)
    assert all(
        abs(row["probability"] - given[row["current_token"], row["target_token"]]) <= 5e-4
        for row in rows
    )
    assert [near[f"part_{name}"] for name in part] == list(part.values())
    assert [all_of_it[f"part_{name}"] for name in WHOLE] == list(WHOLE.values())
    choice = menu(page, 1).locator("select[aria-label='Part of the map']")
    assert choice.locator("option").all_text_contents() == ["the part shown", "all of it"]
    page.keyboard.press("Escape")


def test_paper_has_all_of_the_map_and_of_the_text(page):
    press(page, "+", "+", "+")
    part = shown(page)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown(page) == WHOLE
    assert not page.locator(".live-figure__overview").count()
    assert page.evaluate("getComputedStyle(document.querySelector('.passage')).maxHeight") == "none"
    assert not page.locator(".passage__long").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    comes_to_show(page, part)


def test_a_long_text_is_folded_and_tokens_are_found_in_it(page):
    passage, bar = page.locator("#passage"), page.locator(".passage__long")
    assert passage.bounding_box()["height"] < 500
    press(page, "End")  # the last cell of the map: its row is followed before the field is used
    until(page, "Number(document.querySelector('.token--marked')?.dataset.token) > 2000")
    assert page.evaluate("document.querySelector('#passage').scrollTop") > 1000
    page.keyboard.press("Escape")
    bar.locator("input").fill("w1234")
    until(page, "document.querySelector('.passage__long output').textContent !== ''")
    assert bar.locator("output").text_content() == "1 of 1, token 1234"
    token = page.locator("#passage .token[data-token='1234']")
    frame, at = passage.bounding_box(), token.bounding_box()
    assert frame["y"] <= at["y"] and at["y"] + at["height"] <= frame["y"] + frame["height"]
    bar.locator("input").fill("#77")
    assert bar.locator("output").text_content() == "1 of 1, token 77"
    bar.locator("input").fill("96 w97")  # over two tokens
    assert bar.locator("output").text_content().startswith("1 of 1, token 96")
    bar.locator("input").fill("w19")
    matches = [n for n in range(LENGTH) if f"w{n}".startswith("w19")]
    assert bar.locator("output").text_content() == f"1 of {len(matches)}, token {matches[0]}"
    page.keyboard.press("Enter")
    assert bar.locator("output").text_content() == f"2 of {len(matches)}, token {matches[1]}"
    assert page.locator(".token--found").count() == len(matches)
    bar.locator("input").fill("nowhere")
    assert bar.locator("output").text_content() == "found nowhere"
    bar.locator("input").fill("")
    assert not page.locator(".token--found").count()
    button = bar.locator("[data-act=open]")
    button.click()
    assert passage.bounding_box()["height"] > 2000
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert passage.bounding_box()["height"] < 500


FORBIDDEN = """(() => {{ const Given = window.Worker; let given = 0; window.Worker = class {{
    constructor(...of) {{
        if (given++ < {most}) return new Given(...of);
        throw new DOMException('', 'SecurityError');
    }} }} }})()"""


@pytest.mark.parametrize("how", ["fails", "is forbidden", "is alone"])
def test_without_workers_there_is_the_picture_and_one_sentence(browser, site, how):
    with quiet_page(browser, **DESK) as page:
        page.expected = ("map_worker.js", "ERR_FAILED")
        if how == "fails":
            page.route("**/map_worker.js", lambda route: route.abort())
        else:
            page.add_init_script(FORBIDDEN.format(most=int(how == "is alone")))
        page.goto(site)
        go_live(page, 1)
        until(page, f"{NOTE} !== undefined")
        assert page.evaluate(NOTE).count(".") == 1
        assert_whole_picture(page)
        assert page.locator(".live-figure__note").count() == 1


TWICE = """([clientX, clientY]) => { for (let n = 0; n < 2; n++) document.querySelector(
    '#fig-1 canvas').dispatchEvent(new MouseEvent('click', {clientX, clientY, bubbles: true})); }"""
"""Two clicks at once: a busy machine may be too slow for two taps in a row."""


SETTLED = f"""async lefts => {{ const chart = {CHART}, zoom = chart.map.zoom;
    const fit = zoom.fit.bind(zoom), found = [];
    for (const left of lefts) for (const rows of [200, 431]) {{
        let fits = 0, before = -1;
        zoom.fit = () => {{ if (++fits < 30) fit(); }}; // else the page would never come back
        zoom.to({{ top: 1300, left, rows }});
        for (; before !== fits; await new Promise(done => setTimeout(done, 60))) before = fits;
        const part = zoom.partOf(zoom.map), axis = chart.view.signal('part_columns');
        found.push([fits, part.columns, axis]);
    }}
    return found; }}"""


def test_labels_that_change_the_plot_they_stand_beside_do_not_swing_for_ever(browser, site):
    """On a phone, the label of token 1,000 may fit a plot only if it is not there."""
    with quiet_page(browser, **PHONE) as page:
        page.goto(site)
        ready(page)
        found = page.evaluate(SETTLED, [*range(340, 370, 2), 349, 361])
        assert max(fits for fits, *_ in found) < 12
        assert all(columns == axis for _, columns, axis in found)  # of the picture, of the axis


def test_fingers_look_closer_on_a_phone_and_the_overview_is_below(browser, site):
    with quiet_page(browser, **PHONE) as page:
        page.goto(site)
        ready(page)
        page.wait_for_timeout(300)
        x, y = place(page, 1600, 700)
        touch = page.context.new_cdp_session(page)

        def fingers(kind, *spots):
            points = [{"x": across, "y": down, "id": n} for n, (across, down) in enumerate(spots)]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            page.wait_for_timeout(50)

        fingers("touchStart", (x - 20, y), (x + 20, y))
        for apart in (30, 50, 80):
            fingers("touchMove", (x - apart, y), (x + apart, y))
        fingers("touchEnd")
        part = shown(page)
        assert part["rows"] < LENGTH / 2
        assert part["top"] <= 1600 < part["top"] + part["rows"]
        overview = page.locator(".live-figure__overview").bounding_box()
        chart = page.locator("#fig-1 .live-figure__chart").bounding_box()
        assert overview["y"] > chart["y"] + chart["height"] / 2
        assert overview["x"] + overview["width"] < 390
        page.wait_for_timeout(400)
        x, y = place(page, part["top"] + part["rows"] // 2, part["left"] + 10)
        page.evaluate(TWICE, [x, y])
        assert shown(page)["rows"] == pytest.approx(part["rows"] / 2, abs=1)
        page.locator("#fig-1 [aria-label='Show the whole map']").tap()
        comes_to_show(page, WHOLE)


def test_without_scripts_all_of_the_text_and_the_picture_are_there(browser, site):
    with quiet_page(browser, **DESK, java_script_enabled=False) as page:
        page.goto(site)
        assert page.locator("#passage").bounding_box()["height"] > 2000
        assert not page.locator(".passage__long").is_visible()
        assert page.locator("#fig-1 .live-figure__picture").first.is_visible()
