"""Ordered lists, such as days, of the words that are single tokens of a vocabulary."""

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.errors import ReportError
from report.models.load.tokenizing import encoded

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

LEAST = 5
"""Fewest steps, from a token to the next, of a list that is used."""

WORDS = {
    "numbers": map(str, range(201)),
    "number words": (
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty"
    ).split(),
    "ordinals": "first second third fourth fifth sixth seventh eighth ninth tenth".split(),
    "days": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "months": (
        "January February March April May June July August September October November December"
    ).split(),
    "letters": string.ascii_uppercase,
}
WORDS = {name: tuple(words) for name, words in WORDS.items()}
"""Name of a list -> its words, in English and in digits."""

CYCLES = ("days", "months")
"""Lists whose last word is followed by the first."""


@dataclass(frozen=True)
class OrderedList:
    """The words of a list that are single tokens.

    token_ids: all different
    steps: (index in `token_ids` of a word, of the next word), where both are tokens
    """

    name: str
    token_ids: tuple[int, ...]
    steps: tuple[tuple[int, int], ...]


def ordered_lists(loaded: "LoadedModel") -> list[OrderedList]:
    """The lists of `LEAST` steps or more in a model's vocabulary, of words with a space before them
    or without, whichever have more steps.

    raises: ReportError if there is no such list
    """
    lists = []
    for name, words in WORDS.items():
        both = [_of_tokens(loaded, name, [before + word for word in words]) for before in (" ", "")]
        lists += [each for each in [max(both, key=_steps)] if _steps(each) >= LEAST]
    if not lists:
        raise ReportError(
            f"model '{loaded.identity['name']}' has no ordered list of which {LEAST} words and the "
            f"next ones are single tokens, in English or in digits ({', '.join(WORDS)}), so its "
            "heads have no successor scores; leave out `successor`"
        )
    return lists


def _steps(ordered_list):
    return len(ordered_list.steps)


def _of_tokens(loaded, name, words):
    """The `OrderedList` of words, few or none of which may be tokens."""
    tokens = [_token(loaded.tokenizer, word) for word in words]
    places = {}
    for token in tokens:
        if token is not None:
            places.setdefault(token, len(places))
    after = [*tokens[1:], tokens[0] if name in CYCLES else None]
    steps = [
        (places[now], places[then])
        for now, then in zip(tokens, after, strict=True)
        if None not in (now, then)
    ]
    return OrderedList(name, tuple(places), tuple(steps))


def _token(tokenizer, word):
    """The id of a word that is a single token, else None."""
    ids = encoded(tokenizer, word, add_special_tokens=False)["input_ids"]
    return ids[0] if len(ids) == 1 and ids[0] != tokenizer.unk_token_id else None
