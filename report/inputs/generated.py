"""The set of generated sentences "givers", whose next word is the name of who receives a thing.

"When Mary and John went to the store, John gave a drink to" goes on with Mary. The sentences come
in pairs, which differ only in who is named first, and take a few forms in turn. The same seed and
words give the same sentences.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from report.errors import ReportError
from report.text import quoted

NAMES = (
    "Mary John Anna Peter Sarah David Emma Paul Alice James Laura Mark Julia Tom Kate Robert Jane "
    "Michael Lucy Henry Susan George Helen Jack Lisa Daniel Rose Adam Grace Simon Ann Tim"
).split()
PLACES = "store park house school office garden kitchen station market library beach".split()
THINGS = "drink book ring letter key cake gift flower ball box card map".split()

FORMS = (
    "When {one} and {two} went to the {place}, {giver} gave a {thing} to",
    "Then {one} and {two} met at the {place}. {giver} handed a {thing} to",
    "While {one} and {two} were in the {place}, {giver} passed a {thing} to",
    "After {one} and {two} left the {place}, {giver} sold a {thing} to",
)

SETS = ("givers",)

FEWEST = {"names": 4, "places": 1, "things": 1}
"""Fewest words of each sort: two names of a sentence, and two others of its resampled sentence."""

Fits = Callable[[str], bool]
"""Whether a word, with a space before it, is one token of the model at hand."""


@dataclass(frozen=True)
class Generated:
    """A sentence, how it goes on, and another one like it."""

    text: str
    form: int
    """Index in `FORMS`."""
    giver_first: bool
    """Whether the giver's name comes first in the sentence."""
    target: str
    """The receiver's name with the space before it: the right answer."""
    other: str
    """The giver's name with the space before it: the wrong answer."""
    resampled: str
    """A sentence of the same form and order with two new names. Its place and its thing are drawn
    anew, and may be the same."""


def require_set(name: str) -> None:
    """Check the name of a set.

    raises: ReportError with the known names
    """
    if name not in SETS:
        raise ReportError(
            f"unknown set of generated sentences {quoted(name)}; known: {', '.join(SETS)}"
        )


def known_words(fits: Fits, model: str) -> dict[str, list[str]]:
    """The words that are one token each: "names", "places" or "things" -> words.

    model: its name, for messages
    raises: ReportError if a sort has fewer than `FEWEST`: the answer has to be one token, and a
        resampled sentence as long as its original
    """
    sorts = {"names": NAMES, "places": PLACES, "things": THINGS}
    known = {sort: [word for word in words if fits(word)] for sort, words in sorts.items()}
    for sort, fewest in FEWEST.items():
        if len(known[sort]) < fewest:
            raise ReportError(
                f"of {len(sorts[sort])} {sort}, {model} knows {len(known[sort])} as one token "
                f"each, and {fewest} are needed; take a model with a larger vocabulary, or leave "
                "`generated` out"
            )
    return known


def sentences(number: int, seed: int, words: Mapping[str, Sequence[str]]) -> list[Generated]:
    """Sentences in pairs: the giver's name comes second in the first of a pair, else first.

    number: of sentences, not pairs; an odd number cuts the last pair
    words: the result of `known_words`
    """
    rng, result = np.random.default_rng(seed), []
    while len(result) < number:
        form = len(result) // 2 % len(FORMS)
        names = [str(name) for name in rng.permutation(words["names"])[:4]]
        places, things = (rng.choice(words[sort], 2).tolist() for sort in ("places", "things"))
        for giver_first in (False, True):
            text, resampled = (
                _sentence(
                    form, names[2 * draw : 2 * draw + 2], places[draw], things[draw], giver_first
                )
                for draw in (0, 1)
            )
            receiver, giver = names[:2]
            right, wrong = f" {receiver}", f" {giver}"
            result.append(Generated(text, form, giver_first, right, wrong, resampled))
    return result[:number]


def _sentence(form, names, place, thing, giver_first):
    """The text of a sentence; names: the receiver's and the giver's."""
    first, second = names[::-1] if giver_first else names
    return FORMS[form].format(one=first, two=second, giver=names[1], place=place, thing=thing)
