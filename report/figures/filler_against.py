"""Does it matter what a filler says? Meaningless tokens against a sentence of the same length."""

from report.figures.parts import choices, received, score_terms
from report.figures.parts.one_row import OneRow
from report.figures.parts.received import use  # noqa: F401 (a figure has it)
from report.text import number

NAME = "filler_against"
ROW = OneRow(NAME, (received.BLUE, received.ORANGE), cut=False, span="Filler")
left_out = ROW.left_out
controls = ROW.controls
columns = ROW.columns
boxes = ROW.boxes
panels = ROW.panels
legends = ROW.legends
chart = ROW.chart
rows = ROW.rows
alt = ROW.alt


def title(data):
    one, other = data.lines.values()
    return f"{one} vs {received.lower(other)}"


def caption(data):
    one, other = data.lines.values()
    same = ""
    if ROW.shaded(data):
        same = " Both fillers are equally long and stand at the same positions, which are grey."
    return (
        "All positions of two prompts that differ in what stands before the question, the filler: "
        f"“{one}” or “{other}”.{same}{received.bands(data)}\n{received.explained(data)}"
    )


def seen(data, **state):
    """What one addition gets of the weight that the other gets, panel by panel."""
    at = choices.values(controls(data), state)
    one, other = (
        [received.inside(place, condition, **at) for place in data.places]
        for condition in data.lines
    )
    first, second = data.lines.values()
    if min(other) <= 0 or any(value != value for value in one + other):
        return f"“{first}” and “{second}” cannot be compared in every panel."
    times = [mine / theirs for mine, theirs in zip(one, other, strict=True)]
    order = ", panel by panel" if len(times) > 1 else ""
    return (
        f"In the filler, a token of “{first}” gets {score_terms.listed(_as_exact(times))} times "
        f"the average weight that a token of “{second}” gets{order}."
    )


def _as_exact(values):
    """Numbers as words, all with as many decimals as the one that needs most."""
    digits = max(len(number(each).partition(".")[2]) for each in values)
    return [f"{each:,.{digits}f}" for each in values]
