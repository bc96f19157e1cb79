"""Does what conditions add help the answer? By condition and number of tokens, over questions."""

import altair

from report.figures.parts import answered, choices, theme
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.conditions.answers import Cell, Interval, ModelAnswers
from report.text import count, percent

ASPECT, PHONE_ASPECT = 1.5, 1.5

COLOUR = theme.TERMS["position"]


def title(data: ModelAnswers) -> str:
    return f"Does what is added help the answer? {data.name}"


def caption(data: ModelAnswers) -> str:
    return (
        f"A point is what an added text changes, a mean over {len(data.texts)} questions, with its "
        "95 % interval. Each panel is a condition. The "
        "mean is of the log probability of "
        "the right answer, summed over its tokens, or of right answers, each token of which is the "
        "most probable one. The bar is where 95 % of the means lie when the questions are drawn "
        "again at random (bootstrap): one that crosses 0 tells nothing."
    )


def use(data: ModelAnswers) -> str:
    return "The switches choose what is compared, and of which questions."


def controls(data: ModelAnswers) -> list[Switch]:
    return [answered.measure_control(), answered.kind_control(data)]


def columns(data: ModelAnswers) -> int:
    """Panels side by side."""
    return min(2, len(data.conditions))


def panels(data: ModelAnswers) -> list[str]:
    return list(data.conditions.values())


def chart(data: ModelAnswers, panel: int = 0, **state: str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows")).transform_filter(
        "datum.measure === measure && datum.kind === kind"
    )
    x = altair.X("tokens:Q", title="added tokens")
    x = x.scale(domain=[0, max(data.lengths)], nice=False, padding=12)
    x = x.axis(values=[0, *data.lengths], format="d", grid=False)
    y = altair.Y("difference:Q", title=None).axis(tickCount=4, format="+.2~f")
    y = y.scale(padding=8)  # an interval that ends at the frame looks as if it were cut off
    colour = {"color": theme.themed(*COLOUR)}
    tooltip = [
        altair.Tooltip("tokens:Q", title="added tokens", format="d"),
        altair.Tooltip("said:N", title="difference (95 % interval)"),
        altair.Tooltip("without:N", title="without them"),
        altair.Tooltip("with:N", title="with them"),
    ]
    zero = altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.6, aria=False, color=theme.themed(*theme.SOFT.values())
    )
    reach = [
        table.mark_point(opacity=0, aria=False).encode(x=x, y=altair.Y(f"{end}:Q"))
        for end in ("floor", "ceiling")  # so that all panels have one scale
    ]
    points = table.mark_circle(size=64, opacity=1, aria=False, **colour)
    return theme.frame(
        layered(
            *reach,
            zero.encode(**theme.at(y=0)),
            table.mark_line(strokeWidth=1.6, aria=False, **colour).encode(x=x, y=y),
            table.mark_rule(strokeWidth=2.4, aria=False, **colour).encode(
                x=x, y=altair.Y("low:Q"), y2="high:Q"
            ),
            points.encode(x=x, y=y, tooltip=tooltip),
            theme.y_title(choices.chosen("measure", answered.AXES)),
        ),
        theme.Source(answered.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {panels(data)[panel]}, by the number of its tokens",
        params=choices.params(state),
        shows={"rows": [["measure", "=", "{measure}"], ["kind", "=", "{kind}"]]},
        walk=["tokens"],
    )


def rows(data: ModelAnswers, panel: int = 0, **state: str) -> Rows:
    name = list(data.conditions)[panel]
    return [
        row | {"floor": low, "ceiling": high}
        for measure in answered.MEASURES
        for said, kind in answered.kinds(data).items()
        for low, high in [_reach(data, measure, kind)]
        for row in [
            _row(data, measure, said, kind, None),
            *(_row(data, measure, said, kind, cell) for cell in data.cells if cell.name == name),
        ]
    ]


def _row(data, measure, said, kind, cell: Cell | None):
    """A point; cell: None for the prompt as it is."""
    without = data.mean(measure, kind=kind)
    found, there = Interval(0, 0, 0), without
    if cell:
        found = answered.scaled(data.difference(measure, cell.name, cell.tokens, kind), measure)
        there = data.mean(measure, cell.name, cell.tokens, kind)
    return {
        "measure": measure,
        "kind": said,
        "tokens": cell.tokens if cell else 0,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "said": answered.in_words(found, measure) if cell else "0, by definition",
        "without": _level(without, measure),
        "with": _level(there, measure),
    }


def _level(found, measure):
    """A mean in the words of a tooltip."""
    if measure == "right":
        return f"{percent(found.value, 1)} right"
    return f"{found.value:.2f} nats".replace("-", "−")


def _reach(data, measure, kind):
    """The lowest and the highest end of an interval in any panel."""
    every = [
        answered.scaled(data.difference(measure, cell.name, cell.tokens, kind), measure)
        for cell in data.cells
    ]
    return min(0, *(each.low for each in every)), max(0, *(each.high for each in every))


def _found(data, at, cells):
    kind = answered.kinds(data)[at["kind"]]
    return [
        (
            answered.scaled(
                data.difference(at["measure"], cell.name, cell.tokens, kind), at["measure"]
            ),
            cell,
        )
        for cell in cells
    ]


def seen(data: ModelAnswers, **state: str) -> str:
    found, kind, measure = _found(data, state, data.cells), state["kind"], state["measure"]
    up = sum(each.low > 0 for each, _ in found)
    down = sum(each.high < 0 for each, _ in found)
    top, cell = max(found, key=lambda pair: pair[0].value)
    low, other = min(found, key=lambda pair: pair[0].value)
    level = _level(data.mean(measure, kind=answered.kinds(data)[kind]), measure)
    clear = f"{up} {'lies' if up == 1 else 'lie'} clearly above 0 and {down} clearly below"
    return (
        f"Of {count(len(found), 'comparison')}, {clear}. "
        f"{kind[0].upper()}{kind[1:]}, with nothing added: {level}. The most is "
        f"{answered.in_words(top, measure)} with {cell.tokens} tokens of “{cell.label}”, the "
        f"least {answered.in_words(low, measure)} with {other.tokens} of “{other.label}”."
    )


def alt(data: ModelAnswers, panel: int = 0, **state: str) -> str:
    name, label = list(data.conditions.items())[panel]
    found = _found(data, state, [cell for cell in data.cells if cell.name == name])
    listed = "; ".join(
        f"{cell.tokens} tokens {answered.in_words(each, state['measure'])}" for each, cell in found
    )
    axis = answered.AXES[state["measure"]]
    return f"{label}, {state['kind']}: {axis}, with 95 % intervals: {listed}."
