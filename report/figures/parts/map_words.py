"""What attention maps say of themselves: how to read one, and what a reader can do with it."""

from report.kinds.passage.data import PassageData


def explained(data: PassageData) -> str:
    """How to read a map of these data, plain text."""
    return (
        "A row is a current token (query), a column a target token (key) that it may attend to: "
        f"{_reach(data)} Shade is the probability, on a logarithmic scale that "
        "begins at 0.1 %. Markers are on the top targets of a row: the "
        f"fewest that together hold half of its probability, at most 11.{_sink(data)}"
    )


def use(data: PassageData) -> str:
    """What the switch and pointing at a cell do."""
    return (
        "The switch leads from probabilities to scores: below the largest of their row, which is "
        f"all that softmax knows of them, or as they are, {_score(data)}. Scores of two rows can "
        "be compared only roughly; the lowest and the highest 2 % have one shade each. "
        "Point at a cell, or use the arrow keys, to read both tokens, the "
        f"score{_terms_too(data)} and the probability. "
        "Look closer by the buttons below, Ctrl or Alt with the wheel, two fingers, a double click "
        "or + and −; then drag. The key 0 shows all. A pixel shows the cell with the largest "
        "probability."
    )


def _reach(data):
    which = "itself or an earlier one"
    if not data.causal:
        which = "every token, itself, earlier and later ones alike"
    windows = sorted({window for window in data.windows if window})
    if not windows:
        return f"{which}."
    *others, last = (str(window) for window in windows)
    tokens = f"{', '.join(others)} or {last}" if others else last
    nearest = f"the last {tokens}" if data.causal else f"the {tokens} around it"
    layers = "in some layers" if None in data.windows else "here"
    return f"{which}; {layers} only {nearest}, itself included."


def _score(data):
    softcap = data.attention(0, 0).softcap
    if softcap is None:
        return "before softmax"
    return f"as it enters softmax, where the model keeps it between −{softcap:g} and {softcap:g}"


def _sink(data):
    if data.attention(0, 0).sink is None:
        return ""
    return (
        " The probabilities of a row sum to less than 1: the rest goes to a sink, a score of the "
        "head's own that belongs to no token."
    )


def _terms_too(data):
    return ", its terms" if len(data.terms) > 1 else ""
