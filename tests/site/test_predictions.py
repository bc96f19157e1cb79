"""Figures of predictions in articles: what they say is what plain transformers gives."""

import re

import numpy as np
import pytest

from report.inputs.passages import corpus
from report.kinds.prediction.measure import MEANS_OF
from report.measurements.precision import summed_by, tolerance
from tests.figures.live_page import TOOLTIP, given, go_live
from tests.site.reader import number, state, token_index

pytestmark = pytest.mark.browser

KEPT = 0.0005
"""Half the unit in which effects of a passage are kept, and half the last digit of a tooltip."""


def figure(page, name):
    """The number of a figure of the article, live."""
    place = page.locator(f"figure[data-figure={name}]").get_attribute("id")
    found = int(place.removeprefix("fig-"))
    go_live(page, found)
    return found


def tooltip(page, place, *keys, panel=0):
    """What a chart says after some keys."""
    page.locator(f"#fig-{place} .live-figure__chart").nth(panel).focus()
    for key in keys:
        page.keyboard.press(key)
    return page.evaluate(TOOLTIP)


def test_a_cell_says_how_much_was_looked_at_and_how_much_it_mattered(visit, model):
    page = visit()
    place = figure(page, "effect_by_target")
    at = state(page, place)
    effects, probability = model.effects(**at), model.head(**at).probability
    rounding = tolerance(summed_by([model.model], model.length), max(1, np.abs(effects).max()))
    for panel, keys in enumerate((("End", "ArrowUp"), ("Home", "ArrowDown", "ArrowDown"))):
        shown = tooltip(page, place, *keys, panel=panel)
        row, column = (token_index(shown[f"{which} token"]) for which in ("current", "target"))
        share, _ = given(shown)
        assert share == pytest.approx(probability[row, column], abs=2 * KEPT + rounding)
        effect = number(shown["direct effect"])
        assert effect == pytest.approx(effects[row, column], abs=2 * KEPT + rounding)
        page.keyboard.press("Escape")


def test_a_dot_says_what_a_head_adds_and_what_is_lost_without_it(visit, model):
    page = visit()
    shown = tooltip(page, figure(page, "direct_and_ablation"), "Home", "ArrowRight")
    said = r"L(\d+)H(\d+) adds (\S+) .* (\S+) is lost without it"
    layer, head, *numbers = re.match(said, shown["title"]).groups()
    layer, head, told = int(layer), int(head), [*map(number, numbers)]
    rounding = tolerance(summed_by([model.model], model.length), 10)
    adds = model.effects(layer, head).sum(1).mean()
    assert told[0] == pytest.approx(adds, abs=0.006 + rounding)
    lost = model.lost(layer, head, [text.text for text in corpus()[:MEANS_OF]])
    assert told[1] == pytest.approx(lost, abs=0.006 + rounding)
