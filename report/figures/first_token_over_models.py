"""How much heads attend to the first token, against the training step or the size of the model."""

import altair

from report.figures.parts import theme, token_names
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows, of_other
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData, PassageModels
from report.kinds.sweep.data import training_steps
from report.measures import shipped
from report.text import percent

OF_MODELS = True
ASPECT = 1.6
PHONE_ASPECT = 1.05
WIDE = 20
"""An axis is logarithmic if its largest value is more than this times the smallest."""


def title(data: PassageModels) -> str:
    step = "training step" if _steps(data) else "size of the model"
    return f"Attending to the first token, by {step}"


def left_out(data: PassageModels) -> str:
    if reason := of_other(data, "passage"):
        return reason
    if len(data.models) < 2:
        return "There is one model only, so there is nothing to compare it with."
    if len({place for place, _ in _places(data)}) < 2:
        return "All models are of one size, and nothing tells after which training step."
    return ""


def caption(data: PassageModels) -> str:
    axis = "training step" if _steps(data) else "number of parameters"
    mean = "The line joins the" if _steps(data) else "Large points with a name are"
    return (
        "A point is a head: how often it looks most at the first token. To the right is the "
        f"{axis} of its model. {mean} means over all heads. Token 0 is left out. "
        f"{token_names.first_tokens(data)}"
    ).strip()


def controls(data: PassageModels) -> list[Control | Switch]:
    return [Switch("source", "Measured on", PassageData.sources, "corpus", seldom=True)]


def chart(data: PassageModels, **state: str) -> altair.LayerChart:
    places = [place for place, _ in _places(data)]
    low, high = min(places), max(places)
    wide = high > WIDE * max(low, 1)
    x = altair.X("place:Q", title="training step" if _steps(data) else "parameters").scale(
        type="symlog" if wide and _steps(data) else "log" if wide else "linear",
        zero=False,
        nice=False,
        padding=14,
    )
    x = x.axis(
        values=sorted(set(places)),
        format="~s" if high >= 100_000 else ",d",
        grid=False,
        labelOverlap="greedy",
    )
    y = altair.Y("first_token:Q", title=shipped()["first_token"].axis)
    y = y.axis(format=".0%", tickCount=6).scale(zero=True, nice=True)
    rows = altair.Chart(altair.NamedData("rows"))
    heads, means = (rows.transform_filter(f"datum.what === '{what}'") for what in ("head", "mean"))
    tooltip = [
        altair.Tooltip("model:N", title="model"),
        altair.Tooltip("named:N", title="what"),
        altair.Tooltip("first_token:Q", title="value", format=".1%"),
    ]
    colour = theme.themed(*theme.KINDS["the first token"][1:])
    points = heads.mark_circle(size=30, opacity=0.4, color=colour, aria=False)
    ink = altair.ExprRef("ink")
    line = means.mark_line(strokeWidth=2.4, color=ink, aria=False)
    dots = means.mark_point(
        filled=True, size=70, opacity=1, color=altair.ExprRef("ink"), aria=False
    )
    # Models of several sizes are no course of one training: their means have names, and no line.
    names = means.mark_text(dy=-13, fontWeight=600, aria=False)
    line_or_names = line if _steps(data) else names.encode(text=altair.Text("model:N"))
    at = {"x": x, "y": y}
    return layered(
        points.encode(**at, tooltip=tooltip),
        line_or_names.encode(**at),
        dots.encode(**at, tooltip=tooltip),
    )


def rows(data: PassageModels, **state: str) -> Rows:
    source = state["source"]
    records = []
    for (place, label), model in zip(_places(data), data.models, strict=True):
        table = model.measured("first_token")
        mask = table["source"] == source
        common = {"model": label, "place": place}
        heads = zip(*(table[name][mask] for name in ("layer", "head", "first_token")), strict=True)
        records += [
            common | {"what": "head", "named": f"L{layer}H{head}", "first_token": value}
            for layer, head, value in heads
        ]
        mean = table["first_token"][mask].mean()
        records.append(common | {"what": "mean", "named": "mean of all heads", "first_token": mean})
    return records


def seen(data: PassageModels, **state: str) -> str:
    means = _means(data, state)
    first, last = means[0], means[-1]
    source = state["source"]
    return (
        f"Over {PassageData.sources[source]}, the mean is {percent(first[2])} in {first[1]} and "
        f"{percent(last[2])} in {last[1]}."
    )


def alt(data: PassageModels, **state: str) -> str:
    means = ", ".join(f"{label} {percent(mean)}" for _, label, mean in _means(data, state))
    return f"{title(data)}. Means over all heads: {means}."


def _means(data, state):
    """[(place, label, mean over heads), ...] of the models, sorted by place."""
    means = [row for row in rows(data, **state) if row["what"] == "mean"]
    return sorted((row["place"], row["model"], float(row["first_token"])) for row in means)


def _steps(data):
    """The models' training steps, in their order; None if one lacks it, or trainings differ."""
    return training_steps([model.manifest["model"] for model in data.models], data.labels)


def _places(data):
    """[(training step, else number of parameters, label), ...] of the models, in their order."""
    steps = _steps(data)
    if steps is None:
        steps = [model.manifest["model"].get("parameters") or 0 for model in data.models]
    return list(zip(steps, data.labels, strict=True))
