"""Integers as text: what goes in comes out, in the characters that the schema names."""

import json

import numpy as np
import pytest

from report.datasets.packing import pack, unpack


def by_hand(text):
    """The rule of the schema, one character at a time."""
    numbers = []
    for character in text:
        if "#" <= character <= "[":
            numbers.append(100 * (ord(character) - ord("?")))
        elif "]" <= character <= "g":
            numbers[-1] += 10 * (ord(character) - ord("b"))
        elif "h" <= character <= "r":
            numbers[-1] += ord(character) - ord("m")
        elif "s" <= character <= "x":
            numbers[-1] += 5700 * (ord(character) - ord("y"))
        else:
            numbers[-1] += 5700 * (ord(character) - ord("x"))
    return numbers


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "?"), (100, "@"), (-100, ">"), (10, "?c"), (-1, "?l"), (2800, "["), (5700, "?y"),
     (-5701, "?lx"), (3000, "$y"), (-34200, "?s"), (41700, "Qy~")],
)  # fmt: skip
def test_some_numbers_worked_out_on_paper(number, text):
    assert sorted(pack([number])) == sorted(text)
    assert unpack(text).tolist() == [number]


def test_all_numbers_come_back_and_follow_the_rule():
    numbers = np.concatenate(
        [np.arange(-7000, 7000), [10**6, -(10**6), 5700 * 6, -5700 * 6 - 2850]]
    )
    text = pack(numbers)
    assert unpack(text).tolist() == numbers.tolist() == by_hand(text)
    assert json.dumps(text) == f'"{text}"'  # nothing is escaped


def test_multiples_of_ten_and_a_hundred_are_short():
    assert len(pack(np.arange(-2800, 2801, 100))) == 57
    assert len(pack(np.arange(-2800, 2801, 10))) <= 2 * 561


def test_no_numbers_are_no_text():
    assert pack([]) == ""
    assert unpack("").tolist() == []


@pytest.mark.parametrize("text", ["c?", "? ?", '?"', "?\\", "?\x7f", "é"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):
        unpack(text)
