"""The script's decoders in a browser: number by number what Python gives, of any kind of model."""

import json
import math

import numpy as np
import pytest

from report.datasets.formats import attention, rice
from report.figures.build.find import figure_named
from report.figures.parts import raster, shading
from report.text import percent
from tests import factored
from tests.figures import hand_conditions, hand_made, live_page
from tests.figures.live_page import called
from tests.figures.pictures import specification

pytestmark = pytest.mark.browser

DECODE = """async ([decode, file, tokens, state, report]) => {
    const { decoders } = await import('/assets/data/decoders.js');
    const shown = decoders[decode](file, tokens, state, report);
    return { datasets: shown.datasets, signals: shown.signals ?? null }; }"""

every_kind = pytest.mark.parametrize("kind", hand_made.KINDS)


def decoded(page, data, figure, state):
    """What the script makes of the file that the figure names at a state."""
    report = specification(figure, data, **state)["usermeta"]["report"]
    file = json.loads((data.path / report["data"]["url"].format(**state)).read_text("utf-8"))
    labels = [token.label for token in data.tokens]
    return called(page, DECODE, [report["data"]["decode"], file, labels, state, report])


def read(folder, address):
    return json.loads((folder / address).read_text("utf-8"))


def drawable(data, kind):
    """The figures that this kind of model has, and can make different."""
    figures = [figure_named(name) for name in hand_made.figures_of(kind, live_page.ORDER)]
    return [figure for figure in figures if not figure.left_out(data)]


@every_kind
def test_decoders_give_the_rows_that_python_gives(scripts, study, kind):
    data = study(kind)
    figures = drawable(data, kind)
    assert "attention_map" in [figure.name for figure in figures]
    for figure in figures:
        state = {control.param: control.value for control in figure.controls(data)}
        state |= {"sort_idx": 2} if "sort_idx" in state else {}
        found = decoded(scripts, data, figure, state)["datasets"]
        expected = figure.rows(data, **state)
        for dataset in set(expected) - {"map", "no_shade"}:  # a canvas, and always empty
            assert_same(found[dataset], expected[dataset], f"{figure.name}.{dataset}")


@pytest.mark.parametrize(("prompts", "reduction"), [(1, "mean"), (3, "last")])
@pytest.mark.parametrize("name", live_page.GRIDS)
def test_decoders_give_the_rows_of_panels(scripts, tmp_path, name, reduction, prompts):
    data = hand_conditions.panels(hand_conditions.study(tmp_path, prompts), name)
    figure, folder = figure_named(name), data.places[0].model.path.parent
    state = {control.param: control.value for control in figure.controls(data)}
    state |= {"reduction": reduction}
    for panel in range(len(figure.panels(data))):
        report = specification(figure, data, **state, panel=panel)["usermeta"]["report"]
        file = read(folder, report["data"]["url"].format(**state))
        texts = read(folder, report["data"]["tokens"])
        call = [report["data"]["decode"], file, texts, state, report]
        found = called(scripts, DECODE, call)["datasets"]
        expected = figure.rows(data, **state, panel=panel)
        assert found.keys() == expected.keys()
        for dataset in expected:
            assert_same(found[dataset], expected[dataset], f"{name} {panel} {dataset}")


def test_a_tooltip_says_which_token_lies_over_an_edge(scripts, tmp_path):
    data = hand_conditions.panels(hand_conditions.study(tmp_path), "filler_lines")
    folder = data.places[0].model.path.parent
    report = specification(figure_named("filler_lines"), data, panel=3)["usermeta"]["report"]
    texts = read(folder, report["data"]["tokens"])
    over = {"prompt": 0, "token": 4, "text": "a", "before": "template user", "after": "filler"}
    texts["conditions"][1]["crossings"] = [over, over | {"prompt": 1, "token": 5}]
    tell = DECODE.replace("shown.datasets, signals", "[4, 5].map(shown.points.tell), signals")
    call = ["received", read(folder, report["data"]["url"]), texts, {"reduction": "mean"}, report]
    found, other = called(scripts, tell, call)["datasets"]
    assert found["over the edge"] == "of the chat template and the addition"
    assert "over the edge" not in other


def assert_same(found, expected, where):
    assert len(found) == len(expected), where
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys(), where
        for key, value in other.items():
            if isinstance(value, float):
                assert math.isclose(one[key], value, rel_tol=1e-9, abs_tol=1e-9), (where, key)
            else:
                assert one[key] == value, (where, key)


@every_kind
def test_every_cell_has_the_numbers_that_python_gives(scripts, study, kind):
    data = study(kind)
    for layer, head in ((0, 1), (1, 1), (0, 2), (1, 2)):  # with and without a window
        attention = data.attention(layer, head)
        file = json.loads((data.path / f"attention/{layer}/{head}.json").read_text("utf-8"))
        cells = called(
            scripts,
            """async file => {
            const { decoders } = await import('/assets/data/decoders.js');
            const { map, cell } = decoders.attention_map(file, Array(file.tokens).fill(''));
            const targets = Array.from({ length: map.size }, (_, n) => n);
            return targets.map(i => targets.map(j => map.sees(i, j) ? cell(i, j) : null)); }""",
            file,
        )
        mask = attention.visible.mask()
        assert mask.sum() == sum(cell is not None for row in cells for cell in row)
        for i, j in zip(*mask.nonzero(), strict=True):
            cell = cells[i][j]
            assert cell["distance"] == i - j
            assert cell["probability"] == pytest.approx(attention.probability[i, j], abs=1e-12)
            assert cell["score"] == pytest.approx(attention.capped[i, j], abs=1e-9)
            uncapped = None if attention.softcap is None else attention.score[i, j]
            assert cell.get("uncapped") == pytest.approx(uncapped, abs=1e-9)
            assert cell["terms"].keys() == attention.terms.keys()
            for name, value in cell["terms"].items():
                term = attention.terms[name].matrix()[i, j]
                assert value == pytest.approx(term, abs=1e-9), name


@pytest.mark.parametrize("layer", [0, -1])
@pytest.mark.parametrize("family", [*factored.FAMILIES, *factored.NOT_ROTATED])
def test_queries_and_keys_give_the_numbers_that_python_gives(scripts, family, layer):
    measurement = factored.measured(family)
    for shard in factored.datasets(measurement, layer % len(measurement.factors)):
        back = attention.decode(shard)
        found = called(
            scripts,
            """async file => {
            const { attention } = await import('/assets/data/shard.js');
            const map = attention(file);
            const places = Array.from({ length: map.size }, (_, n) => n);
            const cells = (value) =>
                places.map(i => places.map(j => map.sees(i, j) ? value(i, j) : null));
            const terms = Object.entries(map.terms).map(([name, term]) => [name, cells(term)]);
            const whole = (of) => places.flatMap(i => [...of(i)]);
            const again = attention(file); // of rows that are asked for in another order
            again.ahead([5, 21, 7, 7]);
            return {
                terms: Object.fromEntries(terms),
                rows: Object.fromEntries(terms.map(([name]) =>
                    [name, whole(i => map.termRow(name, i))])),
                capped: cells(map.capped), scores: whole(map.row), nearly: cells(map.nearly),
                again: places.every(i => again.row(i).every((score, n) => score === map.row(i)[n])),
                probability: cells(map.probability), normalizer: places.map(map.normalizer),
                targets: places.map(i => Array.from({ length: 11 }, (_, k) => map.target(i, k))),
                mixed: map.terms.position_position && {
                    cells: cells(map.terms.mixed), rows: whole(i => map.termRow("mixed", i)) },
            }; }""",
            shard,
        )
        mask = back.visible.mask()

        def seen(cells, mask=mask):
            return np.array(cells, float)[mask]  # nothing is nan

        assert found["targets"] == back.largest_targets.tolist()
        assert np.abs(seen(found["probability"]) - back.probability[mask]).max() < 1e-12
        last_digits = 1e-11 + 1e-15 * np.abs(back.log_normalizer)
        assert (np.abs(np.array(found["normalizer"]) - back.log_normalizer) < last_digits).all()
        assert np.abs(seen(found["capped"]) - back.capped[mask]).max() < 1e-9
        assert np.abs(np.array(found["scores"]) - back.capped[mask]).max() < 1e-9
        assert found["terms"].keys() == back.terms.keys()
        assert found["again"]
        others = mask.copy()
        rows, ranks = np.nonzero(back.largest_targets >= 0)
        others[rows, back.largest_targets[rows, ranks]] = False
        nearly = seen(found["nearly"], others)  # in a small window there are no others
        assert np.abs(nearly - back.capped[others]).max(initial=0) < 1e-9
        for name, cells in found["terms"].items():
            term = back.terms[name].matrix()[mask]
            assert np.abs(seen(cells) - term).max() < 1e-9, name
            assert np.abs(np.array(found["rows"][name]) - term).max() < 1e-9, name
        if found.get("mixed"):  # what is one term in other layers
            mixed = sum(back.terms[name].values for name in attention.PLACED)[mask]
            assert np.abs(seen(found["mixed"]["cells"]) - mixed).max() < 1e-9
            assert np.abs(np.array(found["mixed"]["rows"]) - mixed).max() < 1e-9


def test_the_keys_that_a_file_names_are_fetched_once_for_all_heads_of_a_group(scripts):
    shards = factored.datasets(factored.measured("llama"), 0)
    of_keys, asked = shards[0]["keys"], []

    def answer(route):
        asked.append(route.request.url.rpartition("/by-hand/")[2])
        head = int(asked[-1].removesuffix(".json").rpartition("/")[2])
        named = shards[head] | {"keys": "keys/0/0.json"}
        route.fulfill(json=named if asked[-1].startswith("attention/") else of_keys)

    scripts.route("**/by-hand/**", answer)
    found = scripts.evaluate(
        """async heads => {
        const { loadJson } = await import('/assets/data/loading.js');
        const files = [];
        for (const head of heads) {
            const url = `${location.origin}/by-hand/attention/0/${head}.json`;
            files.push(await loadJson(url));
        }
        return files; }""",
        [shard["head"] for shard in shards],
    )
    scripts.unroute("**/by-hand/**")
    assert found == shards
    heads = [f"attention/0/{shard['head']}.json" for shard in shards]
    assert asked == [heads[0], "keys/0/0.json", *heads[1:]]


@pytest.mark.parametrize("shade", shading.SHADES)
@pytest.mark.parametrize("kind", ["alibi_bias", "softcap", "window", "encoder"])
def test_the_picture_of_the_map_has_the_colours_that_python_gives(scripts, study, kind, shade):
    data = study(kind)
    attention = data.attention(2, 2)
    values, (low, high) = shading.shaded(attention, shade)
    ramp = ["#101010", "#ff0000", "#00ff80"]
    pixels, signals = called(
        scripts,
        """async ([file, shade, ramp]) => {
        const { decoders } = await import('/assets/data/decoders.js');
        const { coloured, wholeOf } = await import('/assets/data/raster.js');
        const shown = decoders.attention_map(file, Array(file.tokens).fill(''), { shade });
        const picture = shown.picture(wholeOf(shown.map), [999, 999]);
        return [[...coloured(picture, ramp)], shown.signals]; }""",
        [json.loads((data.path / "attention/2/2.json").read_text("utf-8")), shade, ramp],
    )
    expected = raster.raster(values, low, high, ramp)
    worst = max(abs(a - b) for a, b in zip(pixels, expected.ravel().tolist(), strict=True))
    assert worst <= 2  # the script rounds to 255 shades
    assert signals["shade_low"] == pytest.approx(low)
    assert signals["shade_high"] == pytest.approx(high)


@pytest.mark.parametrize("by", ["words", "sentences"])
@pytest.mark.parametrize("kind", ["alibi_bias", "window", "sink", "encoder"])
def test_regions_have_the_numbers_that_python_gives(scripts, study, kind, by):
    """Of every cell, against the sums of Python; so are markers, colours, and what is visible."""
    data, figure = study(kind), figure_named("attention_map")
    state = {"layer": 1, "head": 3, "by": by, "shade": "score"}
    report = specification(figure, data, **state)["usermeta"]["report"]
    ramp = ["#101010", "#ff0000", "#00ff80"]
    cells, markers, edge, pixels, signals = called(
        scripts,
        """async ([file, state, report, ramp]) => {
        const { decoders } = await import('/assets/data/decoders.js');
        const { coloured, wholeOf } = await import('/assets/data/raster.js');
        const shown = decoders.attention_map(file, Array(file.tokens).fill(''), state, report);
        const { map, cell, datasets, signals } = shown;
        const targets = Array.from({ length: map.size }, (_, n) => n);
        const cells = targets.map(i => targets.map(j => map.sees(i, j) ? cell(i, j) : null));
        const picture = shown.picture(wholeOf(map), [999, 999]);
        const { markers, edge } = datasets;
        return [cells, markers, edge, [...coloured(picture, ramp)], signals]; }""",
        [read(data.path, "attention/1/3.json"), state, report, ramp],
    )
    regions = attention.of_regions(data.attention(1, 3), data.regions[by])
    rows = figure.rows(data, **state)
    assert_same(markers, rows["markers"], "markers")
    assert edge == rows["edge"] == []
    mask = regions.visible.mask()
    assert mask.sum() == sum(cell is not None for row in cells for cell in row)
    place = np.searchsorted(data.regions[by], np.arange(data.length), "right") - 1
    for i, j in zip(*mask.nonzero(), strict=True):
        assert cells[i][j]["probability"] == pytest.approx(regions.probability[i, j], abs=1e-12)
        assert cells[i][j]["distance"] == place[i] - place[j]
    values, (low, high) = shading.shaded(regions, "probability")
    expected = raster.raster(values, low, high, ramp)
    assert max(abs(a - b) for a, b in zip(pixels, expected.ravel().tolist(), strict=True)) <= 2
    assert [signals["shade"], signals["shade_low"]] == ["probability", pytest.approx(low)]


@pytest.mark.parametrize(
    "numbers",
    [
        [*range(-6000, 6000, 7), 0, 1, -1, 10**6, -(10**6)],
        # 23 to 28 0s before a 1, from each bit of a byte on: as many as are looked at at once
        [
            n
            for pad in range(60, 84)
            for end in (-12, 12, -13, 13, -14, 14)
            for n in [0] * pad + [end]
        ],
        [2**26 + 623_457 * n for n in range(80)],  # and so many low bits
    ],
    ids=["all sizes", "runs", "low bits"],
)
def test_integers_are_read_as_python_writes_them(scripts, numbers):
    found = scripts.evaluate(
        """([text, size]) => import('/assets/data/rice.js').then(
            ({ readRice }) => [...readRice(text, 1, size)])""",
        [rice.write(np.reshape(numbers, (1, -1))), len(numbers)],
    )
    assert found == numbers


def test_a_script_rounds_a_share_as_prose_does(scripts):
    values = [0.9979, 0.9949, 0.99996, 1.0, 1 - 1e-9, 0.0021, 0.00004, 0.0, 0.5, 0.0071, 0.125]
    said, shares = scripts.evaluate(
        """values => import('/assets/data/shares.js').then(
            ({ percent, share }) => [values.map((one) => percent(one)), values.map(share)])""",
        values,
    )
    assert said == [percent(value).replace("\u00a0", "\u202f") for value in values]
    assert shares[:2] == ["0.998", "0.995"]
    assert shares[2:6] == ["more than 0.999", "1.000", "1.000", "0.002"]
    assert shares[6:] == ["less than 0.001", "0.000", "0.500", "0.007", "0.125"]


def test_what_is_not_known_stays_unknown_whatever_its_step(scripts):
    table = {
        "rows": 3,
        "columns": {
            "value": {"step": 0.5, "values": [2, None, 0]},
            "token": {"values": [1, 0, 1]},
        },
    }
    found = scripts.evaluate(
        """table => import('/assets/data/decoders.js').then(({ decoders }) =>
            decoders.tables({tables: {points: table}}, ['a', 'b']).datasets.points)""",
        table,
    )
    assert found == [
        {"value": 1.0, "token": 1, "token_text": "b"},
        {"value": None, "token": 0, "token_text": "a"},
        {"value": 0.0, "token": 1, "token_text": "b"},
    ]
