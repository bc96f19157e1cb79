"""Does it matter what a filler says? Meaningless tokens against a sentence of the same length."""

from report.figures.parts import choices, one_row, received, score_terms
from report.figures.parts.received import Panels
from report.text import number


def title(data: Panels) -> str:
    first, second = data.lines.values()
    return f"{first} vs {received.lower(second)}"


def caption(data: Panels) -> str:
    first, second = data.lines.values()
    same = ""
    if one_row.same_positions(data, data.places):
        same = " Both fillers are equally long and stand at the same positions, which are grey."
    return (
        "All positions of two prompts that differ in what stands before the question, the filler: "
        f"“{first}” or “{second}”.{same}{received.bands(data)}\n{received.explained(data)}"
    )


def seen(data: Panels, **state: str) -> str:
    """How many times the weight of a token of the second filler one of the first gets."""
    at = choices.values(figure.controls(data), state)
    first_weights, second_weights = (
        [received.inside(place, condition, **at) for place in data.places]
        for condition in data.lines
    )
    first, second = data.lines.values()
    if min(second_weights) <= 0 or any(w != w for w in first_weights + second_weights):
        return f"“{first}” and “{second}” cannot be compared in every panel."
    times = [a / b for a, b in zip(first_weights, second_weights, strict=True)]
    order = ", panel by panel" if len(times) > 1 else ""
    return (
        f"In the filler, a token of “{first}” gets {score_terms.listed(_as_exact(times))} times "
        f"the average weight that a token of “{second}” gets{order}."
    )


def _as_exact(values):
    """Numbers as words, all with as many decimals as the one that needs most."""
    digits = max(len(number(value).partition(".")[2]) for value in values)
    return [f"{value:,.{digits}f}" for value in values]


figure = one_row.figure(
    __doc__,
    title,
    caption,
    seen,
    styles=(received.BLUE, received.ORANGE),
    cut=False,
    span="Filler",
)
