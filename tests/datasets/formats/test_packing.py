"""Integers as text: what goes in comes out, in the characters that the schema names."""

import json

import numpy as np
import pytest

from report.datasets.formats.packing import (
    pack,
    pack_few,
    pack_wide,
    unpack,
    unpack_few,
    unpack_wide,
)


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


@pytest.mark.parametrize("numbers", [[0, 0, 5, 0, -300], [7], [0, 0, 0], []])
def test_few_numbers_among_zeros_come_back(numbers):
    skipped, others = pack_few(numbers)
    assert unpack(others).tolist() == [number for number in numbers if number]
    assert unpack_few(skipped, others, len(numbers)).tolist() == numbers


def test_how_many_are_skipped_worked_out_on_paper():
    assert [unpack(text).tolist() for text in pack_few([0, 0, 5, 0, -300])] == [[2, 1], [5, -300]]


@pytest.mark.parametrize(
    ("skipped", "others"), [([2], [1]), ([0], [1, 1]), ([0, 0], [1]), ([1, -1], [1, 1])]
)
def test_texts_that_do_not_fit_are_refused(skipped, others):
    with pytest.raises(ValueError):
        unpack_few(pack(skipped), pack(others), 2)


def test_large_numbers_are_two_texts_of_one_character_each():
    numbers = np.arange(-1624, 1625)
    texts = pack_wide(numbers)
    assert [len(text) for text in texts] == [len(numbers)] * 2
    assert unpack_wide(*texts).tolist() == numbers.tolist()
    assert [unpack(text).tolist() for text in pack_wide([57 * 3 - 2])] == [[300], [-200]]
    larger = [1625, -(10**5), 0, 7]
    assert unpack_wide(*pack_wide(larger)).tolist() == larger
    with pytest.raises(ValueError):
        unpack_wide("??", "?")
