"""Names of tokens on an axis."""

import pytest

from report.figures.parts import token_names
from report.kinds.passage.data import Token


def on_axis(text, most):
    """As Vega's `truncate` cuts a text: in UTF-16 units, the last one an ellipsis."""
    units = text.encode("utf-16-le")
    if len(units) <= 2 * most:
        return text
    return units[: 2 * (most - 1)].decode("utf-16-le", "surrogatepass") + "…"


def named(text):
    """The text as a specification has it."""
    [name] = token_names.labels([Token(0, 1, text, text, False)]).param.value
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


FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize("before", range(10))
@pytest.mark.parametrize("one", [FAMILY, "🇩🇪", "👍🏾", "e\u0301\u0323"])
def test_what_is_seen_as_one_character_is_cut_nowhere(before, one):
    text = "a" * before + 3 * one
    for most in token_names.ON_AXIS:
        rest = on_axis(named(text), most).removesuffix("…").lstrip("a").replace(one, "")
        assert rest == "" or (before == 0 and rest == FAMILY[0]), "it has no room for all of it"


def part(number, of, count=3):
    told = {"of": of, "number": number, "count": count}
    return Token(0, 1, "\ufffd", "a label with bytes", False, told, "e4")


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        ("你", "2/3·你"),
        (" 你", "2/3·你"),
        (FAMILY, f"2/3·{FAMILY}"),
        ("ש", "2/3·ש"),
        ("cafe\u0301s", "2/3·caf…"),
        ("\u202e你", "2/3·⟨20…"),
    ],
)
def test_a_part_is_never_cut_by_the_axis(of, shown):
    [name] = token_names.labels([part(2, of)]).param.value
    assert name == [shown]  # a list, which the axis takes as it is
