"""All heads sorted by how far their attention is from that in the reference, a line a model."""

import altair
import numpy as np

from report.figures.parts import over_models, theme
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.difference.beside import DISTANCE
from report.kinds.difference.data import DifferenceData, DifferenceModels
from report.text import count, number

OF_MODELS = True
ASPECT, PHONE_ASPECT = 1.7, 1.05

COLOURS = [theme.TERMS["content"], theme.TERMS["bias"], theme.TERMS["position"], theme.FIRST]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
"""Of the lines, by turns."""


def title(data: DifferenceData | DifferenceModels) -> str:
    return f"How far attention moved, {count(_heads(data), 'head')} sorted"


def caption(data: DifferenceData | DifferenceModels) -> str:
    return (
        "A point is a head.\nIts height is how far its attention moved: the mean Jensen-Shannon "
        f"distance of its rows from those of the same head in {data.reference}, 0 for equal rows, "
        "1 for rows that share no target. Heads are sorted in each model by itself, so that "
        "one place may be of two heads. The band is two standard errors over texts to each side. "
        "Both models read the same tokens, so a model is at 0 from itself. Token 0 of each text is "
        "left out."
    )


def use(data: DifferenceData | DifferenceModels) -> str:
    return "Point at a line to read which head it is."


def chart(data: DifferenceData | DifferenceModels, **state: str) -> altair.LayerChart:
    table, labels = altair.Chart(altair.NamedData("rows")), _labels(data)
    x = altair.X("place:Q", title="heads, from the one that moved most")
    x = x.scale(domain=[1, max(2, _heads(data))], nice=False, padding=6).axis(
        format="d", tickCount=theme.ticks_across(), grid=False
    )
    y = altair.Y("distance:Q", title=DISTANCE.axis).axis(format="~g", tickCount=5)
    legend = altair.Legend(
        title=None,
        orient="top-right",  # where falling lines leave room
        symbolType="stroke",
        symbolSize=300,
        symbolStrokeWidth=3,
        symbolOpacity=1,  # the band that it is of too is faint
    )
    legend = legend if len(labels) > 1 else None
    turns = range(len(labels))
    colour = altair.Color("model:N", legend=legend).scale(
        domain=labels, range=[theme.themed(*COLOURS[n % len(COLOURS)]) for n in turns]
    )
    dash = altair.StrokeDash("model:N", legend=legend).scale(
        domain=labels, range=[DASHES[n % len(DASHES)] for n in turns]
    )
    band = table.mark_area(opacity=0.22, aria=False)
    line = table.mark_line(strokeWidth=2, aria=False)
    around = table.mark_circle(size=160, color="transparent", aria=False)
    told = [altair.Tooltip("told:N", title="title")]
    return theme.frame(
        layered(
            band.encode(x=x, y=altair.Y("low:Q"), y2="high:Q", color=colour),
            line.encode(x=x, y=y, color=colour, strokeDash=dash),
            around.encode(x=x, y=y, tooltip=told),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: a line a model",
    )


def rows(data: DifferenceData | DifferenceModels, **state: str) -> dict[str, Rows]:
    found = []
    for label, model in zip(_labels(data), data.models, strict=True):
        values = _values(model)
        errors = np.nan_to_num(model.of_heads(f"error_{DISTANCE.name}", DISTANCE.name, "corpus"))
        order = np.argsort(-values, axis=None, kind="stable")
        for place, at in enumerate(order, 1):
            layer, head = divmod(int(at), model.heads)
            value, error = float(values[layer, head]), float(errors[layer, head])
            named = head_label(layer, head)
            found.append(
                {
                    "model": label,
                    "place": place,
                    "layer": layer,
                    "head": head,
                    "distance": value,
                    "low": max(value - 2 * error, 0),
                    "high": min(value + 2 * error, 1),
                    "told": f"{named} in {label}: {number(value)} ± {number(error)}, place {place}",
                }
            )
    return {"rows": found}


def seen(data: DifferenceData | DifferenceModels, **state: str) -> str:
    halves, most = [], []
    for label, model in zip(_labels(data), data.models, strict=True):
        values = _values(model)
        at = np.unravel_index(values.argmax(), values.shape)
        halves.append(f"{number(float(np.median(values)))} or less in {label}")
        farthest = head_label(*map(int, at))
        most.append(f"{farthest} in {label}, by {number(float(values.max()))}")
    return f"Half of all heads moved by {', '.join(halves)}. Farthest moved {'; '.join(most)}."


def _values(model):
    return model.of_heads(DISTANCE.name, DISTANCE.name, "corpus")


def _heads(data):
    return data.models[0].layers * data.models[0].heads


def _labels(data):
    return [data.label] if data is data.models[0] else data.labels
