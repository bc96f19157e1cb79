"""All measures of all heads of an atlas: their rows, what heads are found by, and their groups."""

import json
import re
from collections.abc import Mapping

import altair
import numpy as np

from report.figures.parts import head_points, theme
from report.figures.parts.figure import Rows
from report.figures.parts.groups import groups
from report.figures.parts.heads import HeadFindings
from report.kinds.atlas import beside, sentences
from report.kinds.atlas.data import AtlasData


def finds(data: AtlasData) -> list[dict]:
    """Measures in the order in which words are taken for them."""
    names = sorted(data.words, key=lambda name: (*beside.ALSO, name).index(name))
    return [
        {
            "name": name,
            "title": data.words[name].title,
            "also": beside.ALSO.get(name, ""),
            "percent": "%" in data.words[name].number,
            "number": int(re.sub(r"\D", "", data.words[name].number) or 2),
            "control": sentences.control(name),
        }
        for name in names
    ]


def control_words(data: AtlasData) -> str:
    """What the control of each measure is, sentences."""
    return (
        "The control is what a measure is compared with. Of attention it is "
        f"{beside.SHUFFLED}: what a head does there too comes of single tokens and their places, "
        "and not of what the text says. "
        + " ".join(
            f"Of “{data.words[name].title}” it is {control}."
            for name, control in beside.CONTROLS.items()
            if name in data.words
        )
    )


def group_words(data: AtlasData) -> str:
    """What colours that stand for groups mean, sentences; "" where there are none."""
    if not groups(data)[0]:
        return ""
    return (
        "Groups are heads with like places among all heads in all measures, and are named by the "
        "measures in which they differ from all heads. "
    )


def table(axes: Mapping[str, str], data: AtlasData) -> altair.Chart:
    """The rows with a head's number, that of its control, and what is told of it.

    axes: field -> param that says which measure it is; the control's is c and the field, what is
        told is said_ and the field, and "told", with the head's name before it, is of the first
    """
    numbers, titles = (
        json.dumps({name: getattr(words, what) for name, words in data.words.items()})
        for what in ("number", "title")
    )
    drawn = altair.Chart(altair.NamedData("rows"))
    for axis, param in axes.items():
        plain = f"replace({numbers}[{param}], '+', '')"
        drawn = drawn.transform_calculate(
            **{
                axis: f"source === 'control' ? datum['control_' + {param}] : datum[{param}]",
                f"c{axis}": f"datum['control_' + {param}]",
                f"said_{axis}": (
                    f"{titles}[{param}] + ' ' + format(datum[{param}], {numbers}[{param}]) + "
                    f"(isValid(datum['error_' + {param}]) ? ' ± ' + "
                    f"format(datum['error_' + {param}], {plain}) : '') + "
                    f"(isValid(datum['control_' + {param}]) ? ' (control ' + "
                    f"format(datum['control_' + {param}], {numbers}[{param}]) + ')' : '')"
                ),
            }
        )
    return drawn.transform_calculate(told=f"datum.named + ': ' + datum.said_{next(iter(axes))}")


def rows(data: AtlasData, **state: str) -> dict[str, Rows]:
    """The table "rows": a row a head, each measure with its control and its standard error, and the
    number of its group, null where it is in none."""
    of = HeadFindings(data)
    columns = {}
    for name in data.words:
        columns |= {name: of.values(name), f"control_{name}": of.values(name, "control")}
        columns |= {f"error_{name}": of.error(name)}
    columns["group"] = np.full((data.layers, data.heads), np.nan)
    for group in groups(data)[0]:
        columns["group"][*zip(*group.heads, strict=True)] = group.number
    return {"rows": head_points.rows(data, columns)}


STAR = (
    "M0,-1L0.29,-0.4L0.95,-0.31L0.48,0.15L0.59,0.81L0,0.5L-0.59,0.81L-0.48,0.15L-0.95,-0.31"
    "L-0.29,-0.4Z"
)

SIGNS = {
    "square": "■",
    "triangle-up": "▲",
    "diamond": "◆",
    "triangle-down": "▼",
    "cross": "✚",
    "triangle-left": "◀",
    "triangle-right": "▶",
    STAR: "★",
}
"""Shape of a group's points -> the same as a character; in the order of groups, of which there are
no more (`groups.NUMBERS`)."""


def group_names(data: AtlasData) -> list[dict]:
    """What the page's script tells of each group, where colours stand for groups: its number, its
    sign, its colours, how many heads it has and what names it, the clearest first."""
    found = groups(data)[0]
    return [
        {
            "number": group.number,
            "sign": sign,
            "heads": len(group.heads),
            "light": light,
            "dark": dark,
            "named": [
                f"{'high' if trait.high else 'low'} in “{data.words[trait.measure].title}”"
                for trait in group.traits
            ],
        }
        for group, sign, light, dark in zip(
            found, SIGNS.values(), *_group_colours(found), strict=False
        )
    ]


def _group_colours(found):
    """Colours of groups, on light and on dark: those of low layers first, as those of layers."""
    at = np.linspace(0, 1, max(2, len(found)))
    return [
        ["#{:02x}{:02x}{:02x}".format(*each) for each in theme.shades(theme.RANK_RAMP[shade], at)]
        for shade in ("light", "dark")
    ]
