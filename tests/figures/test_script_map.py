"""The attention map of other kinds of model: what can be pointed at, and what is told of it."""

import re

import pytest

from report.datasets.formats import passage
from report.datasets.formats.attention import of_regions
from report.figures.build.find import figure_named
from tests.figures import live_page
from tests.figures.conftest import quiet_page
from tests.figures.live_page import TOOLTIP, given, go_live, painted, resting_box
from tests.figures.tools import set_to
from tests.serving import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address_of(study):
    """A function from a kind of model to the address of a page with its map."""
    servers, found = [], {}

    def of_kind(kind):
        if kind not in found:
            site = study(kind).path.parents[2]
            live_page.write(site, study(kind), ["attention_map"])
            servers.append(served(site))
            found[kind] = f"{servers[-1].__enter__()}articles/hand/"
        return found[kind]

    yield of_kind
    for server in servers:
        server.__exit__(None, None, None)


def at_layer(page, layer):
    """Figure 1 at a layer, once it shows it."""
    go_live(page, 1)
    page.evaluate(
        """layer => { const slider = document.querySelector('#fig-1 input[name=layer]');
        slider.value = layer; slider.dispatchEvent(new Event('input')); }""",
        layer,
    )
    painted(page)


def pressed(page, *keys):
    page.locator("#fig-1 .live-figure__chart").focus()
    for key in keys:
        page.keyboard.press(key)
    shown = page.evaluate(TOOLTIP)
    return shown, (int(shown["current token"].split()[0]), int(shown["target token"].split()[0]))


def test_the_keys_reach_every_corner_of_an_encoders_square(page, address_of, study):
    page.goto(address_of("encoder"))
    at_layer(page, 0)
    last = study("encoder").length - 1
    shown, cell = pressed(page, "End", "ArrowRight")
    assert cell == (last, last)
    assert given(shown)[1] == 0
    _, cell = pressed(page, "Home")
    assert cell == (last, 0)
    _, cell = pressed(page, *["ArrowUp"] * (last + 1))
    assert cell == (0, 0)
    shown, cell = pressed(page, "End")
    assert cell == (0, last)
    probability = study("encoder").attention(0, 0).probability[0, last]
    assert given(shown) == (pytest.approx(probability, abs=6e-4), -last)


def test_the_keys_stay_within_a_window(page, address_of, study):
    page.goto(address_of("window"))
    at_layer(page, 0)
    last, window = study("window").length - 1, study("window").windows[0]
    _, cell = pressed(page, "Home")
    assert cell == (last, last - window + 1)
    _, cell = pressed(page, "ArrowLeft")
    assert cell == (last, last - window + 1)
    _, cell = pressed(page, "ArrowUp", "Home", "ArrowDown")  # what that row saw first is unseen
    assert cell == (last, last - window + 1)
    _, cell = pressed(page, "End", "ArrowUp")  # the row above does not see its successor
    assert cell == (last - 1, last - 1)


def test_beyond_a_window_there_is_nothing_to_point_at(page, address_of, study):
    page.goto(address_of("window"))
    seen = {}
    for layer in (0, 1):  # with a window, and without
        at_layer(page, layer)
        box = resting_box(page, 1)
        page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.8 * box["height"])
        seen[layer] = page.evaluate(TOOLTIP)
    assert seen[0] == {}
    assert given(seen[1])[1] >= study("window").windows[0]


def test_a_capped_score_is_told_before_and_after(page, address_of, study):
    page.goto(address_of("softcap"))
    at_layer(page, 1)
    shown, (i, j) = pressed(page, "Home")
    attention = study("softcap").attention(1, 0)
    digits = 1 if attention.probability[i, j] < 0.01 else 2

    def written(value):
        return f"{value:.{digits}f}".replace("-", "−")

    assert shown["score"] == written(attention.capped[i, j])
    score, _, parts = shown["score before the cap"].removesuffix(")").partition(" (")
    assert score == written(attention.score[i, j])
    constant = attention.terms["row_constant"].matrix()[i, j]
    assert f"row constant {written(constant)}" in parts.split(", ")
    assert abs(attention.capped[i, j] - attention.score[i, j]) > 0.1


def test_rows_and_columns_may_be_words(page, address_of, study):
    """Keys go from word to word, a tooltip has the sum, the table each pair once; and back."""
    page.goto(address_of("window"))
    at_layer(page, 0)
    set_to(page, 1, by="words")
    painted(page)
    data = study("window")
    firsts, found = data.regions["words"], of_regions(data.attention(0, 0), data.regions["words"])
    page.locator("#fig-1 .live-figure__chart").focus()
    for keys, place in {("End",): (-1, -1), ("ArrowUp", "ArrowUp", "ArrowLeft"): (-3, -4)}.items():
        for key in keys:
            page.keyboard.press(key)
        told = page.evaluate(TOOLTIP)
        i, j = (firsts[each] for each in place)
        for name, first in {"current word": i, "target word": j}.items():
            last = min([n for n in firsts if n > first], default=data.length) - 1
            place_of = str(first) if last == first else f"{first}–{last}"
            assert told[name].split()[0] == place_of
        share = re.search(r"([\d.]+)\u202f%", told["title"])[1]
        assert float(share) / 100 == pytest.approx(found.probability[i, j], abs=6e-4)
        away = place[0] - place[1]
        assert told["title"].endswith("to itself" if not away else f"{away} word back")
        assert "score" not in told
    text = "".join(token.text for token in data.tokens[firsts[-3] : firsts[-2]]).strip()
    assert told["current word"].endswith(f"“{passage.visible(text)}”")
    numbers = """async () => {
        const [{ tablesOf }, { figures }] = await Promise.all(
            ['tools/numbers.js', 'figure/figure.js'].map(name => import(`/assets/${name}`)));
        return tablesOf([...figures.values()][0])[0].rows; }"""
    cells = page.evaluate(numbers)
    mask = found.visible.mask()[firsts][:, firsts]
    assert len(cells) == mask.sum()
    assert sum(bool(cell["marked"]) for cell in cells) == found.marker_count[firsts].sum()
    kinds = {"", "the word itself", "the first word", "another word"}
    assert {cell["marked"] for cell in cells} <= kinds
    page.locator("#fig-1 input[value=tokens]").check(force=True)
    painted(page)
    assert len(page.evaluate(numbers)) == data.attention(0, 0).visible.count
    assert "score" in pressed(page, "ArrowDown")[0]


def test_a_tooltip_stays_inside_a_narrow_window(browser, address_of):
    with quiet_page(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto(address_of("softcap"))
        at_layer(page, 1)
        box = resting_box(page, 1)
        for part in range(30, 80, 5):
            page.mouse.move(box["x"] + part * box["width"] / 100, box["y"] + 0.7 * box["height"])
            left, right = page.evaluate(
                """() => { const tip = document.querySelector('#vg-tooltip-element.visible');
                const { left, right } = tip.getBoundingClientRect(); return [left, right]; }"""
            )
            assert 0 < left < right < 390


COMPARED = """async ([assets, spec, rows, id]) => {
    const {View, parse, expressionInterpreter} = await import(`${assets}vega.js`);
    const live = document.querySelector(`#${id} canvas`);
    const box = live.parentElement.getBoundingClientRect();
    const image = Object.assign(new Image(), {src: rows.map[0].image});
    await image.decode();
    rows.map = [{image}];
    spec.signals = spec.signals.map(({name, ...more}) =>
        ['width', 'height'].includes(name) ? {name, value: box[name]} : {name, ...more});
    spec.data = spec.data.map(({name, ...more}) =>
        name in rows ? {name, ...more, values: rows[name]} : {name, ...more});
    const parsed = parse(spec, {}, {ast: true});
    const view = new View(parsed, {renderer: 'none', expr: expressionInterpreter, logLevel: 1});
    const vegas = await (await view.runAsync()).toCanvas(devicePixelRatio);
    const pixels = canvas => {
        const copy = Object.assign(document.createElement('canvas'),
            {width: live.width, height: live.height}).getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        return copy.getImageData(0, 0, live.width, live.height).data; };
    const [ours, theirs] = [pixels(live), pixels(vegas)];
    const is = (data, n, colour) => data[n + 3] > 200
        && colour.every((part, k) => Math.abs(data[n + k] - part) < 40);
    const looks = Object.entries(spec.usermeta.report.kinds);
    return Object.fromEntries(looks.map(([kind, [, light]]) => {
        const colour = [1, 3, 5].map(at => parseInt(light.slice(at, at + 2), 16));
        let [both, one] = [0, 0];
        for (let n = 0; n < ours.length; n += 4) {
            const [a, b] = [is(ours, n, colour), is(theirs, n, colour)];
            both += a && b; one += a || b; }
        return [kind, [both, one]]; })); }"""


@pytest.mark.parametrize("name", ["attention_map", "table_attention_map"])
def test_markers_are_where_and_what_the_specification_says(page, request, name):
    where, data = {
        "attention_map": ("address", "data"),
        "table_attention_map": ("table_address", "table"),
    }[name]
    page.goto(request.getfixturevalue(where))
    figure, data = figure_named(name), request.getfixturevalue(data)
    page.locator("#fig-1").scroll_into_view_if_needed()
    live_page.ink_at_rest(page, 1)
    spec = page.evaluate(f"fetch('../../figures/hand/{name}.vega.json').then(file => file.json())")
    rows = figure.rows(data)
    rows = {dataset: rows[dataset] for dataset in ("map", "markers", "edge")}
    found = page.evaluate(COMPARED, ["../../assets/", spec, rows, "fig-1"])
    kinds = {row["kind"] for row in rows["markers"]}
    assert kinds <= set(found)
    for kind in kinds:
        both, one = found[kind]
        assert both > 20, kind
        assert both > 0.75 * one, (kind, both, one)


def test_markers_follow_the_size_of_the_chart(page, address):
    page.goto(address)
    wide = live_page.ink_at_rest(page, 1)
    page.set_viewport_size({"width": 500, "height": 900})
    live_page.until(page, "document.querySelector('#fig-1 canvas').clientWidth < 520")
    narrow = live_page.ink_at_rest(page, 1)
    assert narrow[0] < wide[0]
    page.set_viewport_size({"width": 1280, "height": 900})
    live_page.until(page, "document.querySelector('#fig-1 canvas').clientWidth > 600")
    assert live_page.ink_at_rest(page, 1) == wide


STAMPED = """async () => {
    const { mapPicture } = await import('/assets/figure/map_picture.js');
    const markers = [[0, 0], [50, 20], [50, 22], [99, 99]].map(([current_token, target_token], n) =>
        ({current_token, target_token, kind: n === 2 ? 'above' : 'below'}));
    const picture = {across: 100, down: 100, shades: new Uint8Array(100 * 100).fill(255)};
    const part = {top: 0, left: 0, rows: 100, columns: 100};
    const kinds = [['below', 'square', '#102030'], ['above', 'circle', '#a0b0c0']];
    const place = {width: 150, height: 150};
    const ramp = ['#000000', '#ffffff'];
    const canvas = mapPicture({picture, markers, part}, ramp, kinds, '#ffffff', place);
    const { data } = canvas.getContext('2d').getImageData(0, 0, 100, 100);
    const found = {'#102030': [], '#a0b0c0': []};
    for (let n = 0; n < data.length; n += 4) {
        const rgb = data.slice(n, n + 3);
        const colour = '#' + [...rgb].map(part => part.toString(16).padStart(2, '0')).join('');
        found[colour]?.push([Math.trunc(n / 400), n / 4 % 100]); }
    return [canvas.width, found['#102030'], found['#a0b0c0']]; }"""


def test_tiny_markers_are_cells_of_the_picture(page, address):
    """3 pixels where a cell has 1.5: two cells, its own and one before, the later kind above."""
    page.goto(address)
    width, below, above = page.evaluate(STAMPED)
    assert width == 100
    square = [[row, column] for row in range(49, 51) for column in range(21, 23)]
    assert above == square
    corners = [(0, 0), (49, 19), (98, 98)]
    expected = {(r, c) for top, left in corners for r in (top, top + 1) for c in (left, left + 1)}
    assert {tuple(cell) for cell in below} == expected - {tuple(cell) for cell in square}
