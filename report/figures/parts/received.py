"""Average attention weight by position, under several conditions: what the filler study's grids
share.

The study counts layers and heads from 1, in titles and in what an article writes; data, addresses
and the values of controls hold indices from 0. `panels` converts.
"""

import json
from dataclasses import dataclass

import altair
import numpy as np

from report.errors import ReportError
from report.figures.parts import choices, grid, score_terms, theme
from report.text import percent

COUNTED_FROM = 1
"""Of layers and heads, where a reader sees them."""

ASPECTS = {1: 2, 2: 1.6, 3: 1.3, 4: 1.1}
"""How many panels stand side by side -> width / height of each; more would be too narrow."""

PHONE_ASPECT = 1.35
"""The same of panels below each other."""

Y_TITLE = "Average Attention Weight"

REDUCTIONS = {"mean": "all that see the position", "last": "the last one only"}
"""Current tokens that a weight is the average over -> what the reader reads."""

LETTER = 7
"""Width of a letter of the span's name in pixels, rather too much."""

SPAN = ("#dde0e6", "#3a404d")
"""Grey behind the filler, on light and on dark."""


@dataclass(frozen=True)
class Style:
    """How a line looks; its dash tells it apart without colours."""

    mark: str
    """"line" or "dash", as in a legend."""
    light: str
    dark: str

    @property
    def dash(self):
        return [6, 3] if self.mark == "dash" else [1, 0]

    @property
    def shape(self):
        """Of a point on the line."""
        return "square" if self.mark == "dash" else "circle"


BLUE = Style("line", "#1f5fc4", "#7fb0ff")
RED = Style("dash", "#c62a35", "#ff8b86")
ORANGE = Style("dash", "#b65c00", "#ffb45e")


@dataclass(frozen=True)
class Place:
    """One head of one model."""

    model: object
    """`report.datasets.read.conditions.ModelConditions`."""
    layer: int
    """Index from 0, and so is `head`."""
    head: int

    @property
    def title(self):
        """What the study calls it, counted from 1."""
        layer, head = self.layer + COUNTED_FROM, self.head + COUNTED_FROM
        return f"{self.model.name} Layer {layer} Head {head}"


@dataclass(frozen=True)
class Line:
    """What is drawn of one condition."""

    condition: str
    label: str
    style: Style


@dataclass(frozen=True)
class Panels:
    """What a grid is drawn of; `panels` makes it."""

    places: tuple[Place, ...]
    """One a column."""
    lines: dict[str, str]
    """Name of a condition -> what the legend calls it; where two are compared, both."""
    filler: str
    """What the segment is called that the last of them has and the first condition has not."""
    rules: bool
    """Whether dashed rules stand at both its ends."""

    kind = "panels"
    address = ""
    """Of its files below those of the article: each model has a folder there."""


def panels(models, places, lines, filler="Meaningless tokens", rules=False):
    """`Panels` of heads that are counted from 1.

    models: list of `ModelConditions`
    places: list of (model, layer, head): the model's index in `models`, from 0; layer and head from
        1
    lines, filler, rules: see `Panels`
    raises: ReportError if a model is missing, or a layer or head is not counted from 1
    """
    found = []
    for model, layer, head in places:
        if not 0 <= model < len(models):
            raise ReportError(
                f"there is no model {model}; this study has {len(models)}, counted from 0."
            )
        if min(layer, head) < COUNTED_FROM:
            raise ReportError(
                f"layer {layer}, head {head}: these panels count layers and heads from "
                f"{COUNTED_FROM}; give the numbers of their titles."
            )
        found.append(Place(models[model], layer - COUNTED_FROM, head - COUNTED_FROM))
    if len(found) not in ASPECTS:
        raise ReportError(
            f"{len(found)} places are named; give 1 to {max(ASPECTS)} of them, each a (model, "
            "layer, head), and place another figure for more."
        )
    return Panels(tuple(found), dict(lines), filler, rules)


def left_out(data, lines):
    """Why panels cannot be drawn, one sentence; "" if they can. lines: how many are compared."""
    if not isinstance(data, Panels):
        return "It shows heads under several conditions, so it must be given panels of them."
    if len(data.lines) != lines:
        named = ", ".join(data.lines) or "none"
        return f"It compares {lines} conditions, but is given {len(data.lines)}: {named}."
    for place in data.places:
        model = place.model
        for what, index, count in (
            ("layer", place.layer, model.layers),
            ("head", place.head, model.heads),
        ):
            if index >= count:
                return (
                    f"Of {model.name} {count} {what}{'s' if count > 1 else ''} "
                    f"{'were' if count > 1 else 'was'} measured, so there is no {what} "
                    f"{index + COUNTED_FROM}, counted from {COUNTED_FROM}."
                )
        measured = [each.name for each in model.conditions]
        missing = [name for name in data.lines if name not in measured]
        if missing:
            return (
                f"{model.name} was not measured under the condition {missing[0]!r}, only under "
                f"{score_terms.listed(measured)}."
            )
    return ""


def check(name, data, lines):
    """Stop where a figure cannot be drawn.

    raises: ReportError saying why
    """
    reason = left_out(data, lines)
    if reason:
        raise ReportError(f"{name} cannot be drawn: {reason}")


def boxes(data, rows):
    """The `Box` of each panel of rows that have one for each place."""
    columns = len(data.places)
    width = grid.WIDTH if columns == 1 else grid.GRID_WIDTH // columns
    return [grid.Box(ASPECTS[columns], PHONE_ASPECT, width)] * (columns * rows)


def styled(data, *styles):
    """list of `Line`, the conditions of panels in these styles."""
    named = zip(data.lines.items(), styles, strict=True)
    return [Line(condition, label, style) for (condition, label), style in named]


def reduction_control(**options):
    """Switch between the averages over current tokens; options: other words for them."""
    return choices.Switch("reduction", "Current tokens", REDUCTIONS | options, "mean")


def legend(lines, filler=None):
    """The entries of a row's legend: those of lines, and of the shaded span if it has a name."""
    entries = [
        {"label": each.label, "mark": each.style.mark}
        | {"light": each.style.light, "dark": each.style.dark}
        for each in lines
    ]
    if filler:
        entries.append({"label": filler, "mark": "span", "light": SPAN[0], "dark": SPAN[1]})
    return entries


def named(data):
    """The filler's name within a sentence."""
    return lower(data.filler)


def lower(label):
    """A label within a sentence: its first letter small, unless it is an abbreviation."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def explained(data):
    """What the vertical axis is, over how many prompts, and how to read a position."""
    counts = sorted({place.model.prompts for place in data.places})
    prompts = score_terms.listed(counts)
    over = f" and then over {prompts} prompts" if counts[-1] > 1 else ""
    return (
        "The average attention weight of a position is the mean of its probability over the "
        f"current tokens that can see it{over}. Every panel has a scale of its own; layers and "
        "heads count from 1."
    )


def bands(data):
    """What the bands are, a sentence and a space before it, or nothing where there are none.

    It stands in what every figure says of itself: no legend has them.
    """
    several = any(place.model.prompts > 1 for place in data.places)
    return " Bands are one standard error over the prompts." if several else ""


def use(data):
    """What the switch and pointing at a position do."""
    several = any(place.model.prompts > 1 for place in data.places)
    which = "; its tokens are those of the first prompt" if several else ""
    return (
        "The switch shows what the last current token alone gives to each position. Point at a "
        "position, or focus a panel and use the arrow keys, to mark it in all panels and to read "
        f"its values{which}."
    )


# --- A panel -----------------------------------------------------------------------------------


def chart(name, place, lines, controls, *, cut, filler="", rules=False, follows=False):
    """The specification of one panel.

    name: of the figure; lines: list of `Line`; controls: at the state shown
    cut: whether positions are those of the first condition, so that what others add is left out
    filler: name of the shaded span, if it is shown; rules: whether its ends have dashed rules
    follows: whether layer and head are what the controls say
    """
    table = altair.Chart(altair.NamedData("lines"))
    back = [] if cut or not filler else _span(place.model, lines, filler, rules)
    if back:
        back.append(_headroom(table))
    x, colour, mark = _x(), _colour(lines), "original" if cut else "position"
    dash = altair.StrokeDash("condition:N", legend=None).scale(
        domain=[each.condition for each in lines], range=[each.style.dash for each in lines]
    )
    if place.model.prompts > 1:
        band = table.mark_area(opacity=0.24, aria=False)
        back.append(band.encode(x=x, y=_y("low"), y2="high:Q", color=colour))
    line = table.mark_line(strokeWidth=1.8, strokeJoin="round", aria=False)
    layer, head = ("{layer}", "{head}") if follows else (place.layer, place.head)
    return theme.frame(
        altair.layer(
            *back,
            line.encode(x=x, y=_y("mean"), color=colour, strokeDash=dash),
            *_marked(table, lines, x, colour, f"marked_{mark}"),
        ),
        name=name,
        description=f"{Y_TITLE} by position, {place.title}: a line chart",
        controls=controls,
        url=f"{place.model.address}received/{layer}/{head}.json",
        decode="received",
        datasets=["lines"],
        params=theme.marked(mark),
        tokens=f"{place.model.address}conditions.json",
        lines=[{"condition": each.condition, "label": each.label} for each in lines],
        cut=cut,
        points="positions",
        model=place.model.address,
        **(
            {"title": followed(place.model)}
            if follows
            else {"place": {"layer": place.layer, "head": place.head}}
        ),
    )


def followed(model):
    """The title of a panel whose layer and head follow the controls."""
    return f"{model.name} Layer {{layer}} Head {{head}}"


def _x():
    few = altair.ExprRef("clamp(floor(width / 42), 3, 8)")
    axis = {"grid": False, "tickMinStep": 1, "format": "d", "tickCount": few}
    return altair.X("position:Q", title="Position").scale(nice=False).axis(**axis)


def _y(field):
    # the same room for labels everywhere, so that the axes of a column are below each other
    return altair.Y(f"{field}:Q", title=Y_TITLE).axis(tickCount=5, minExtent=30)


def _colour(lines):
    return altair.Color("condition:N", legend=None).scale(
        domain=[each.condition for each in lines],
        range=[theme.themed(each.style.light, each.style.dark) for each in lines],
    )


def _span(model, lines, filler, rules):
    """Where the last of the conditions has what it adds: shaded, named, perhaps with rules."""
    places = model.condition(lines[-1].condition).new
    if not places:
        return []
    first, end = places.start - 0.5, places.stop - 0.5
    one = altair.Chart(altair.InlineData([{}]))
    shade = one.mark_rect(color=theme.themed(*SPAN), aria=False).encode(
        x=theme.at(first), x2=theme.at(end)
    )
    name = one.mark_text(
        text=altair.ExprRef(_broken(filler, first, end)),
        lineBreak="\n",
        baseline="top",
        dy=4,
        fontSize=theme.TICK,
        fontWeight=600,
        aria=False,
    ).encode(x=theme.at((first + end) / 2), y=altair.value(0))
    ends = [
        one.mark_rule(strokeDash=[4, 3], strokeWidth=1.2, aria=False).encode(x=theme.at(edge))
        for edge in (first, end)
    ]
    return [shade, *(ends if rules else []), name]


def _broken(name, first, end):
    """Expression for a name that has two lines where one is wider than the span."""
    middle = len(name) // 2
    spaces = [place for place, letter in enumerate(name) if letter == " "]
    if not spaces:
        return json.dumps(name)
    at = min(spaces, key=lambda place: abs(place - middle))
    two = f"{name[:at]}\n{name[at + 1 :]}"
    wide = f"scale('x', {end}) - scale('x', {first}) > {LETTER * len(name)}"
    return f"{wide} ? {json.dumps(name)} : {json.dumps(two)}"


def _headroom(table):
    """Unseen points above the lines, so that the scale leaves room for the span's name."""
    above = table.transform_calculate(above="1.2 * max(datum.mean, datum.high)")
    return above.mark_point(opacity=0, size=0, aria=False).encode(x=_x(), y=_y("above"))


def _marked(table, lines, x, colour, param):
    rules = theme.guides(param, line=lambda at: {"x": theme.at(altair.ExprRef(at))})
    here = f"datum.position === {param} && isValid(datum.mean)"
    points = table.transform_filter(theme.either(here)).mark_point(
        filled=True,
        size=70,
        opacity=1,
        stroke=altair.ExprRef("paper"),
        strokeWidth=1.2,
        aria=False,
    )
    shape = altair.Shape("condition:N", legend=None).scale(
        domain=[each.condition for each in lines], range=[each.style.shape for each in lines]
    )
    return *rules, points.encode(x=x, y=_y("mean"), color=colour, shape=shape)


def rows(place, lines, reduction, cut):
    """The table "lines": dicts with condition, position, mean, standard_error, low and high.

    A position that a condition lacks has None, so that no line is drawn across it.
    """
    received = place.model.received(place.layer, place.head)
    found = []
    for line in lines:
        text = place.model.condition(line.condition)
        places = text.positions if cut else np.arange(len(text.counts))
        mean, error = (
            np.where(places < 0, np.nan, values[places])
            for values in received[line.condition][reduction]
        )
        found += theme.records(
            {
                "condition": [line.condition] * len(places),
                "position": np.arange(len(places)),
                "mean": _known(mean),
                "standard_error": _known(error),
                "low": _known(mean - error),
                "high": _known(mean + error),
            }
        )
    return {"lines": found}


def _known(values):
    return [None if np.isnan(value) else float(value) for value in values]


def alt(place, lines, reduction, cut):
    """Where each line is highest."""
    peaks = []
    for line in lines:
        table = rows(place, [line], reduction, cut)["lines"]
        known = [row for row in table if row["mean"] is not None]
        if not known:
            peaks.append(f"{line.label} has no position here")
            continue
        top = max(known, key=lambda row: row["mean"])
        peaks.append(f"{line.label} is highest at position {top['position']}, {top['mean']:.3f}")
    over = "over all current tokens that see it"
    if reduction == "last":
        over = "that the last current token gives it"
    return f"{place.title}: average attention weight of each position, {over}. {'; '.join(peaks)}."


def seen_kept(data, reduction):
    """How much weight the tokens that both conditions share keep, panel by panel."""
    lines = styled(data, BLUE, RED)
    ratios = [kept(place, lines, reduction) for place in data.places]
    if any(np.isnan(ratio) for ratio in ratios):
        return f"With {named(data)}, some of these heads share no tokens to compare."
    less = sum(round(100 * ratio) < 100 for ratio in ratios)
    if less == len(ratios):
        start = "the other tokens get less"
    elif less == 0:
        start = "the other tokens lose nothing"
    else:
        start = f"the other tokens get less in {less} of {len(ratios)} panels"
    return (
        f"With {named(data)}, {start}: {score_terms.listed(percent(ratio) for ratio in ratios)} of "
        f"the average weight that they have without"
        f"{', panel by panel' if len(ratios) > 1 else ''}."
    )


def kept(place, lines, reduction):
    """Sum of the second line over that of the first, over positions that both have; or NaN."""
    first, second = (
        [row["mean"] for row in rows(place, [line], reduction, True)["lines"]] for line in lines
    )
    both = [pair for pair in zip(first, second, strict=False) if None not in pair]
    before, after = (sum(values) for values in zip(*both, strict=True)) if both else (0, 0)
    return after / before if before > 0 else float("nan")


def inside(place, condition, reduction):
    """Mean weight of the positions that a condition adds, or NaN if it adds none."""
    mean, _ = place.model.received(place.layer, place.head)[condition][reduction]
    added = place.model.condition(condition).new
    return float(np.mean(mean[added.start : added.stop])) if added else float("nan")
