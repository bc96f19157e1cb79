"""All measures of all heads of an atlas: their rows, and what heads are found by."""

import json
import re
from collections.abc import Mapping

import altair
import numpy as np

from report.figures.parts import head_points
from report.figures.parts.figure import Rows
from report.figures.parts.groups import groups
from report.figures.parts.heads import HeadFindings
from report.kinds.atlas import beside
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
