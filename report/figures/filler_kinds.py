"""What each condition adds to the prompt changes in the heads of a layer: a panel a model."""

import altair

from report.figures.parts import choices, received, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.conditions.data import ConditionsData, ModelConditions
from report.text import count, percent

ASPECT, PHONE_ASPECT = 1.5, 2.1

MEASURES = ("taken", "total_variation", "affine_error")
"""Each is a share, from 0 to 1."""

LONGEST, LETTER = 150, 6.6
"""Pixels of the longest name on the axis, and of a letter of it."""

COLOUR = theme.TERMS["position"]


def measures(data: ConditionsData) -> dict[str, str]:
    """Measure -> its label on the switch."""
    return {
        "taken": f"attention on the {data.noun}",
        "total_variation": "attention on the other tokens that moves",
        "affine_error": "output that stays unexplained",
    }


def title(data: ConditionsData) -> str:
    return f"What changes with the {data.noun}, condition by condition"


def caption(data: ConditionsData) -> str:
    prompts = data.models[0].prompts
    bars = ""
    if prompts > 1:
        bars = f" Its bar is one standard error over {prompts} prompts, often too short to be seen."
    return (
        "A point is a condition in one layer. It is the mean over all heads, and over the current "
        f"tokens after the {data.noun}.{bars} What moves is the total variation of the pattern on "
        "the "
        "other tokens, scaled to sum to 1. Unexplained is what “the old output, scaled down, plus "
        "what the added tokens bring” leaves open of the output, by length. "
        "All panels have one scale."
    )


def use(data: ConditionsData) -> str:
    return "The slider leads to other layers, the switch “Shown” to another measure."


def left_out(data: ConditionsData) -> str:
    return "" if _labels(data.models[0]) else "No condition adds anything to the prompt."


def controls(data: ConditionsData) -> list[Control | Switch]:
    last = min(model.layers for model in data.models) - 1
    return [
        Control("layer", "Layer", 0, last, 0),
        Switch("measure", "Shown", measures(data), "taken", seldom=True),
    ]


def columns(data: ConditionsData) -> int:
    """Panels side by side."""
    return min(3, len(data.models))


def panels(data: ConditionsData) -> list[str]:
    return [model.name for model in data.models]


def chart(data: ConditionsData, panel: int = 0, **state: int | str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows")).transform_filter(
        "datum.layer === layer && datum.measure === measure"
    )
    y = altair.Y("condition:N", title=data.noun, sort=_labels(data.models[panel]))
    y = y.axis(domain=False, ticks=False, labelLimit=LONGEST, minExtent=_room(data), grid=True)
    x = altair.X("value:Q", title="share").axis(format="%", tickCount=3)
    colour = {"color": theme.themed(*COLOUR)}
    tooltip = [
        altair.Tooltip("condition:N", title="condition"),
        altair.Tooltip("said:N", title="share"),
    ]
    # invisible: all panels have its scale
    limit = table.mark_point(opacity=0, aria=False).encode(x=altair.X("ceiling:Q").scale(zero=True))
    bar = table.mark_rule(strokeWidth=2.4, aria=False, **colour)
    point = table.mark_circle(size=90, opacity=1, aria=False, **colour)
    return theme.frame(
        layered(
            limit,
            bar.encode(x=altair.X("low:Q"), x2="high:Q", y=y),
            point.encode(x=x, y=y, tooltip=tooltip),
        ),
        theme.Source("rows/all.json", "tables", ["rows"], tokens=None),
        description=f"{title(data)} in {panels(data)[panel]}: a dot a condition",
        params=choices.params(state),
        shows={"rows": [["layer", "=", "{layer}"], ["measure", "=", "{measure}"]]},
        walk=["condition"],
    )


def _room(data):
    """Pixels for the names of the conditions, whatever the font of a reader."""
    longest = max(len(name) for model in data.models for name in _labels(model))
    return min(LONGEST, LETTER * longest) + 10


def rows(data: ConditionsData, panel: int = 0, **state: int | str) -> Rows:
    model = data.models[panel]
    ceilings = {measure: _highest(data, measure) for measure in MEASURES}
    return [
        {
            "layer": layer,
            "measure": measure,
            "condition": label,
            "value": value,
            "low": max(0, value - error),
            "high": value + error,
            "said": f"{percent(value, 1)} ± {percent(error, 1)}" if error else percent(value, 1),
            "ceiling": ceilings[measure],
        }
        for layer in range(controls(data)[0].maximum + 1)
        for measure in MEASURES
        for label, value, error in _values(model, measure, layer)
    ]


def _labels(model: ModelConditions) -> list[str]:
    """Labels of the conditions in the figure."""
    return [each.label for each in _added(model)]


def _added(model):
    """The conditions that add a segment to the first one."""
    return [each for each in model.conditions if each.added]


def _values(model, measure, layer):
    """(label, value, standard error) of each condition whose value is not NaN; error 0 for NaN."""
    effects = model.layer_effects
    name = "lambda" if measure == "taken" else measure
    values = []
    for condition in _added(model):
        here = (effects["condition"] == condition.name) & (effects["rows"] == "mean")
        here &= effects["layer"] == layer
        value, error = float(effects[name][here][0]), float(effects[f"{name}_error"][here][0])
        if value == value:  # NaN is not
            value = 1 - value if measure == "taken" else value
            values.append((condition.label, value, error if error == error else 0.0))
    return values


def _highest(data, measure):
    """The end of the axis: the highest end of a bar, over models and layers; 0 without bars."""
    ends = (
        value + error
        for model in data.models
        for layer in range(controls(data)[0].maximum + 1)
        for _, value, error in _values(model, measure, layer)
    )
    return max(ends, default=0)


def seen(data: ConditionsData, **state: int | str) -> str:
    clauses, extremes = [], []
    for model in data.models:
        values = sorted(_values(model, state["measure"], state["layer"]), key=lambda each: each[1])
        if not values:
            clauses.append(f"of {model.name} that is not known")
            continue
        (low, least, _), (high, most, _) = values[0], values[-1]
        extremes += [(least, low, model.name), (most, high, model.name)]
        if percent(least) == percent(most):
            clauses.append(f"{percent(most)} under every condition in {model.name}")
        else:
            ends = f"{percent(least)} (“{low}”) to {percent(most)} (“{high}”)"
            clauses.append(f"{ends} in {model.name}")
    what = {
        "taken": f"Share of the {data.noun}",
        "total_variation": "Share of the other attention that moves",
        "affine_error": "Share that is not explained",
    }[state["measure"]]
    names = [each.name for each in _added(data.models[0])]
    over = received.over_edges(data.models, names)
    if not extremes:
        return f"{what}: not known.{over}"
    low, high = (
        f"{percent(v)} (“{name}”, {model})" for v, name, model in (min(extremes), max(extremes))
    )
    return f"{what}: from {low} to {high}. By model: {'; '.join(clauses)}.{over}"


def alt(data: ConditionsData, panel: int = 0, **state: int | str) -> str:
    model = data.models[panel]
    values = _values(model, state["measure"], state["layer"])
    listed = ", ".join(f"{label} {percent(value, 1)}" for label, value, _ in values)
    layer = state["layer"]
    return (
        f"{model.name}, layer {layer}: {measures(data)[state['measure']]}, a dot for each of "
        f"{count(len(values), 'condition')}: {listed or 'nothing is known'}."
    )
