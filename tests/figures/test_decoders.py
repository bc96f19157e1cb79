"""The script's decoders in a browser: number by number what Python gives."""

import math

import pytest

from report.figures import attention_map
from report.pages import figure_module
from tests.figures import live_page

pytestmark = pytest.mark.browser


def test_decoders_give_the_rows_that_python_gives(page, address, data):
    page.goto(address)
    for name in live_page.ORDER:
        figure = figure_module(name)
        state = {control.param: control.value for control in figure.controls(data)}
        state |= {"sort_idx": 2} if "sort_idx" in state else {}
        report = figure.chart(data, **state).to_dict()["usermeta"]["report"]
        decoded = page.evaluate(
            """async ([decode, url, state]) => {
            const { decoders } = await import('/assets/decoders.js');
            const { loadJson, loadTokens } = await import('/assets/loading.js');
            const base = document.querySelector('.live-figure').dataset.datasets;
            const folder = new URL(base, location.href);
            const file = await loadJson(new URL(url, folder).href);
            const shown = decoders[decode](file, await loadTokens(folder), state);
            return { datasets: shown.datasets, signals: shown.signals ?? null }; }""",
            [report["data"]["decode"], report["data"]["url"].format(**state), state],
        )
        expected = figure.rows(data, **state)
        painted = {"map", "no_score"}  # a canvas, and always empty
        for dataset in set(expected) - painted:
            assert_same(decoded["datasets"][dataset], expected[dataset], f"{name}.{dataset}")


def assert_same(found, expected, where):
    assert len(found) == len(expected), where
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys(), where
        for key, value in other.items():
            if isinstance(value, float):
                assert math.isclose(one[key], value, rel_tol=1e-9, abs_tol=1e-9), (where, key)
            else:
                assert one[key] == value, (where, key)


def test_the_picture_of_the_map_has_the_colours_that_python_gives(page, address, data):
    page.goto(address)
    attention = data.attention(1, 2)
    low, high = attention_map.score_range(attention)
    ramp = ["#101010", "#ff0000", "#00ff80"]
    pixels, signals = page.evaluate(
        """async ramp => {
        const { decoders } = await import('/assets/decoders.js');
        const base = new URL(document.querySelector('.live-figure').dataset.datasets, location);
        const shard = await (await fetch(new URL('attention/1/2.json', base))).json();
        const shown = decoders.attention_map(shard, Array(shard.tokens).fill(''));
        return [[...shown.picture(ramp)], shown.signals]; }""",
        ramp,
    )
    expected = attention_map.raster(attention.score, low, high, ramp)
    worst = max(abs(a - b) for a, b in zip(pixels, expected.ravel().tolist(), strict=True))
    assert worst <= 2  # the script rounds to 256 shades
    assert signals["score_low"] == pytest.approx(low)
    assert signals["score_high"] == pytest.approx(high)
