"""Patterns of prompts and the words in them: what they make, and what is refused."""

import pytest

from report.inputs.pairs import TwoPrompts, pieces, require_filled, rows

PATTERN = TwoPrompts("{A} met {B}. It was", "{B} met {A}. It was", " {A}", " {B}")


def test_each_pair_has_its_words_in_every_place():
    made = [PATTERN.filled(words) for words in rows({"A": ["Ann", "{B}"], "B": ["Tom", "Al"]})]
    assert made[0] == TwoPrompts("Ann met Tom. It was", "Tom met Ann. It was", " Ann", " Tom")
    assert made[1].clean == "{B} met Al. It was"  # what fills a place is no pattern
    read = pieces(PATTERN.clean, {"A": "Ann", "B": "Tom"})
    assert [each for each in read if each[0]] == [("A", "Ann"), ("B", " Tom")]
    assert "".join(text for _, text in read) == made[0].clean


@pytest.mark.parametrize(
    ("fills", "message"),
    [
        ({"A": ["Ann"]}, "the prompts have {B}, and `fills` has no words for it"),
        ({"A": ["Ann"], "B": ["Al"], "C": ["x"]}, "words for {C}, which no prompt or answer has"),
        ({"A": ["Ann", "Eve"], "B": ["Tom"]}, "A has 2, B has 1"),
        ({"A": [], "B": []}, "1 to 100 words for each place, not 0"),
        ({"A": ["Ann", "Eve"], "B": ["Tom", "Eve"]}, r"are the same, pair 2 \(A: 'Eve', B: 'Eve'"),
        ({"A": ["Ann", "Ann"], "B": ["Tom", "Tom"]}, "the same pair twice, pair 1 .* and pair 2"),
    ],
)
def test_words_that_do_not_fit_are_refused(fills, message):
    with pytest.raises(ValueError, match=message):
        require_filled(PATTERN, fills)
