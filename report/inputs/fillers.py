"""Fillers: text without meaning for the question, to be put between system prompt and question.

    repeated          a string over and over
    repeated_apart    the same, with space between where the vocabulary would merge it
    repeated_tokens   the same, as often as it takes for a number of tokens
    sentence          one random sentence of a number of tokens
    random_words      tokens drawn from the vocabulary, of a number of tokens together

How many tokens a text has is seen only in its place, where its ends may merge with what stands
around. So all but the first are given `count`, a function from a filler (str) to the number of
tokens it has in the prompt, and look for a text that has exactly as many as are wanted. The same
seed and the same counts give the same text.
"""

import numpy as np

from report.errors import ReportError

BETWEEN = ("", " ", "\n")
"""What may stand between repetitions, so that each is a token: some vocabularies have "////"."""
STEPS = 2000
"""Changes after which the search for a sentence or for words is given up."""
FAR = 12
"""From this many tokens too many or too few on, whole clauses go or come."""

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


def repeated(string="/", times=55, between=""):
    """`string` over and over, `times` of it."""
    return between.join([string] * times)


def repeated_apart(count, string="/", times=55):
    """`string` so many times, apart where it would have fewer tokens than repetitions.

    Some vocabularies have tokens of many slashes. Where nothing keeps it apart, as it is.
    """
    texts = [repeated(string, times, between) for between in BETWEEN]
    return next((text for text in texts if count(text) >= times), texts[0])


def repeated_tokens(count, tokens, string="/"):
    """`string` as often as it takes to have exactly `tokens` tokens, apart where it would merge.

    raises: ReportError if it was not found, as where a repetition takes more than that
    """
    for between in BETWEEN:
        for times in range(tokens, 0, -1):
            text = repeated(string, times, between)
            found = count(text)
            if found == tokens:
                return text
            if found < tokens:  # fewer repetitions have fewer still
                break

    def written(spaces):
        return "".join(string + space for space in spaces).rstrip(" ")

    text = _fitted([" "] * tokens, _change_spaces, written, count, tokens, np.random.default_rng(0))
    if text is not None:
        return text
    raise ReportError(
        f"{string!r} cannot be repeated to exactly {tokens} tokens; choose another number or string"
    )


def sentence(count, tokens, seed=0):
    """A random sentence, grammatical if meaningless, of exactly `tokens` tokens.

    raises: ReportError if none was found, as for very few tokens
    """
    rng = np.random.default_rng(seed)
    text = _fitted([_clause(rng)], _change_sentence, _written, count, tokens, rng)
    if text is None:
        raise ReportError(
            f"found no sentence of exactly {tokens} tokens; ask for more tokens, 8 at least"
        )
    return text


def random_words(count, tokens, words, seed=0):
    """Random words, exactly `tokens` tokens together.

    words: list of str to draw from, with the white space that belongs to them, such as
        `report.models.text.segments.ordinary_tokens` finds
    raises: ReportError if none were found
    """
    rng = np.random.default_rng(seed)
    drawn = [_pick(rng, words) for _ in range(tokens)]

    def change(state, missing, rng):
        place = rng.integers(len(state))
        if missing > 0 and rng.integers(2):
            return [*state[:place], _pick(rng, words), *state[place:]]
        if missing < 0 and len(state) > 1 and rng.integers(2):
            return [*state[:place], *state[place + 1 :]]
        return [*state[:place], _pick(rng, words), *state[place + 1 :]]

    text = _fitted(drawn, change, "".join, count, tokens, rng)
    if text is None:
        raise ReportError(
            f"found no random words of exactly {tokens} tokens; choose another number of tokens"
        )
    return text


def _fitted(state, change, written, count, tokens, rng):
    """The text of a state with as many tokens as wanted, reached by random changes; or None.

    change: function of a state, of how many tokens it lacks and of rng, to a new state
    """
    missing = tokens - count(written(state))
    for _ in range(STEPS):
        if missing == 0:
            return written(state)
        changed = change(state, missing, rng)
        left = tokens - count(written(changed))
        if abs(left) <= abs(missing):
            state, missing = changed, left
    return None


def _change_spaces(spaces, missing, rng):
    """One repetition more or less, or something else after one of them."""
    place = rng.integers(len(spaces))
    after = [_pick(rng, BETWEEN)]
    if missing > 0 and rng.integers(2):
        return spaces[:place] + after + spaces[place:]
    if missing < 0 and len(spaces) > 1 and rng.integers(2):
        return spaces[:place] + spaces[place + 1 :]
    return spaces[:place] + after + spaces[place + 1 :]


def _clause(rng):
    """[joint, adjective, noun, verb, adverb, rest], each a list of words; 1, 4, 5 may be empty."""
    clause = [[_pick(rng, values)] for values in (JOINTS, ADJECTIVES, NOUNS, VERBS)]
    return [*clause, [], []]


def _change_sentence(clauses, missing, rng):
    """The same sentence with one clause more or less, or with one part of one made anew."""
    if missing > FAR:
        return [*clauses, _clause(rng)]
    if missing < -FAR and len(clauses) > 1:
        return clauses[:-1]
    changed, part = rng.integers(len(clauses)), rng.integers(6)
    values = (JOINTS, ADJECTIVES, NOUNS, VERBS, ADVERBS, PLACES)[part]
    new = [_pick(rng, values)]
    if part == 5:
        new += ["the", _pick(rng, NOUNS)]
    if part in (1, 4, 5) and rng.integers(2):
        new = []
    clause = [*clauses[changed][:part], new, *clauses[changed][part + 1 :]]
    return [*clauses[:changed], clause, *clauses[changed + 1 :]]


def _written(clauses):
    """The sentence: clauses joined, a capital first and a full stop at the end."""
    said = []
    for joint, *parts in clauses:
        said += [*joint, "the", *(word for part in parts for word in part)]
    return " ".join(said[1:]).capitalize() + "."  # the first clause joins nothing


def _pick(rng, values):
    return values[rng.integers(len(values))]
