"""Segments and conditions: what is put together, taken out and refused."""

import pytest

from report.errors import ReportError
from report.inputs.conditions import Condition, Segment, question_prompt
from tests.inputs.filled import with_filler

PLAIN = question_prompt("Be brief.", "How many?")


def test_a_prompt_is_its_segments_one_after_the_other():
    assert PLAIN.text == "Be brief.\nQuestion: How many?\nAnswer:"
    assert question_prompt("a", "b", "<{question}>").text == "a\n<b>"
    filled = with_filler(PLAIN, "///", "slashes", "w/ slashes")
    assert filled.text == "Be brief.\n///\nQuestion: How many?\nAnswer:"
    assert [segment.name for segment in filled.segments] == ["system", "filler", "question"]
    assert (filled.name, filled.label) == ("slashes", "w/ slashes")
    assert filled.without("filler", "none", "none") == PLAIN
    other = filled.replaced(Segment("filler", "A cat sat.\n"), "sentence", "a sentence")
    assert other.text == "Be brief.\nA cat sat.\nQuestion: How many?\nAnswer:"
    with pytest.raises(ReportError, match="'none' has no segment 'filler'; it has system, ques"):
        PLAIN.without("filler", "x", "x")


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([("a", "x"), ("a", "y")], "two segments are called 'a'; give every segment a name"),
        ([("added", "x")], r"got \['added'\]; give every segment .* not 'added'"),
        ([("", "x")], "give every segment a name of its own, not empty"),
        ([("a", " \n")], "condition 'c' has no text; write some into a segment"),
        ([], "condition 'c' has no text"),
    ],
)
def test_segments_that_cannot_be_told_apart_or_measured_are_refused(segments, message):
    with pytest.raises(ReportError, match=message):
        Condition("c", "c", tuple(Segment(*each) for each in segments))
