"""What a target is to a token of a table, on a table whose answers one can see."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes

SHORT = {"first_token": "F", "header": "H", "delimiter": ".", "own_cell": "o", "same_column": "C"}
SHORT |= {"other_cells": "x", "other": "-"}


def place(role, row=-1, column=-1):
    return SimpleNamespace(role=role, row=row, column=column)


def read(text):
    """Places of a text such as "^ A , B , a0 a0 , b0 , a1 , b1 $": names in capitals, cells with
    their row, ^ and $ added."""
    found = []
    for word in text.split():
        if word in "^$":
            found.append(place("added"))
        elif word == ",":
            found.append(place("delimiter"))
        elif len(word) == 1:
            found.append(place("header", -1, "AB".index(word)))
        else:
            found.append(place("value", int(word[1]), "ab".index(word[0])))
    return found


TABLE = read("^ A , B , a0 a0 , b0 , a1 a1 , b1 , a2 , b2 b2 $")


def shown(places, current):
    names = [SHORT[name] for name in CLASSES]
    (row,) = token_classes(places, [current])
    return "".join(names[number] for number in row)


def test_current_tokens_are_those_of_cells_below_the_first_row():
    assert current_tokens(TABLE) == [10, 11, 13, 15, 17, 18]


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (10, "FH.H.CC.x.oo.x.x.xx-"),  # the first token of a1
        (11, "FH.H.CC.x.oo.x.x.xx-"),  # the second has the same classes
        (13, "FH.H.xx.C.xx.o.x.xx-"),  # b1
        (18, "FH.H.xx.C.xx.C.x.oo-"),  # the last token of b2: two cells above
        (5, "FH.H.oo.x.xx.x.x.xx-"),  # a0: nothing above, and what is below is another cell
        (1, "FH.H.xx.x.xx.x.x.xx-"),  # a name: all cells are other cells
        (9, "FH.H.xx.x.xx.x.x.xx-"),  # a delimiter
    ],
)
def test_every_target_has_the_class_that_one_sees(current, expected):
    assert shown(TABLE, current) == expected


def test_the_first_token_is_a_class_whatever_it_says():
    places = read("a0 , b0 , a1 , b1")
    assert current_tokens(places) == [4, 6]
    assert shown(places, 4) == "F.x.o.x"
    assert shown(read("A , a0 , a1"), 4) == "F.C.o"


def test_every_pair_has_one_class_of_the_list():
    found = token_classes(TABLE)
    assert found.shape == (6, len(TABLE))
    assert set(np.unique(found)) == set(range(len(CLASSES)))
    np.testing.assert_array_equal(found, token_classes(TABLE, current_tokens(TABLE)))
