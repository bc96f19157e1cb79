"""What is written in a figure can be read: inside the picture, and nothing over anything else."""

import itertools

import pytest

from report.figures.build import still
from report.figures.parts import token_names
from tests.figures.pictures import picture, specification
from tests.figures.test_every_figure import (  # noqa: F401 (a fixture)
    drawn_of,
    each,
    every_figure,
    panels_of,
)

pytestmark = pytest.mark.browser

TEXTS = """() => {
    const svg = document.querySelector('svg');
    const whole = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter(each => each.textContent.trim()
            && Number(getComputedStyle(each).opacity) > 0).map(each => {
        const named = each.closest('[class*=role-]').getAttribute('class');
        const role = named.match(/role-([\\w-]+)/)[1];
        const {left, right, top, bottom} = each.getBoundingClientRect();
        return {role, said: each.textContent, left: left - whole.left, right: right - whole.left,
            top: top - whole.top, bottom: bottom - whole.top,
            width: whole.width, height: whole.height};
    });
}"""
"""Every text of a picture, and where it is in it."""

SLACK = 3
"""Pixels: letters of a browser are not exactly as wide as those it was laid out by."""

HOSTILE = ["漢字仮名交じり文" * 3, "שלום עולם" * 3, "<b>&amp;</b>", "W" * 40, "⏎", "é́́"]


WITH_TOKENS = ("attention_map", "table_attention_map", "magnitude_by_position")
"""Figures with an axis of tokens."""

LIKE_A_MAP = "effect_by_target"
"""It has the axes of the attention map, and a text of its own."""


@pytest.fixture(scope="module")
def shown(browser):
    """A page whose content each picture replaces."""
    page = browser.new_page()
    yield page
    page.context.close()


def texts(shown, svg):
    shown.set_content(f"<body style='margin:0'>{svg}")
    return shown.evaluate(TEXTS)


def check(found):
    assert found
    for text in found:
        assert text["left"] >= -SLACK, text
        assert text["top"] >= -SLACK, text
        assert text["right"] <= text["width"] + SLACK, text
        assert text["bottom"] <= text["height"] + SLACK, text
    around = [text for text in found if text["role"] != "mark"]
    for one, other in itertools.combinations(around, 2):
        across = min(one["right"], other["right"]) - max(one["left"], other["left"])
        down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
        assert min(across, down) <= SLACK, (one, other)


@every_figure
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_no_label_is_cut_off_or_covers_another(figure, drawn_of, shown, phone):  # noqa: F811
    for panel in panels_of(figure, drawn_of):
        check(texts(shown, picture(figure, drawn_of, phone=phone, **panel)))


@every_figure
def test_these_figures_have_an_axis_of_tokens(figure, drawn_of):  # noqa: F811
    spec = specification(figure, drawn_of, **panels_of(figure, drawn_of)[0])
    names = {param["name"] for param in spec["params"]}
    assert (token_names.LABELS in names) == (figure.name in (*WITH_TOKENS, LIKE_A_MAP))


@each(WITH_TOKENS)
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_whatever_a_token_says_its_label_keeps_its_place(figure, drawn_of, shown, phone):  # noqa: F811
    empty = specification(figure, drawn_of)
    spec = still.specification(figure, drawn_of, phone=phone, empty=empty)
    (labels,) = [param for param in spec["params"] if param["name"] == token_names.LABELS]
    labels["value"] = [HOSTILE[n % len(HOSTILE)] for n in range(len(labels["value"]))]
    found = texts(shown, still.drawn(spec))
    assert any("漢字" in text["said"] for text in found)
    assert any("<b>" in text["said"] for text in found)
    check(found)
