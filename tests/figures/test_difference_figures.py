"""Figures of models beside another: what they draw is what was measured, sorted and counted; and,
on a page of two models, what a reader reads, chooses and follows."""

import json
import re

import numpy as np
import pytest

from report.figures import attention_change
from report.figures.build.find import figure_named
from report.figures.build.per_model import reach
from report.figures.parts.heads import head_label
from report.kinds.difference.beside import DISTANCE, EFFECT
from report.pages.article import figure_for
from report.text import percent
from tests.figures import hand_difference, live_page
from tests.figures.live_page import TOOLTIP, go_live, painted, until
from tests.figures.test_decoders import assert_same
from tests.serving import served

PAGE = ("attention_change", "effect_change_by_head", "change_by_head")
"""Figures 1 to 3 of the page of two models."""


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differences") / "datasets" / "hand"
    return hand_difference.study(folder, ("hand", "other"))


def test_each_model_has_a_line_of_all_its_heads_the_farthest_first(several):
    rows = figure_named("distance_sorted").rows(several)["rows"]
    for label, model in zip(several.labels, several.models, strict=True):
        line = [row for row in rows if row["model"] == label]
        assert [row["place"] for row in line] == list(range(1, model.layers * model.heads + 1))
        assert {(row["layer"], row["head"]) for row in line} == {*np.ndindex(3, 4)}
        values = model.of_heads(DISTANCE.name, DISTANCE.name, "corpus")
        assert [row["distance"] for row in line] == sorted(values.ravel().tolist())[::-1]
        assert all(row["low"] <= row["distance"] <= row["high"] for row in line)


def test_what_is_said_of_changes_is_counted_in_the_table(difference):
    rows = figure_named("change_by_head").rows(difference)["rows"]
    name = "to_first_token"
    change, error, halves = (
        np.array([row[f"{which}_{name}"] for row in rows])
        for which in ("change", "error", "halves")
    )
    clear = np.abs(change) > 2 * error
    beyond = clear & (np.abs(change) > np.abs(halves))
    said = figure_named("change_by_head").seen(difference, up=name)
    assert f"in {clear.sum()} heads of 12, and in {beyond.sum()} of these" in said
    assert rows[int(np.abs(change).argmax())]["named"] in said


def exact(data, place):
    """What a map of a head shows, by the name of its switch, and which cells it has."""
    before, now = data.pair(place)
    change = now.probability - before.probability
    maps = {"reference": before.probability, "model": now.probability, "change": change}
    return maps, before.visible.mask()


def test_marks_are_on_the_cells_that_changed_most_and_none_in_a_map_of_one_model(difference):
    for place in range(len(difference.mapped)):
        maps, _ = exact(difference, place)
        rows = attention_change.rows(difference, chosen=place, shows="change")
        marked = {
            (row["current_token"], row["target_token"]): row["kind"] for row in rows["markers"]
        }
        size = len(difference.tokens)
        for at in np.ndindex(size, size):
            change = maps["change"][at]
            kind = "gets more" if change > 0 else "gets less"
            assert marked.get(at) == (kind if abs(change) >= 0.1 else None)
        for shows in ("reference", "model"):
            assert not attention_change.rows(difference, chosen=place, shows=shows)["markers"]


def test_what_is_said_of_a_map_is_its_largest_gain_and_loss(difference):
    maps, _ = exact(difference, 1)
    said = attention_change.seen(difference, chosen=1, shows="reference")
    assert said == attention_change.seen(difference, chosen=1, shows="change")
    assert head_label(*difference.mapped[1]) in said
    for sign, words in ((1, "most is gained from"), (-1, "ost is lost from")):
        at = np.unravel_index((sign * maps["change"]).argmax(), maps["change"].shape)
        current = difference.tokens[at[0]].text.strip()
        shares = f"{percent(maps['reference'][at])} to {percent(maps['model'][at])}."
        assert re.search(f"{words} “{current}” to .*?, {re.escape(shares)}", said)


def test_effects_are_grey_where_texts_explain_the_change(difference):
    rows = figure_named("effect_change_by_head").rows(difference)["rows"]
    change, error, halves = (
        difference.column(f"{column}_{{}}", EFFECT.name) for column in ("change", "error", "halves")
    )
    for row in rows:
        at = row["layer"], row["head"]
        assert row["value"] == change[at]
        assert row["clear"] == (abs(change[at]) > max(2 * error[at], abs(halves[at])))
        assert row["size"] == abs(change[at]) / np.abs(change).max()
    said = figure_named("effect_change_by_head").seen(difference)
    assert f"in {sum(row['clear'] for row in rows)} head" in said
    assert said.startswith(rows[int(change.argmax())]["told"].partition(":")[0])


def test_a_slider_over_heads_has_those_of_each_model(several):
    figure = figure_for("attention_change", several)
    (control,) = [c for c in reach(figure.one_model, several, figure.controls(several))
                  if c.param == "chosen"]  # fmt: skip
    names = [[head_label(*head) for head in model.mapped] for model in several.models]
    assert names[0] != names[1]
    assert list(control.labels_of.values()) == names
    assert control.labels == names[0]


def test_datasets_without_maps_are_shown_in_all_other_figures(tmp_path):
    """Such as those of texts that are too long for a map, and those that were frozen before."""
    several = hand_difference.study(tmp_path / "datasets" / "hand", ("hand", "other"))
    for model in several.models:
        model.about["maps"] = []
        (model.path / "passage.json").unlink()
    assert figure_for("attention_change", several).left_out(several)
    for name in ("distance_sorted", "distance_by_head", "change_by_head", "effect_change_by_head"):
        figure = figure_for(name, several)
        state = {control.param: control.value for control in figure.controls(several)}
        assert figure.seen(several, **state)
        source = figure.chart(several, **state)["usermeta"]["report"]["data"]
        assert not source["tokens"]


# --- Live, on one page ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(several):
    site = several.models[0].path.parents[2]
    live_page.write(site, several, PAGE)
    with served(site) as root:
        yield f"{root}articles/hand/"


DECODE = """async ([file, tokens, state, report]) => {
    const { decoders } = await import('/assets/data/decoders.js');
    const { coloured, wholeOf } = await import('/assets/data/raster.js');
    const shown = decoders.attention_change(file, tokens, state, report);
    const { across, down, shades } = shown.picture(wholeOf(shown.map), [999, 999]);
    return { markers: shown.datasets.markers, across, down,
             pixels: [...coloured({ shades }, report.ramp.light)] }; }"""


@pytest.mark.browser
@pytest.mark.parametrize("shows", attention_change.SHOWN)
def test_the_script_draws_what_python_draws(page, address, several, shows, monkeypatch):
    monkeypatch.setattr(attention_change.raster, "data_url", lambda pixels: pixels)
    page.goto(address)
    data, state = several.models[0], {"chosen": 2, "shows": shows}
    report = attention_change.chart(data, **state).to_dict()["usermeta"]["report"]
    file = json.loads((data.path / "maps/2.json").read_text("utf-8"))
    labels = [token.label for token in data.tokens]
    found = page.evaluate(DECODE, [file, labels, state, report])
    rows = attention_change.rows(data, **state)
    assert_same(found["markers"], rows["markers"], "markers")
    size = len(data.tokens)
    pixels = np.reshape(found["pixels"], (size, size, 4))
    expected = rows["map"][0]["image"].astype(int)
    assert (found["across"], found["down"]) == (size, size)
    assert (pixels[..., 3] > 0).tolist() == np.tri(size, dtype=bool).tolist()
    assert np.abs(pixels - expected).max() <= 2  # the script rounds to 255 shades


def share(text):
    """A share of a tooltip, as it is between bounds."""
    value = float(re.search(r"[\d.]+", text)[0]) / 100
    return -value if text.startswith("−") else value


@pytest.mark.browser
def test_a_cell_tells_both_probabilities_and_the_change_by_the_keyboard_too(page, address, several):
    page.goto(address)
    go_live(page, 1)
    data = several.models[0]
    maps, _ = exact(data, 0)
    page.locator("#fig-1 .live-figure__chart").focus()
    for key in ("End", "ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    told = page.evaluate(TOOLTIP)
    at = tuple(int(told[f"{which} token"].split()[0]) for which in ("current", "target"))
    assert at == (28, 27)
    for name, shows in (("in first", "reference"), ("in hand", "model"), ("change", "change")):
        assert share(told[name]) == pytest.approx(maps[shows][at], abs=1e-3)
    page.keyboard.press("Escape")


@pytest.mark.browser
def test_the_switch_leads_to_either_model_and_the_address_says_so(page, address, several):
    page.goto(address)
    go_live(page, 1)
    before = live_page.ink(page, 1)
    page.locator("#fig-1 input[value=model]").check(force=True)
    painted(page)
    until(page, "location.hash.includes('shows=model')")
    assert live_page.ink(page, 1) != before
    page.reload()
    go_live(page, 1)
    assert page.locator("#fig-1 input[value=model]").is_checked()


@pytest.mark.browser
def test_a_head_that_is_pinned_is_shown_in_its_model_if_it_has_a_map(page, address, several):
    """Also where the slider of the other model has the head at another place."""
    first, second = (model.mapped for model in several.models)
    other = next(
        head for head in second if head not in first or first.index(head) != second.index(head)
    )
    name = several.names[1]
    pinned = f"pinned_layer={other[0]},pinned_head={other[1]}"
    page.goto(f"{address}#fig-3:model={name},{pinned}")
    go_live(page, 3)
    go_live(page, 1)
    until(page, f"document.querySelector('#fig-1 output').textContent === '{head_label(*other)}'")
    assert page.locator(f"#fig-1 input[value='{name}']").is_checked()
    title = page.locator("#fig-1 figcaption strong").text_content()
    assert title == f"What changed in the attention of {head_label(*other)}."
