"""The terms of a score, by the names that a reader knows them by."""

from report.figures._theme import KINDS, TERMS

POSITION_NAMES = {"target_difference": "ALiBi"}
"""How the position term is stored -> what it is called; only ALiBi is a difference of targets."""

ITSELF, FIRST, ANOTHER = KINDS


def names(data):
    """dict of term ("content", "bias", "position") to its name, for the terms this model has."""
    terms = data.attention(0, 0).terms
    found = {name: name for name in TERMS if name in terms}
    if "position" in found:
        found["position"] = POSITION_NAMES.get(terms["position"].per, "position")
    return found


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


def quoted(token):
    """A token in prose: its label between quotation marks."""
    return f"“{token.label.strip() or token.label}”"
