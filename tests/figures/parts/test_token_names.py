"""Names of tokens on an axis."""

from types import SimpleNamespace

import pytest

from report.figures.parts import token_names


def on_axis(text, most):
    """As Vega's `truncate` cuts a text: in UTF-16 units, the last one an ellipsis."""
    units = text.encode("utf-16-le")
    if len(units) <= 2 * most:
        return text
    return units[: 2 * (most - 1)].decode("utf-16-le", "surrogatepass") + "…"


def named(text):
    """The text as a specification has it."""
    [name] = token_names.labels([SimpleNamespace(label=text)]).param.value
    return name


@pytest.mark.parametrize("before", range(10))
@pytest.mark.parametrize("after", range(10))
def test_an_axis_cuts_no_character_in_half(before, after):
    text = "a" * before + "\U0001f98a" + "b" * after + "\U000229ac" * 3
    for most in token_names.ON_AXIS:
        assert on_axis(named(text), most).encode("utf-8")  # a half has no bytes
    assert named(text)[:2] == text[:2]


@pytest.mark.parametrize("text", ["lamp", "a" * 40, "\U0001f98a" * 2, "ab\U0001f98a\U0001f98acdef"])
def test_texts_that_are_cut_between_characters_stay(text):
    assert named(text) == text
