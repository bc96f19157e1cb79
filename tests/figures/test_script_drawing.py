"""All figures in a real browser, on a page made by the macros of an article."""

import pytest

from tests.figures.live_page import TOOLTIP, first_tooltip, go_live, ink

pytestmark = pytest.mark.browser


def test_all_figures_draw_and_their_tooltips_have_readable_names(page, address):
    page.goto(address)
    expected = {
        1: {"current token", "target token", "tokens in the past", "score", "probability",
            "content term", "bias term", "ALiBi term"},
        2: {"current token", "target token", "tokens in the past", "probability",
            "content term", "bias term", "ALiBi term"},
        3: {"target token", "bias term", "ALiBi term"},
        4: {"rank (0 = lowest)", "layer", "value", "real head"},
        5: {"rank (0 = lowest)", "layer", "value", "real head"},
        6: {"rank (0 = lowest)", "layer", "value", "real head"},
        7: {"head", "magnitude", "tokens"},
        8: {"head", "alignment", "tokens"},
        9: {"current token", "head", "top target", "orientation", "magnitude"},
        10: {"current token", "head", "top target", "magnitude"},
    }  # fmt: skip
    for number, names in expected.items():
        assert first_tooltip(page, number).keys() == names, number
        assert ink(page, number)[0] > 2000, number


def test_the_tooltip_of_the_map_has_the_numbers_of_its_cell(page, address, data):
    page.goto(address)
    chart = go_live(page, 1).locator(".live-figure__chart")
    chart.focus()
    for key in ("Home", "ArrowUp", "ArrowRight", "ArrowRight"):  # the last row but one, target 2
        page.keyboard.press(key)
    layer, head = (
        int(page.input_value(f"#fig-1 input[name={name}]")) for name in ("layer", "head")
    )
    attention = data.attention(layer, head)
    current, target = data.length - 2, 2
    shown = page.evaluate(TOOLTIP)
    minus = str.maketrans("-", "−")
    assert shown["current token"] == f"{current}  “{data.tokens[current].label}”"
    assert shown["target token"] == f"{target}  “{data.tokens[target].label}”"
    digits = 1 if attention.probability[current, target] < 0.01 else 2
    assert shown["score"] == f"{attention.score[current, target]:.{digits}f}".translate(minus)
    assert shown["probability"] == f"{attention.probability[current, target]:.3f}"
    for name, term in (("bias", "bias"), ("position", "ALiBi"), ("content", "content")):
        value = attention.terms[name].matrix()[current, target]
        assert shown[f"{term} term"] == f"{value:.{digits}f}".translate(minus)
    assert f"probability {shown['probability']}" in page.inner_text("#fig-1 .live-figure__live")
