"""Questions with known answers, generated: sums, differences, and word problems of 1 or 2 steps.

Numbers are small, since small models are asked too: all answers are whole numbers from 2 to 111.
The same seed gives the same questions.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

KINDS = ("sums", "differences", "word problems of one step", "word problems of two steps")

NAMES = "Ann Ben Clara David Emma Frank Greta Henry Iris Jonas Karen Louis Maria Nils".split()
THINGS = "apples books buttons candles coins cups eggs lemons letters pens shells stamps".split()


@dataclass(frozen=True)
class Question:
    """A question and the right answer to it."""

    kind: str
    """One of `KINDS`."""
    text: str
    answer: int


@dataclass(frozen=True)
class _Form:
    """How questions of a form are said, and what their answer is.

    Numbers are drawn from the ranges one after the other; `fits` says which draws make sense.
    """

    kind: str
    text: str
    """With {name} and {things}, and the numbers {a}, {b} and {c}."""
    ranges: tuple[tuple[int, int], ...]
    """Of each number, smallest and largest."""
    answer: Callable[..., int]
    fits: Callable[..., bool] = lambda *numbers: True


_SOME = (2, 30)
_FEW = (2, 9)
FORMS = (
    _Form("sums", "What is {a} + {b}?", (_SOME, _SOME), lambda a, b: a + b),
    _Form(
        "differences", "What is {a} - {b}?", (_SOME, _SOME), lambda a, b: a - b, lambda a, b: a > b
    ),
    _Form(
        "word problems of one step",
        "{name} has {a} {things} and gets {b} more. How many {things} does {name} have now?",
        (_SOME, _SOME),
        lambda a, b: a + b,
    ),
    _Form(
        "word problems of one step",
        "There were {a} {things} in a box, and {name} took {b} of them. How many {things} are left "
        "in the box?",
        (_SOME, _SOME),
        lambda a, b: a - b,
        lambda a, b: a > b,
    ),
    _Form(
        "word problems of one step",
        "{name} fills {a} bags with {b} {things} each. How many {things} are in the bags together?",
        (_FEW, _FEW),
        lambda a, b: a * b,
    ),
    _Form(
        "word problems of two steps",
        "{name} had {a} {things}, bought {b} more, and then gave {c} away. How many {things} does "
        "{name} have now?",
        (_SOME, _SOME, _SOME),
        lambda a, b, c: a + b - c,
        lambda a, b, c: a + b > c,
    ),
    _Form(
        "word problems of two steps",
        "{name} packs {a} boxes with {b} {things} each and keeps {c} more in a drawer. How many "
        "{things} is that in all?",
        (_FEW, _FEW, _SOME),
        lambda a, b, c: a * b + c,
    ),
    _Form(
        "word problems of two steps",
        "{name} buys {a} packs of {b} {things}. Then {c} of the {things} get lost. How many "
        "{things} are left?",
        (_FEW, _FEW, _FEW),
        lambda a, b, c: a * b - c,
        lambda a, b, c: a * b > c,
    ),
)


def questions(number: int, seed: int = 0) -> list[Question]:
    """Different questions, as many of each kind of `KINDS` as can be, kind after kind in turn.

    number: of questions, at most 1,200
    """
    rng, drawn = np.random.default_rng(seed), {}
    while len(drawn) < number:
        kind = KINDS[len(drawn) % len(KINDS)]
        forms = [form for form in FORMS if form.kind == kind]
        question = _drawn(forms[rng.integers(len(forms))], rng)
        if question.answer > 1:
            drawn.setdefault(question.text, question)
    return list(drawn.values())


def _drawn(form, rng):
    """A question of a form."""
    while True:
        numbers = [int(rng.integers(low, high + 1)) for low, high in form.ranges]
        if form.fits(*numbers):
            break
    words = {"name": NAMES[rng.integers(len(NAMES))], "things": THINGS[rng.integers(len(THINGS))]}
    text = form.text.format(**words, **dict(zip("abc", numbers, strict=False)))
    return Question(form.kind, text, form.answer(*numbers))
