"""The figures of a sweep, live: a slider that names steps, keys, and heads marked in all panels;
and what they write at their lines.
"""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from report.figures import repeated_loss
from report.figures.build.find import figure_named
from report.figures.parts import over_models
from tests.figures import hand_sweep
from tests.figures.live_page import (
    OF,
    go_live,
    ink_at_rest,
    painted,
    until,
)

NUMBERS = {name: number for number, name in enumerate(OF["sweep"], 1)}


@pytest.mark.browser
def test_the_slider_names_training_steps(page, sweep_address):
    number = NUMBERS["heads_at_step"]
    page.goto(sweep_address)
    go_live(page, number)
    output = f"document.querySelector('#fig-{number} .live-figure__control output').textContent"
    assert page.evaluate(output) == f"{hand_sweep.STEPS[-1]}"
    before = ink_at_rest(page, number)
    slider = page.locator(f"#fig-{number} input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    until(page, f"{output} === '{hand_sweep.STEPS[-2]}'")
    assert slider.get_attribute("aria-valuetext") == f"Training step {hand_sweep.STEPS[-2]}"
    assert ink_at_rest(page, number) != before
    until(page, "location.hash.includes('at=3')")


@pytest.mark.browser
def test_a_head_that_is_pinned_is_drawn_in_all_figures_of_the_training(page, sweep_address):
    number, next_one = NUMBERS["habits_in_training"], NUMBERS["heads_at_step"]
    page.goto(sweep_address)
    go_live(page, number)
    go_live(page, next_one)
    other = page.locator(f"#fig-{next_one} canvas").first
    data = "canvas => canvas.toDataURL()"
    painted(page)
    before = other.evaluate(data)
    page.locator(f"#fig-{number} .live-figure__chart").first.focus()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    for _ in range(1200):
        if other.evaluate(data) != before:
            break
        page.wait_for_timeout(50)
    assert other.evaluate(data) != before
    until(page, "location.hash.includes('pinned_head')")


def test_heads_of_all_panels_are_named_in_one_form(sweep):
    layers = [3, 8]
    models = [
        SimpleNamespace(layers=count, heads=4, label=f"{count}", parameters=1, step=None)
        for count in layers
    ]
    for panel in range(len(models)):
        chart = figure_named("habits_by_model").chart(SimpleNamespace(compared=models), panel=panel)
        text = json.dumps(chart.to_dict()["layer"])
        (room,) = set(re.findall(r"width / 8 >= ([2-9]\d)", text))  # pixels for whole names
        assert f"width / {layers[panel]} >= 16" in text
        assert f"width / 3 >= {room}" not in text


@pytest.mark.parametrize("ruled", [None, 0.5])
def test_names_of_losses_keep_off_other_lines_and_the_rule(ruled):
    along = np.linspace(0, 1, 11)
    low, high = along * 0 + 2, 9 + 2 * (along == 0.4)
    losses = {"second": low, "first": low + 3, "unrepeated": high, "texts": high - 2.5}
    losses = {of: values.tolist() for of, values in losses.items()}
    for of, values in losses.items():
        at, above, edge = repeated_loss._place(of, losses, along, ruled)
        half = repeated_loss.LETTER["phone"] * len(repeated_loss.LINES[of][0]) / 2
        assert half <= along[at] <= 1 - half
        near = np.array(values)[abs(along - along[at]) <= half]
        assert edge >= near.max() if above else edge <= near.min()
        for other in losses.values():
            if (gap := other[at] - values[at]) and (gap > 0) == above:
                assert abs(other[at] - edge) > 1
    at, *_ = repeated_loss._place("second", losses, along, ruled)
    if ruled is not None:
        assert abs(along[at] - ruled) > repeated_loss.LETTER["wide"] * 5


def test_steps_lie_along_the_axis_as_it_draws_them():
    assert over_models.along([0, 50, 100, 150]) == pytest.approx(
        np.log1p([0, 0.5, 1, 1.5]) / np.log(2.5)
    )
    assert over_models.along([7]) == pytest.approx([0])
