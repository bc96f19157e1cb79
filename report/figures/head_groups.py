"""Groups of heads with like profiles, and the measures in which they differ from all heads."""

import altair

from report.figures.parts import over_models, theme
from report.figures.parts.figure import Rows
from report.figures.parts.grid import PHONE_WIDTH, WIDTH, Box
from report.figures.parts.groups import SHUFFLES, groups
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.text import count, number, percent

LINE = 31
"""Height of a line of the chart, in pixels."""


def title(data: AtlasData) -> str:
    return "Groups of heads with like profiles"


def left_out(data: AtlasData) -> str:
    if groups(data)[0]:
        return ""
    return (
        "The model has too few heads, or no group of them is more alike than where each measure is "
        "shuffled over heads."
    )


def caption(data: AtlasData) -> str:
    clusters, chance = groups(data)
    others = data.layers * data.heads - sum(len(each.heads) for each in clusters)
    left = f" {count(others, 'head')} in no such group." if others else ""
    return (
        "A point is a group’s mean place among all heads in a measure, a cross the same on the "
        "control.\nPlace 100 % is the highest value of all heads, 0 % the lowest. Heads are put "
        "into groups by their places in all measures that apply to every head, by k-means. Each "
        "group is named by the measures in which its mean place is farthest from the middle, with "
        "four fifths of its heads or more on that side; a measure that goes along with one named "
        "before is passed over. If point and cross are together, the heads do so on the control "
        "too. Their likeness is their mean silhouette: 1 if they are all the "
        "same, 0 if they are as near to another group. Where the places of each measure are "
        f"shuffled over heads, {SHUFFLES} times, no group reaches more than {number(chance)}; "
        f"groups below that are not shown.{left}"
    )


def use(data: AtlasData) -> str:
    return "Click on a group, and all figures mark its heads; once more, and they do not."


def boxes(data: AtlasData) -> list[Box]:
    high = 60 + LINE * len(_lines(data))
    return [Box(WIDTH / high, PHONE_WIDTH / high)]


def chart(data: AtlasData) -> altair.LayerChart:
    last = len(_lines(data))
    table = altair.Chart(altair.NamedData("rows"))
    known = table.transform_filter("isValid(datum.mean)")
    y = altair.Y("line:Q", title="groups, and the measures that name them")
    y = y.scale(domain=[last - 0.4, -0.5], nice=False)
    y = y.axis(labels=False, grid=False, titleX=0, minExtent=0)
    x = altair.X("mean:Q", title="mean place among all heads").scale(domain=[0, 1])
    x = x.axis(format=".0%", tickCount=5)
    tooltip = [altair.Tooltip("told:N", title="title")]
    middle = altair.Chart(altair.InlineData([{}])).mark_rule(strokeDash=[3, 3], aria=False)
    names = theme.halo(
        table.mark_text,
        align="left",
        baseline="middle",
        fontWeight=altair.ExprRef("isValid(datum.mean) ? 400 : 700"),
        fontSize=theme.TICK,
    )
    above = altair.Y("above:Q")
    away = known.transform_filter("isValid(datum.control)")
    rule = away.mark_rule(strokeWidth=1.4, strokeDash=[3, 2], aria=False)
    cross = away.mark_point(shape="cross", size=54, strokeWidth=2, aria=False)
    room = table.mark_rect(opacity=0, aria=False)
    points = known.mark_circle(
        size=90, opacity=1, color=theme.themed(*theme.MASS.values()), aria=False
    )
    return theme.frame(
        layered(
            middle.encode(**theme.at(x=0.5)),
            rule.encode(x=x, x2="control:Q", y=y),
            cross.encode(x=altair.X("control:Q"), y=y, color=altair.value(altair.ExprRef("ink"))),
            points.encode(x=x, y=y),
            *(each.encode(x=altair.XValue(0), y=above, text="named:N") for each in names),
            room.encode(
                x=altair.XValue(0),
                x2=altair.X2Value(altair.ExprRef("width")),
                y=altair.Y("top:Q"),
                y2="bottom:Q",
                tooltip=tooltip,
            ),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: lines of points, a line a measure",
        walk=["column", "line"],
    )


def rows(data: AtlasData) -> dict[str, Rows]:
    """A row per line: one per group, without a mean, and after it one per measure that names it."""
    lines = [
        {
            "line": index,
            "above": index - (0.4 if "mean" in line else 0),
            "top": index - 0.6,
            "bottom": index + 0.38,
            "column": 0,
            "mean": None,
            "control": None,
            **line,
        }
        for index, line in enumerate(_lines(data))
    ]
    return {"rows": lines}


def _lines(data):
    """Lines of the chart, as `rows` but without places on the axis of lines."""
    lines = []
    for group in groups(data)[0]:
        heads, name = count(len(group.heads), "head"), f"group {group.number}"
        about = f"{heads}, {_layers(group)}, likeness {number(group.likeness)}"
        tooltip = f"{name}: {', '.join(group.labels[:6])}"
        tooltip += ", …" if len(group.heads) > 6 else ""
        lines.append({"named": f"Group {group.number}: {about}", "told": tooltip, "asks": name})
        for trait in group.traits:
            words = data.words[trait.measure].title
            lines.append(
                {
                    "named": f"{'high' if trait.high else 'low'}: {words}",
                    "told": f"{name}, “{words}”: {_places(group, trait)}",
                    "asks": name,
                    "mean": round(trait.place, 4),
                    "control": None if trait.control != trait.control else round(trait.control, 4),
                }
            )
        if not group.traits:
            words = "no measure tells them from all heads"
            lines.append({"named": words, "told": tooltip, "asks": name})
    return lines


def _layers(group):
    first, last = group.heads[0][0], group.heads[-1][0]
    return f"layer {first}" if first == last else f"layers {first}–{last}"


def _places(group, trait):
    """The mean places of a group in a measure, in words."""
    control = "" if trait.control != trait.control else f", on the control {percent(trait.control)}"
    side = "above" if trait.high else "below"
    return (
        f"mean place {percent(trait.place)}{control}; {trait.number} of {len(group.heads)} heads "
        f"are {side} the middle of all"
    )


def seen(data: AtlasData) -> str:
    """The group with the highest likeness, and the measures that name it."""
    clusters, chance = groups(data)
    best = max(clusters, key=lambda each: each.likeness)
    named = "; ".join(
        f"{'high' if trait.high else 'low'} in “{data.words[trait.measure].title}”"
        for trait in best.traits
    )
    return (
        f"Group {best.number} ({count(len(best.heads), 'head')}) stands apart most. "
        f"Its heads are {named or 'told from all heads by no measure'}; their likeness is "
        f"{number(best.likeness)}, where chance gives {number(chance)} at most."
    )


def alt(data: AtlasData) -> str:
    listed = "; ".join(
        f"group {group.number}, {count(len(group.heads), 'head')}: "
        + (
            ", ".join(
                f"{data.words[trait.measure].title} {percent(trait.place)}"
                for trait in group.traits
            )
            or "no measure"
        )
        for group in groups(data)[0]
    )
    return f"Mean places among all heads, by group and measure: {listed}. {seen(data)}"
