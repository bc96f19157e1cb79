"""The figures of a sweep, live: a slider that names steps, keys, and heads marked in all panels."""

import pytest

from tests.figures import hand_sweep
from tests.figures.live_page import OF_SWEEPS, TOOLTIP, first_tooltip, go_live, ink_at_rest, until

pytestmark = pytest.mark.browser

NUMBERS = {name: number for number, name in enumerate(OF_SWEEPS, 1)}


@pytest.mark.parametrize("name", OF_SWEEPS)
def test_a_figure_comes_alive_without_a_passage(page, sweep_address, name):
    """The page of these tests fails on any file that is asked for and not there."""
    page.goto(sweep_address)
    go_live(page, NUMBERS[name])
    page.wait_for_load_state("networkidle")


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


def test_a_shared_address_opens_a_step(page, sweep_address):
    number = NUMBERS["heads_at_step"]
    page.goto(f"{sweep_address}#fig-{number}:at=1,habit=first_token")
    go_live(page, number)
    output = f"document.querySelector('#fig-{number} .live-figure__control output').textContent"
    until(page, f"{output} === '{hand_sweep.STEPS[1]}'")


def test_a_head_is_told_with_its_step(page, sweep_address):
    page.goto(sweep_address)
    shown = first_tooltip(page, NUMBERS["heads_at_step"])
    assert list(shown) == ["head", "training step", "value"]
    assert shown["training step"] == f"{hand_sweep.STEPS[-1]}"


@pytest.mark.parametrize("name", OF_SWEEPS)
def test_keys_lead_through_every_figure(page, sweep_address, name):
    number = NUMBERS[name]
    page.goto(sweep_address)
    go_live(page, number)
    page.locator(f"#fig-{number} .live-figure__chart").first.focus()
    told = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        told.append(page.evaluate(TOOLTIP))
    assert all(told)
    assert page.inner_text(f"#fig-{number} .live-figure__live")


def test_a_head_that_is_pinned_is_drawn_in_every_panel(page, sweep_address):
    number = NUMBERS["habits_in_training"]
    page.goto(sweep_address)
    go_live(page, number)
    other = page.locator(f"#fig-{number} canvas").nth(3)
    data = "canvas => canvas.toDataURL()"
    page.wait_for_load_state("networkidle")
    before = other.evaluate(data)
    page.locator(f"#fig-{number} .live-figure__chart").first.focus()
    for key in ("ArrowRight", "Enter"):
        page.keyboard.press(key)
    for _ in range(100):
        if other.evaluate(data) != before:
            break
        page.wait_for_timeout(50)
    assert other.evaluate(data) != before
    until(page, "location.hash.includes('pinned_head')")
