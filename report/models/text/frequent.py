"""Words that are single tokens of a vocabulary, the most frequent ones of some texts."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from report.errors import ReportError
from report.models.text.tokens import encode_texts
from report.models.text.vocabulary import words

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

SHORTEST = 3
"""Fewest letters of a word."""

LEAST = 20
"""Fewest words to go on with."""


def frequent_words(loaded: "LoadedModel", texts: Iterable[str], most: int) -> list[int]:
    """Ids of the tokens that the most texts have, by number of texts, then by id. They consist of
    `SHORTEST` letters or more, with a space before them or without.

    most: greatest number of tokens
    raises: ReportError if there are fewer than `LEAST`
    """
    counts = Counter()
    for ids in encode_texts(loaded, list(texts)).token_ids.values():
        counts.update({*ids})
    special = {*loaded.tokenizer.all_special_ids}
    spelling = {token: each["text"].strip() for token, each in words(loaded, counts).items()}
    chosen = [
        token
        for token in sorted(counts, key=lambda token: (-counts[token], token))
        if spelling[token].isalpha() and len(spelling[token]) >= SHORTEST and token not in special
    ]
    if len(chosen) < LEAST:
        raise ReportError(
            f"model '{loaded.identity['name']}' has {len(chosen)} tokens of {SHORTEST} letters or "
            f"more in the texts that ship, and {LEAST} are needed to say what heads write for what "
            "they read; leave out `copying`"
        )
    return chosen[:most]
