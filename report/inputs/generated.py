"""Sentences in which one of two names must be given back, generated: "givers".

"When Mary and John went to the store, John gave a drink to" goes on with Mary. The sentences come
in pairs, which differ only in who is named first, and go round a few forms. The same seed and words
give the same sentences.
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
"""Words that are needed of each sort: two for a sentence, and two others for its resampling."""

Fits = Callable[[str], bool]
"""Whether a word, with a space before it, is one token of the model at hand."""


@dataclass(frozen=True)
class Generated:
    """A sentence, how it goes on, and another one like it."""

    text: str
    form: int
    """Index in `FORMS`."""
    giver_first: bool
    """Whether who gives is named first."""
    target: str
    """The other name, with the space before it: the right answer."""
    other: str
    """The giver's, with the space before it."""
    resampled: str
    """The same sentence with two other names, another place and another thing."""


def require_set(name: str) -> None:
    """Stop for a set that there is not.

    raises: ReportError with those there are
    """
    if name not in SETS:
        raise ReportError(
            f"unknown set of generated sentences {quoted(name)}; known: {', '.join(SETS)}"
        )


def known_words(fits: Fits, model: str) -> dict[str, list[str]]:
    """The "names", "places" and "things" that are one token each.

    model: its name, for messages
    raises: ReportError if there are too few, since the answer is one token, and sentences that are
        resampled must be equally long
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
    """Sentences in pairs: first who gives is named second, then first.

    words: the result of `known_words`
    """
    rng, pairs = np.random.default_rng(seed), []
    while len(pairs) < number:
        form = len(pairs) // 2 % len(FORMS)
        names = [str(name) for name in rng.permutation(words["names"])[:4]]
        places, things = (rng.choice(words[sort], 2).tolist() for sort in ("places", "things"))
        for giver_first in (False, True):
            texts = [
                _sentence(
                    form, names[2 * each : 2 * each + 2], places[each], things[each], giver_first
                )
                for each in (0, 1)
            ]
            receiver, giver = names[:2]
            pairs.append(
                Generated(texts[0], form, giver_first, f" {receiver}", f" {giver}", texts[1])
            )
    return pairs[:number]


def _sentence(form, names, place, thing, giver_first):
    """names: who receives, who gives."""
    first, second = names[::-1] if giver_first else names
    return FORMS[form].format(one=first, two=second, giver=names[1], place=place, thing=thing)
