"""Does it matter what an addition to the prompt says? One against another."""

import math

from report.datasets.formats.conditions import called
from report.figures.parts import one_row, received, received_numbers, score_terms
from report.figures.parts.received import Panels


def title(data: Panels) -> str:
    first, second = data.lines.values()
    return f"{first[:1].upper()}{first[1:]} vs {received.lower(second)}"


def caption(data: Panels) -> str:
    first, second = data.lines.values()
    compared = f"All positions of two prompts, “{first}” and “{second}”."
    if _both_add(data):
        compared = (
            f"All positions of two prompts that differ in {_where(data)}the {data.noun}: “{first}” "
            f"or “{second}”."
        )
    same = ""
    if one_row.same_positions(data, data.places):
        same = " What both add is equally long and at the same positions, which are grey."
    line = "A line is the attention weight of each position."
    return f"{line} {compared}{same}{received.bands(data)}\n{received.explained(data)}"


def _texts(data):
    """The prompt under each condition, as the model of each panel reads it."""
    return [place.model.condition(name) for place in data.places for name in data.lines]


def _both_add(data):
    """Whether both conditions add something to the prompt, in every panel."""
    return all(text.new for text in _texts(data))


def _where(data):
    """The clause that names the segment after the added ones; "" if they stand before different
    segments, or before none."""
    before = set()
    for text in _texts(data):
        segments = list(text.segments)
        before |= {*segments[segments.index(text.added) + 1 :][:1]}
    if len(before) != 1:
        return ""
    (name,) = before
    return f"what stands before {called(name, data.label)}, "


def seen(data: Panels, **state: str) -> str:
    """The mean weight of a token that the first condition adds, as a multiple of the mean weight of
    one that the second adds, by panel."""
    first_weights, second_weights = (
        [received_numbers.inside(place, condition, **state) for place in data.places]
        for condition in data.lines
    )
    first, second = data.lines.values()
    if min(second_weights) <= 0 or any(w != w for w in first_weights + second_weights):
        return f"“{first}” and “{second}” cannot be compared in every panel."
    times = [a / b for a, b in zip(first_weights, second_weights, strict=True)]
    each = "Panel by panel, a" if len(times) > 1 else "A"
    return (
        f"{each} token of “{first}” gets {score_terms.listed(_as_exact(times))} times what one of "
        f"“{second}” gets. The weights are means over the {data.noun}.{received.straddling(data)}"
    )


def _as_exact(values):
    """Ratios in words, the smallest with two significant digits, all with as many decimals."""
    digits = max(0, 1 - math.floor(math.log10(min(values)))) if min(values) > 0 else 2
    return [f"{value:,.{digits}f}" for value in values]


figure = one_row.figure(
    __doc__,
    title,
    caption,
    seen,
    styles=(received.RED, received.ORANGE),
    cut=False,
    shaded=True,
)
