"""The terms of a score: which of them a model has, and what a reader knows them by."""

from collections.abc import Iterable, Sequence

import numpy as np

from report.datasets.formats.attention import PLACED, DecodedAttention, DecodedTerm
from report.datasets.read.model import with_memory
from report.figures.parts.theme import KINDS, TERMS
from report.kinds.passage.data import PassageData, Token
from report.text import set_apart, shortened

POSITION_NAMES = {"target_difference": "ALiBi", "cell": "rotary position"}
"""How the position term is stored -> what it is called: ALiBi is a difference of two targets."""

ROW_CONSTANT = "row constant"

MIXED = "content and position"

NAMES = {"row_constant": ROW_CONSTANT, "mixed": MIXED} | {
    name: name.replace("_", " × ") for name in PLACED[1:]
}
"""Terms whose names are others in prose than in datasets."""

ITSELF, FIRST, ANOTHER = KINDS


@with_memory(lambda _: 1)
def choosing(data: PassageData) -> dict[str, str]:
    """The terms that can choose between targets, of "content", "mixed", "bias" and "position".

    A term that is the same for all targets in every head is left out. A model of which only scores
    are known has no such term. One that adds positions to its embeddings has "mixed" in place of
    "content", in a layer that tells both apart too.

    returns: dict of term to what its values belong to, see `PassageData.terms`
    """
    known = {*data.terms, *data.capabilities.get("terms", ())}
    mixed = bool(known & {"mixed", *PLACED[1:]})
    known |= {"content"} if mixed else set()
    wanted = [name for name in TERMS if name in known]
    wanted = ["mixed" if mixed and name == "content" else name for name in wanted]
    per = {}
    for layer, head in np.ndindex(data.layers, data.heads):
        missing = [name for name in wanted if name not in per]
        if not missing:
            break
        attention = data.attention(layer, head)
        for name in missing:  # a layer without positions of its own lacks the term
            found = term(attention, name)
            if found is not None and np.ptp(found.values) > 0:
                per[name] = found.per
    return {name: per[name] for name in wanted if name in per}


def names(data: PassageData) -> dict[str, str]:
    """dict of term to its name: the terms of `choosing`, the parts of "mixed" where a layer has
    them, and the row constant where it counts."""
    named = {name: NAMES.get(name, name) for name in choosing(data)}
    if "position" in named:
        named["position"] = POSITION_NAMES[choosing(data)["position"]]
    if "mixed" in named:
        named |= {
            name: NAMES.get(name, "content × content") for name in PLACED if name in data.terms
        }
    if has_row_constant(data):
        named["row_constant"] = ROW_CONSTANT
    return named


def short(name: str) -> str:
    """What stands at a line or an axis, where a phone has room for some twenty signs."""
    return f"{name} term" if len(name) <= len("rotary position") else name


def stated(name: str, terms: Sequence[str], kind: str | None = None) -> str:
    """What a list of a model's terms calls one of them; kind: of its position term, if known."""
    if name in PLACED and PLACED[-1] in terms:
        return f"{NAMES.get(name, 'content × content')} (layer 0)"
    if name == "position" and kind:
        return f"position ({kind})"
    return NAMES.get(name, name.replace("_", " "))


def compares(data: PassageData) -> str:
    """The term of this model's scores that depends on both tokens: "content" or "mixed"."""
    return "mixed" if "mixed" in choosing(data) else "content"


def has_row_constant(data: PassageData) -> bool:
    """Whether a constant of a row of scores counts, as it does with a softcap or a sink."""
    return "row_constant" in data.terms


def position(data: PassageData) -> str | None:
    """The term that tells this model's scores where tokens are: "ALiBi", "rotary" or None.

    None where positions are a part of the hidden state, or where only scores are known.
    """
    return {"target_difference": "ALiBi", "cell": "rotary"}.get(choosing(data).get("position"))


def term(attention: DecodedAttention, name: str) -> DecodedTerm | None:
    """A term of a head, "mixed" also where it is stored as its parts; None where there is none."""
    parts = [attention.terms[part] for part in PLACED if part in attention.terms]
    if name == "mixed" and len(parts) == len(PLACED):
        total = sum(part.values for part in parts)
        return DecodedTerm(name, "cell", total, parts[0].visible)
    return attention.terms.get(name)


def matrix(attention: DecodedAttention, name: str) -> np.ndarray:
    """A term of every cell, float [query, key]; 0 where this layer does not have it."""
    found = term(attention, name)
    return np.zeros_like(attention.probability) if found is None else found.matrix()


def smallest(attention: DecodedAttention, name: str) -> np.ndarray:
    """The smallest value of a term among the targets that a token can see, float [query]."""
    found = term(attention, name)
    return np.zeros(len(attention.probability)) if found is None else found.smallest


def listed(words: Iterable[str | int]) -> str:
    """Words in a sentence: "a", "a and b", "a, b and c"."""
    *before, last = map(str, words)
    return f"{', '.join(before)} and {last}" if before else last


def kind(current_token: int, target_token: int) -> str:
    """What a target is to the current token: a key of `theme.KINDS`."""
    if target_token == current_token:
        return ITSELF
    return FIRST if target_token == 0 else ANOTHER


KIND = (
    f"datum.largest_target === datum.token ? '{ITSELF}' : "
    f"datum.largest_target === 0 ? '{FIRST}' : '{ANOTHER}'"
)
"""The same as an expression over a point of the table "points"."""


LONGEST = 60
"""Characters of a token that prose has at most."""


def quoted(token: Token, most: int = LONGEST) -> str:
    """A token in prose: its name between quotation marks, cut short where it is long.

    One that runs from right to left takes none of the sentence along.
    """
    return f"“{set_apart(shortened(token.name.strip() or token.name, most))}”"
