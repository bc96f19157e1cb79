"""Generated questions: their answers are right by a second computation, from their text alone."""

import re
from collections import Counter

from report.inputs.questions import FORMS, KINDS, questions

ASKED = questions(1200, seed=3)


def solved(text: str) -> int:
    """The answer to a question, by counting things one by one as its text tells."""
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    pile: list[str] = []
    for verb, number in zip(steps(text), numbers, strict=True):
        if verb == "put":
            pile += ["thing"] * number
        elif verb == "each":  # every thing so far becomes a heap of so many
            pile = [thing for thing in pile for _ in range(number)]
        else:
            for _ in range(number):
                pile.pop()
    return len(pile)


def steps(text: str) -> list[str]:
    """What is done with each number of a text."""
    sums = {"+": ["put", "put"], "-": ["put", "take"]}
    if found := re.fullmatch(r"What is \d+ ([+-]) \d+\?", text):
        return sums[found[1]]
    verbs = []
    for clause in re.split(r"(?<=\d) ", text)[:-1]:
        words = clause.lower()
        if re.search(r"\b(took|gave|lost|then) \d+$", words) and "buys" not in words:
            verbs.append("take")
        elif re.search(r"\b(with|of) \d+$", words):
            verbs.append("each")
        else:
            verbs.append("put")
    return verbs


def test_answers_are_right_questions_differ_and_kinds_are_equally_many():
    assert [q.text for q in ASKED if solved(q.text) != q.answer] == []
    forms = {tuple(steps(q.text)) for q in ASKED}
    assert len(forms) == 6, "sums, differences, products, and three chains of two steps"
    assert {form.kind for form in FORMS} == {*KINDS}
    assert len({question.text for question in ASKED}) == 1200
    assert Counter(question.kind for question in ASKED) == dict.fromkeys(KINDS, 300)
    assert all(2 <= question.answer <= 111 for question in ASKED)


def test_the_same_seed_gives_the_same_questions():
    assert questions(40, seed=3) == ASKED[:40] != questions(40, seed=4)
