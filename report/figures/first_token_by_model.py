"""How often each head's top target is the first token, a panel for every model."""

import altair
import numpy as np

from report.datasets.formats.head_statistics import FILE
from report.figures.parts import rank_lines, theme, token_names
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows, of_other
from report.figures.parts.head_sorted import of_heads
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData, PassageModels
from report.measures import shipped
from report.text import percent

OF_MODELS = True
ASPECT = 1.0
PHONE_ASPECT = 1.3
COLUMNS = 3


def title(data: PassageModels) -> str:
    return "Attending to the first token, model by model"


def left_out(data: PassageModels) -> str:
    if reason := of_other(data, "passage"):
        return reason
    return "" if len(data.models) > 1 else "There is one model only, so nothing stands beside it."


def caption(data: PassageModels) -> str:
    return (
        "A point is a head. Lines join the highest of each layer, the second highest, and so on. "
        "Its height is how often it looks most at the first token. At each layer the heads are "
        "sorted by their value, and a line joins the values of one rank. All panels have the "
        f"same vertical axis. Token 0 is left out. {token_names.first_tokens(data)}"
    ).strip()


def controls(data: PassageModels) -> list[Control | Switch]:
    return [Switch("source", "Measured on", PassageData.sources, "corpus", seldom=True)]


def columns(data: PassageModels) -> int:
    return min(COLUMNS, len(data.models))


def panels(data: PassageModels) -> list[str]:
    return list(data.labels)


def chart(data: PassageModels, panel: int = 0, **state: str) -> altair.LayerChart:
    model = data.models[panel]
    top = max(float(m.measured("first_token")["first_token"].max()) for m in data.models)
    heads = altair.Chart(altair.NamedData("heads")).transform_filter("datum.source === source")
    axes = {
        "x": altair.X("layer:Q", title="layer (index from 0)")
        .scale(domain=[-0.25, model.layers - 0.75], nice=False)
        .axis(values=list(range(model.layers)), format="d", grid=False),
        "y": altair.Y("first_token:Q", title=shipped()["first_token"].axis)
        .scale(domain=[0, min(1, max(1.04 * top, 0.05))], nice=False)
        .axis(format=".0%", tickCount=5),
        "color": altair.Color("rank_first_token:Q", legend=None).scale(
            domain=[0, max(1, model.heads - 1)], **theme.ramp(theme.RANK_RAMP)
        ),
    }
    heads, tooltip = rank_lines.told(heads, model.heads, "rank_first_token", "first_token", ".1%")
    points = heads.mark_circle(
        size=44, opacity=1, stroke=altair.ExprRef("paper"), strokeWidth=0.8, aria=False
    )
    return theme.frame(
        layered(
            heads.mark_line(strokeWidth=1.3, opacity=0.6, aria=False).encode(
                **axes, detail=altair.Detail("rank_first_token:N")
            ),
            points.encode(**axes, tooltip=tooltip),
        ),
        theme.Source(
            model.address + FILE.format("first_token"),
            "tables",
            ["heads"],
            tokens=f"{model.address}passage.json",
        ),
        description=f"{title(data)}: {data.labels[panel]}, by layer, heads sorted",
        shows={"heads": [["source", "=", "{source}"]]},
        params=[altair.param(name="source", value=state["source"])],
    )


def rows(data: PassageModels, panel: int = 0, **state: str) -> dict[str, Rows]:
    return {"heads": of_heads(data.models[panel], "first_token")}


def alt(data: PassageModels, panel: int = 0, **state: str) -> str:
    source = state["source"]
    values, labels = _values(data.models[panel], source), data.labels
    return (
        f"{labels[panel]}: fraction of tokens whose top target is token 0, for each of "
        f"{values.size} heads by layer, over {PassageData.sources[source]}. The mean is "
        f"{percent(values.mean())}, the largest {percent(values.max())}."
    )


def seen(data: PassageModels, **state: str) -> str:
    source = state["source"]
    means = [float(_values(model, source).mean()) for model in data.models]
    most, least = (means.index(end) for end in (max(means), min(means)))
    return (
        f"Over {PassageData.sources[source]}, the mean is {percent(means[most])} in "
        f"{data.labels[most]} and {percent(means[least])} in {data.labels[least]}."
    )


def _values(model: PassageData, source: str) -> np.ndarray:
    table = model.measured("first_token")
    return table["first_token"][table["source"] == source]
