"""A text falls into regions without a gap, in several scripts, and every token into one of them."""

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from report.errors import ReportError
from report.models.text.regions import SPLIT, beginnings, numbered, turns
from report.models.text.regions import pieces as of_tokens


def regions(*about):
    return numbered(of_tokens(*about))


def pieces(text, by=None, pattern=None, marks=()):
    begin = beginnings(text, by, pattern, marks)
    return [text[a:b] for a, b in zip(begin, [*begin[1:], len(text)], strict=True)]


@pytest.mark.parametrize(
    ("by", "cut"),
    [
        ("sentences", "It cost 3.50 pounds. |“Why?” she said. |“Because.”  |He left…\n|¿Y tú? |Sí"),
        ("sentences", "灯亮了。|谁点的？|「不知道！」|没人说"),
        ("sentences", "من أشعل المصباح؟ |لا أحد. |نعم"),
        ("sentences", "दीपक किसने जलाया। |पता नहीं॥ |ठीक"),
        ("sentences", "من أشعل المصباح؟ |لا أحد.\u200f\u202e"),
        ("sentences", "A title\n\n|One line\nand the same sentence.\n|Next"),
        ("words", "It |cost |3.50|! |Don’t "),
        ("words", "灯|亮|了|。 |ok"),
        ("words", "שלום |עולם"),
        ("lines", "one\n|two\n\n   |three \n"),
        ("paragraphs", "one\ntwo\n \n|three\n\n\n|four\n"),
        ("words", "  led by space"),
        ("roles", "user: Why?\n|Assistant: Because.\nSo user: no\n|USER: Ah"),
        ("cells", "Two lamps:\n|name,|height\n|hill,|3\n|\"gate, east\",|2\n|The end so far."),
        ("cells", "| a |b |\n||--|--|\n|| 1, |2 |\n|rest"),
        ("cells", "a\t|b,c\n|d\t|e"),
    ],
)  # fmt: skip
def test_a_text_is_cut_where_it_should_be(by, cut):
    expected = cut.split("|")
    if by == "words" and cut.startswith(" "):
        expected = ["  led ", "by ", "space"]
    if "| a" in cut:  # its bars are text
        expected = ["| a ", "|b |\n", "|--", "|--|\n", "| 1, ", "|2 |\n", "rest"]
    assert pieces("".join(expected), by) == expected


def test_a_pattern_makes_regions_of_what_it_matches_and_of_what_lies_between():
    assert pieces("a Step 1: b\nStep 2: c", pattern=r"Step \d+:") == [
        *("a ", "Step 1: ", "b\n", "Step 2: ", "c")
    ]
    assert pieces("a. b. c", pattern=r"(?<=\.)") == ["a. ", "b. ", "c"]  # it only cuts
    assert pieces("  a", pattern="a") == ["  a"]


def test_what_an_author_marks_is_a_region_wherever_it_stands():
    text = "A lamp. It was lit. Nobody saw it was lit."
    cut = ["A lamp. It ", "was lit", ". Nobody saw it ", "was lit", "."]
    assert pieces(text, marks=["was lit"]) == cut
    cut = ["A lamp", ". It was lit. ", "Nobody ", "saw it was lit."]
    assert pieces(text, marks=["A lamp", " Nobody "]) == cut


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"marks": ["lamp", "hill ("]}, r"has no 'hill \(', which `marks` of `regions` has"),
        ({"by": "roles"}, "the first line does not; begin it so"),
        ({"by": "cells"}, "finds no table in the text"),
    ],
)
def test_what_is_not_in_a_text_is_named(options, message):
    with pytest.raises(ReportError, match=message):
        beginnings("A lamp, lit.\nuser: Who lit it?\nNobody, I think, or Ann.", **options)


def test_turns_are_who_speaks_and_what():
    text = "System: Be brief.\n\nuser:  Why?\nReally: why?\nassistant: So."
    parts = [("system", "Be brief."), ("user", "Why?\nReally: why?"), ("assistant", "So.")]
    assert turns(text) == parts
    with pytest.raises(ReportError, match="a turn of the user says nothing"):
        turns("user:\nassistant: So.")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "is no regular expression .*mend it"),
        ("(?:a{999}){999}", "repeats something more than 10,000 times.*write a simpler one"),
        ("(?x)a{20000000 }", "is spread out by .*write a simpler one"),
        ("a{10001,}", "repeats something more than 10,000 times"),
        ("(?:(?R))*a", "calls itself"),
        ("z", "matches nothing in the text; take one that does"),
        (r"(a|a|aa)+(?<!a)b", "takes more than 1 seconds for 61 characters"),
    ],
)
def test_a_pattern_that_does_not_do_is_refused_in_one_sentence(pattern, message, monkeypatch):
    monkeypatch.setattr("report.models.text.regions.SECONDS", 1)
    with pytest.raises(ReportError, match=message) as refused:
        beginnings("a" * 60 + "c", pattern=pattern)
    assert str(refused.value).count("\n") == 0


def test_a_text_of_nothing_but_full_stops_takes_no_square_of_its_length():
    dots = "." * 200_000  # hours, if every run were tried from each of its full stops
    assert pieces(f"Ann. {dots}x", "sentences") == ["Ann. ", f"{dots}x"]


def test_tokens_over_a_border_are_of_the_region_in_which_they_begin():
    text = "One. Two"
    begin = beginnings(text, "sentences")
    assert begin == [0, 5]
    spans = [(0, 0), (0, 3), (3, 4), (4, 8), (0, 0)]  # a space before a word is no part of it
    assert regions(text, begin, spans, [1, 0, 0, 0, 1]) == [0, 1, 1, 2, 3]
    spans = [(0, 3), (3, 7), (7, 8)]  # ". Tw"
    assert regions(text, begin, spans, [0] * 3) == [0, 0, 1]
    spans = [(0, 4), (4, 5), (5, 8)]  # white space alone follows
    assert regions(text, begin, spans, [0] * 3) == [0, 0, 1]
    assert regions(text, begin, [(0, 8)], [0]) == [0]  # the second has no token


@given(
    some.text(alphabet="ab. \n?!。'”x\u0301中ا", min_size=1, max_size=60),
    some.sampled_from(sorted({*SPLIT} - {"roles", "cells"})),
    some.lists(some.integers(1, 5), min_size=60, max_size=60),
)
def test_whatever_the_text_regions_are_a_partition(text, by, widths):
    begin = beginnings(text, by)
    assert "".join(pieces(text, by)) == text
    assert begin == sorted(set(begin))
    assert not any(text[place].isspace() for place in begin[1:])
    spans, start = [], 0
    for width in widths:
        spans.append((start, min(start + width, len(text))))
        start = min(start + width, len(text))
    numbers = regions(text, begin, spans, [0] * len(spans))
    steps = [b - a for a, b in pairwise(numbers)]
    assert numbers[0] == 0
    assert set(steps) <= {0, 1}
    singles = [(place, place + 1) for place in range(len(text))]
    of_characters = regions(text, begin, singles, [0] * len(text))
    assert max(of_characters) + 1 == len(begin)


def test_it_needs_no_torch():
    code = "import sys, report.models.text.regions; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@given(some.text(alphabet="ab.1,^$()[]{}*+?\\|<=!:-&~ps\n", min_size=1, max_size=14))
@settings(deadline=None, max_examples=300)
def test_any_pattern_makes_a_partition_or_is_refused_in_a_sentence(pattern):
    text = "ab ab1, b\n\naa."
    try:
        assert "".join(pieces(text, pattern=pattern)) == text
    except ReportError as error:
        assert "of `regions`" in str(error)
        assert "\n" not in str(error)
