"""Fillers: text that has nothing to do with the question, put between system prompt and question.

    repeated          a string repeated
    repeated_apart    the same, with spaces between where the tokenizer would merge repetitions
    repeated_tokens   the same, repeated until it has a number of tokens
    sentence          one random sentence of a number of tokens
    random_words      words drawn from the vocabulary, together of a number of tokens

The ends of a filler may merge with the text around it, so its tokens can be counted only in the
prompt. All but the first function take `count`, a function from a filler to its number of tokens in
the prompt, and search for a text with exactly the number wanted. The same seed and the same counts
give the same text.
"""

from collections.abc import Callable, Sequence

import numpy as np

from report.errors import ReportError

BETWEEN = ("", " ", "\n")
"""What may stand between repetitions, to keep them apart: some vocabularies have a token "////"."""
STEPS = 2000
"""Changes after which the search for a sentence or for words is given up."""
FAR = 12
"""If the number of tokens is off by more than this, whole clauses are added or removed."""

ADJECTIVES = (
    "old small green quiet tall gentle dusty yellow early heavy lonely bright clever narrow wooden "
    "soft distant hungry broken northern"
).split()
NOUNS = (
    "river cloud baker window harbour fox forest letter candle meadow stranger violin cat bridge "
    "tailor shadow valley orchard wind owl"
).split()
VERBS = (
    "waits sleeps sings stands drifts listens wanders rests dreams hides shines turns whispers "
    "falls stays grows lingers leans climbs hurries"
).split()
ADVERBS = "softly often slowly again alone gladly there still today quietly".split()
PLACES = "near behind under above beside beyond along before over by".split()
JOINTS = ("and", "while", "because", "until", "but", "where")


def repeated(string: str = "/", times: int = 55, between: str = "") -> str:
    """`string` repeated `times` times."""
    return between.join([string] * times)


def repeated_apart(count: Callable[[str], int], string: str = "/", times: int = 55) -> str:
    """`string` repeated, with the first of BETWEEN that gives at least `times` tokens.

    Some vocabularies have tokens of many slashes. If nothing keeps the repetitions apart, nothing
    is put between them.
    """
    texts = [repeated(string, times, between) for between in BETWEEN]
    return next((text for text in texts if count(text) >= times), texts[0])


def repeated_tokens(count: Callable[[str], int], tokens: int, string: str = "/") -> str:
    """`string` repeated until it has exactly `tokens` tokens, apart where repetitions would merge.

    raises: ReportError if there is no such text, e.g. if one repetition has more tokens
    """
    for between in BETWEEN:
        for times in range(tokens, 0, -1):
            text = repeated(string, times, between)
            number = count(text)
            if number == tokens:
                return text
            if number < tokens:  # fewer repetitions have even fewer
                break

    def text_of(spaces):
        return "".join(string + space for space in spaces).rstrip(" ")

    text = _fitted([" "] * tokens, _change_spaces, text_of, count, tokens, np.random.default_rng(0))
    if text is not None:
        return text
    raise ReportError(
        f"{string!r} cannot be repeated to exactly {tokens} tokens; choose another number or string"
    )


def sentence(count: Callable[[str], int], tokens: int, seed: int = 0) -> str:
    """A random sentence of exactly `tokens` tokens, grammatical but meaningless.

    raises: ReportError if none is found, as for very few tokens
    """
    rng = np.random.default_rng(seed)
    text = _fitted([_clause(rng)], _change_sentence, _sentence, count, tokens, rng)
    if text is None:
        raise ReportError(
            f"found no sentence of exactly {tokens} tokens; ask for at least 8 tokens"
        )
    return text


def random_words(
    count: Callable[[str], int], tokens: int, words: Sequence[str], seed: int = 0
) -> str:
    """Random words, together exactly `tokens` tokens.

    words: to draw from, with their white space, as of `report.models.text.segments.ordinary_tokens`
    raises: ReportError if none are found
    """
    rng = np.random.default_rng(seed)
    drawn = [pick(rng, words) for _ in range(tokens)]

    def change(state, missing, rng):
        place = rng.integers(len(state))
        if missing > 0 and rng.integers(2):
            return [*state[:place], pick(rng, words), *state[place:]]
        if missing < 0 and len(state) > 1 and rng.integers(2):
            return [*state[:place], *state[place + 1 :]]
        return [*state[:place], pick(rng, words), *state[place + 1 :]]

    text = _fitted(drawn, change, "".join, count, tokens, rng)
    if text is None:
        raise ReportError(
            f"found no random words of exactly {tokens} tokens; choose another number of tokens"
        )
    return text


def _fitted(state, change, text_of, count, tokens, rng):
    """A text with the number of tokens wanted, reached by random changes of a state; or None.

    change: function from a state, the tokens it lacks and rng to a new state
    text_of: function from a state to its text
    """
    missing = tokens - count(text_of(state))
    for _ in range(STEPS):
        if missing == 0:
            return text_of(state)
        changed = change(state, missing, rng)
        left = tokens - count(text_of(changed))
        if abs(left) <= abs(missing):
            state, missing = changed, left
    return None


def _change_spaces(spaces, missing, rng):
    """Add or remove one repetition, or change what stands after one."""
    place = rng.integers(len(spaces))
    after = [pick(rng, BETWEEN)]
    if missing > 0 and rng.integers(2):
        return spaces[:place] + after + spaces[place:]
    if missing < 0 and len(spaces) > 1 and rng.integers(2):
        return spaces[:place] + spaces[place + 1 :]
    return spaces[:place] + after + spaces[place + 1 :]


def _clause(rng):
    """[joint, adjective, noun, verb, adverb, place], lists of words; 1, 4 and 5 may be empty."""
    clause = [[pick(rng, values)] for values in (JOINTS, ADJECTIVES, NOUNS, VERBS)]
    return [*clause, [], []]


def _change_sentence(clauses, missing, rng):
    """The sentence with a clause added or removed, or with one part of one clause replaced."""
    if missing > FAR:
        return [*clauses, _clause(rng)]
    if missing < -FAR and len(clauses) > 1:
        return clauses[:-1]
    changed, part = rng.integers(len(clauses)), rng.integers(6)
    values = (JOINTS, ADJECTIVES, NOUNS, VERBS, ADVERBS, PLACES)[part]
    new = [pick(rng, values)]
    if part == 5:
        new += ["the", pick(rng, NOUNS)]
    if part in (1, 4, 5) and rng.integers(2):
        new = []
    clause = [*clauses[changed][:part], new, *clauses[changed][part + 1 :]]
    return [*clauses[:changed], clause, *clauses[changed + 1 :]]


def _sentence(clauses):
    """The sentence: clauses joined, a capital first and a full stop at the end."""
    words = []
    for joint, *parts in clauses:
        words += [*joint, "the", *(word for part in parts for word in part)]
    return " ".join(words[1:]).capitalize() + "."  # the first clause joins nothing


def pick(rng: np.random.Generator, values: Sequence[str]) -> str:
    """One of several values, drawn."""
    return values[rng.integers(len(values))]
