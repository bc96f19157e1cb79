"""All figures in a real browser, on a page made by the macros of an article."""

import pytest

from tests.figures.live_page import first_tooltip, ink

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
