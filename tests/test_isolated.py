"""Names that keep their direction to themselves, and texts cut short."""

import itertools

import pytest

from report.text import END, ISOLATE_END, OPENS, all_isolated, isolated, shortened

pytestmark = pytest.mark.promise("text-direction")


@pytest.mark.parametrize("text", ["", "plain", "שלום", "a\u200fb", "👩\u200d👩", "\u2067abc\u2069"])
def test_what_reorders_nothing_stays_as_it_is(text):
    assert isolated(text) == text


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("\u202babc\u202c", "\u202babc\u202c"),
        ("a\u202eb", "a\u202eb\u202c"),
        ("a\u2067b\u202ec", "a\u2067b\u202ec\u202c\u2069"),
        ("a\u2069b\u202cc", "abc"),
        ("\u2067a\u202eb\u2069c", "\u2067a\u202eb\u2069c"),  # the isolate ends both
        ("\u2067a\u202cb\u2069c", "\u2067ab\u2069c"),
        ("\u202ea\u2067b\u202cc\u2069", "\u202ea\u2067bc\u2069\u202c"),
    ],
)
def test_what_is_open_is_ended_and_what_is_around_is_not(text, inside):
    assert isolated(text) == f"\u2068{inside}\u2069"


def test_whatever_comes_nothing_stays_open():
    for letters in itertools.product([*OPENS, END, ISOLATE_END, "a"], repeat=4):
        found = isolated("".join(letters))
        assert isolated(found) == found
        open_ones = []
        for place, letter in enumerate(found):
            if letter in OPENS:
                open_ones.append(OPENS[letter])
            elif letter != "a":
                while open_ones.pop() != letter:
                    assert letter == ISOLATE_END
            assert found == "aaaa" or open_ones or place == len(found) - 1
        assert open_ones == []
        assert found.count("a") == letters.count("a")


def test_all_texts_of_a_dataset_are_and_nothing_else_changes():
    data = {"\u202e": ["\u202e", 1, None, {"x": "\u2066a"}], "y": 2.5}
    opened = "\u2068\u202e\u202c\u2069"
    expected = {"\u202e": [opened, 1, None, {"x": "\u2066a\u2069"}], "y": 2.5}
    assert all_isolated(data) == expected


def test_a_long_text_is_cut_to_a_length():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"
