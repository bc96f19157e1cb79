"""The terms of a score, by the names that a reader knows them by, and which of them a model has."""

import functools

import numpy as np

from report.figures.parts.theme import KINDS, TERMS
from report.text import shortened

POSITION_NAMES = {"target_difference": "ALiBi", "cell": "rotary position"}
"""How the position term is stored -> what it is called: ALiBi is a difference of two targets."""

ROW_CONSTANT = "row constant"

ITSELF, FIRST, ANOTHER = KINDS


@functools.lru_cache(maxsize=16)
def choosing(data):
    """The terms that can choose between targets: dict of "content", "bias", "position" to `per`.

    A term that is the same for all targets, in every head, is absent: it has no say. A model of
    which only scores are known has none.
    """
    known = {*data.terms, *data.capabilities.get("terms", ())}
    wanted = [name for name in TERMS if name in known]
    found = {}
    for layer, head in np.ndindex(data.layers, data.heads):
        missing = [name for name in wanted if name not in found]
        if not missing:
            break
        terms = data.attention(layer, head).terms
        for name in missing:  # a layer without positions of its own lacks the term
            if name in terms and np.ptp(terms[name].values) > 0:
                found[name] = terms[name].per
    return {name: found[name] for name in wanted if name in found}


def names(data):
    """dict of term to its name: those of `choosing`, and the row constant where it counts."""
    found = {name: name for name in choosing(data)}
    if "position" in found:
        found["position"] = POSITION_NAMES[choosing(data)["position"]]
    if has_row_constant(data):
        found["row_constant"] = ROW_CONSTANT
    return found


def has_row_constant(data):
    """True where what is the same for all targets counts too: with a softcap or a sink."""
    return "row_constant" in data.terms


def position(data):
    """What tells this model's scores where tokens are: "ALiBi", "rotary" or None.

    None where positions are a part of the hidden state, or where only scores are known.
    """
    return {"target_difference": "ALiBi", "cell": "rotary"}.get(choosing(data).get("position"))


def matrix(attention, name):
    """A term of every cell, float [query, key]; 0 where this layer does not have it."""
    if name not in attention.terms:
        return np.zeros_like(attention.probability)
    return attention.terms[name].matrix()


def listed(words):
    """Words in a sentence: "a", "a and b", "a, b and c"."""
    *before, last = map(str, words)
    return f"{', '.join(before)} and {last}" if before else last


def kind(current_token, target_token):
    """What a target is to the current token: a key of `_theme.KINDS`."""
    if target_token == current_token:
        return ITSELF
    return FIRST if target_token == 0 else ANOTHER


KIND = (
    f"datum.largest_target === datum.token ? '{ITSELF}' : "
    f"datum.largest_target === 0 ? '{FIRST}' : '{ANOTHER}'"
)
"""The same as an expression over a point of the table "points"."""


LONGEST = 60
"""Characters of a token that prose has."""


def quoted(token):
    """A token in prose: its label between quotation marks, cut short where it is long."""
    return f"“{shortened(token.label.strip() or token.label, LONGEST)}”"
