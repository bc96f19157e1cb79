"""What each head and each feed-forward layer adds to the prediction, one by one and in sum."""

import altair
import numpy as np

from report.figures.parts import grid, marking, predicted, signed_map, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.figures.parts.predicted import Shown
from report.figures.parts.signed_map import Cells
from report.kinds.prediction.data import PredictionData
from report.text import number

ROWS = "rows/{sentence}-{back}.json"
FORWARD, BIASES = "feed-forward", "biases"
COLUMNS = 5
BELOW = (FORWARD, BIASES)
"""Rows of the map below those of the heads."""

NAMED = 3
"""Heads that are named on each side."""

LEAST_NAMED = 0.15
"""Part of the largest effect of a head that another must have to be named."""

STEPS = {
    "embedding": theme.KINDS["another token"][1:],
    "heads": theme.TERMS["content"],
    FORWARD: theme.TERMS["position"],
    BIASES: tuple(theme.SOFT.values()),
}
"""What is added up -> colours of its bars."""

WORDS_LEFT = {"minExtent": 74, "titleX": -78}
"""Options of a vertical axis with words on it."""


def title(data: PredictionData) -> str:
    return "What each head adds to the prediction"


def caption(data: PredictionData) -> str:
    return (
        "A cell is a head; its mark is what it adds to the prediction. Heads are named by their "
        "place: L3H5 is head 5 of layer 3, both counted from 0. What a head adds by itself is its "
        "direct effect. "
        f"{predicted.explanation(data)} A triangle that points up speaks for the answer, one that "
        "points down against it; the larger its area, the more; less than a twentieth of the "
        "largest has none. Below are the feed-forward layers"
        f"{' and the biases of the attention' if BIASES in _below(data) else ''}. The bars add all "
        "up, from the embedding to the last layer."
    )


def use(data: PredictionData) -> str:
    return (
        "Point at a cell or a bar to read its effect. Click on a head, and figures of one head "
        "show it."
    )


def controls(data: PredictionData) -> list[Control | Switch]:
    return predicted.controls(data)


def panels(data: PredictionData) -> list[str]:
    return ["Heads and feed-forward layers", "Added up, from layer to layer"]


def boxes(data: PredictionData) -> list[grid.Box]:
    """The map, as high as its heads need, and the sums beside it."""
    rows = data.heads + len(_below(data))
    widths = [grid.GRID_WIDTH * span // COLUMNS for span in (3, 2)]
    aspects = [width / (130 + 24 * rows) for width in widths]
    phone = grid.PHONE_WIDTH / (100 + 17 * rows), 1.5
    return [grid.Box(*each) for each in zip(aspects, phone, widths, (3, 2), strict=True)]


def chart(data: PredictionData, panel: int = 0, **state: int) -> altair.LayerChart:
    drawn = _sums(data) if panel else _map(data)
    return theme.frame(
        drawn,
        theme.Source(
            predicted.address(data, ROWS),
            "tables",
            ["steps"] if panel else ["heads", "others"],
            tokens=None,
        ),
        description=f"{title(data)}: {panels(data)[panel]}",
        params=marking.marked("layer", "head"),
        walk=["at", "part"] if panel else ["layer", "row"],
    )


def _map(data):
    heads, others = (altair.Chart(altair.NamedData(name)) for name in ("heads", "others"))
    cells = Cells(_layers(data), _rows(data), data.layers, data.heads + len(_below(data)))
    adds = "': ' + format(datum.value, '+.2f') + ' logits'"
    heads = heads.transform_calculate(told=f"'L' + datum.layer + 'H' + datum.head + {adds}")
    others = others.transform_calculate(told=f"datum.part + ' of layer ' + datum.layer + {adds}")
    told = [altair.Tooltip("told:N", title="title")]
    late = f"datum.layer > {0.75 * data.layers}"
    return layered(
        signed_map.ground(heads, cells, told),
        signed_map.ground(others, cells, told),
        signed_map.marks(heads, cells, signed_map.legend()),
        signed_map.marks(others, cells, signed_map.legend()),
        signed_map.marked(heads, cells, marking.HEAD),
        *signed_map.names(heads, cells, late),
    )


def _layers(data):
    every = max(1, -(-data.layers // 16))
    axis = altair.Axis(
        title="layer (index from 0)",
        values=list(range(0, data.layers, every)),
        labelAngle=0,
        domain=False,
        ticks=False,
    )
    return altair.X("layer:O", axis=axis)


def _rows(data):
    axis = altair.Axis(title="head (index from 0)", labelOverlap="greedy", **WORDS_LEFT)
    places = [*map(str, range(data.heads)), *_below(data)]
    return altair.Y("place:N", sort=places, axis=axis)


def _sums(data):
    side = "(datum.part === 'heads' ? -1 : datum.part === 'feed-forward' ? 1 : 0)"
    table = altair.Chart(altair.NamedData("steps")).transform_calculate(
        left=f"datum.at + min(0, {side}) * 0.42 - ({side} === 0 ? 0.3 : 0)",
        right=f"datum.at + max(0, {side}) * 0.42 + ({side} === 0 ? 0.3 : 0)",
    )
    tooltip = [
        altair.Tooltip("said:N", title="part"),
        altair.Tooltip("value:Q", title=predicted.EFFECT, format="+.2f"),
        altair.Tooltip("after:Q", title="sum so far", format="+.2f"),
    ]
    y = altair.Y("before:Q", title=predicted.UNIT).axis(tickCount=5, **WORDS_LEFT)
    bars = table.mark_rect(aria=False).encode(
        x=_steps_axis(data), x2="right:Q", y=y, y2="after:Q", color=_parts(), tooltip=tooltip
    )
    zero = altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.6, aria=False
    ).encode(**theme.at(y=0))  # fmt: skip
    return layered(zero, bars, *_total(table))


def _steps_axis(data):
    every = max(1, -(-data.layers // 16))
    scale = altair.Scale(domain=[-1.5, data.layers + 0.5], nice=False, zero=False)
    axis = altair.Axis(
        title="layer (index from 0)",
        values=list(range(0, data.layers, every)),
        format="d",
        grid=False,
    )
    return altair.X("left:Q", scale=scale, axis=axis)


def _parts():
    legend = altair.Legend(
        title=None,
        orient="top",
        columns=altair.ExprRef("width > 420 ? 4 : 2"),
        symbolOpacity=1,
        offset=theme.ABOVE,
    )
    return altair.Color("part:N", legend=legend).scale(
        domain=list(STEPS), range=[theme.themed(*look) for look in STEPS.values()]
    )


def _total(table):
    """A line at the sum of all, and its value."""
    last = table.transform_filter("datum.last === 1")
    line = last.mark_rule(strokeDash=[4, 3], strokeWidth=1.2, opacity=0.7, aria=False)
    style = {"align": "right", "baseline": "bottom", "dy": -4, "fontWeight": 600}
    return [
        line.encode(y=altair.Y("after:Q")),
        *(
            mark.encode(
                x=altair.X("right:Q"),
                y=altair.Y("after:Q"),
                text=altair.Text("after:Q", format="+.2f"),
            )
            for mark in theme.halo(last.mark_text, **style)
        ),
    ]


def rows(data: PredictionData, panel: int = 0, **state: int) -> dict[str, Rows]:
    shown = predicted.shown(data, state)
    return {"steps": steps(shown)} if panel else cells(shown, _below(data))


def _below(data):
    """The rows below the heads; a model without biases has no row of them."""
    biased = any(np.any(sentence.attention_bias) for sentence in data.sentences)
    return BELOW if biased else BELOW[:1]


def cells(shown: Shown, rows: tuple[str, ...] = BELOW) -> dict[str, Rows]:
    """The rows "heads" and "others" of the map; rows: those below the heads."""
    below = {
        part: values for part, values in zip(BELOW, _others(shown), strict=True) if part in rows
    }
    most = max(float(np.abs(one).max()) for one in (shown.heads, *below.values())) or 1.0
    named, count = _named(shown.heads), shown.heads.shape[1]
    return {
        "heads": [
            {
                "layer": layer,
                "head": head,
                **_cell(head, str(head), value, most),
                "name": head_label(layer, head) if (layer, head) in named else "",
            }
            for (layer, head), value in np.ndenumerate(shown.heads)
        ],
        "others": [
            {"layer": layer, "part": part, **_cell(count + n, part, value, most)}
            for n, (part, values) in enumerate(below.items())
            for layer, value in enumerate(values)
        ],
    }


def _cell(row, place, value, most):
    return {"row": row, "place": place, "value": float(value), "size": abs(float(value)) / most}


def _others(shown):
    """Direct effects of what the rows below the heads show, each float [layers]."""
    return shown.sentence.feed_forward[shown.row], shown.sentence.attention_bias[shown.row]


def _named(heads):
    """The heads with the largest effects on each side: {(layer, head)}."""
    least = LEAST_NAMED * np.abs(heads).max()
    both = [*predicted.strongest(heads, NAMED), *predicted.strongest(-heads, NAMED)]
    return {(head.layer, head.head) for head in both if head.value >= least}


def steps(shown: Shown) -> Rows:
    """What is added up, in order: rows with at, part, said, value, before, after, last."""
    found, total = [], 0.0
    for at, part, said, value in _added(shown):
        after = total + value
        place = {"at": at, "part": part, "said": said, "last": int(part == BIASES)}
        found.append(place | {"value": value, "before": total, "after": after})
        total = after
    return found


def _added(shown):
    """(place on the axis, part, that in words, its effect) of each bar."""
    text, row = shown.sentence, shown.row
    forward, bias = _others(shown)
    yield -1, "embedding", "embedding", float(text.embedding[row])
    for layer, heads in enumerate(shown.heads):
        yield layer, "heads", f"heads of layer {layer}", float(heads.sum())
        yield layer, FORWARD, f"feed-forward of layer {layer}", float(forward[layer])
    yield len(forward), BIASES, "all biases", float(bias.sum() + text.rest[row])


def seen(data: PredictionData, **state: int) -> str:
    """What is asked, which heads speak for it and against it, and what else does."""
    shown = predicted.shown(data, state)
    first = f"At {shown.place}, {shown.statement}."
    for_, against = (predicted.strongest(sign * shown.heads, 2) for sign in (1, -1))
    said = []
    if for_:
        said.append(f"{predicted.listed(for_)} {'add' if len(for_) > 1 else 'adds'} most")
    if against:
        verb = "take" if len(against) > 1 else "takes"
        said.append(f"{predicted.listed(against, -1)} {verb} most away")
    heads = predicted.signed(float(shown.heads.sum()))
    forward = predicted.signed(float(shown.sentence.feed_forward[shown.row].sum()))
    told = f"{'; '.join(said)}. " if said else ""
    return f"{told}{first} All heads together add {heads}, all feed-forward layers {forward}."


def alt(data: PredictionData, panel: int = 0, **state: int) -> str:
    shown = predicted.shown(data, state)
    if panel:
        end = steps(shown)[-1]["after"]
        embedding = predicted.signed(float(shown.sentence.embedding[shown.row]))
        return (
            f"Bars that begin at 0 with the embedding ({embedding}), go on with the heads and the "
            f"feed-forward layer of {len(shown.heads)} layers, and end at {number(end)}: at "
            f"{shown.place}, {shown.statement}."
        )
    layers, heads = shown.heads.shape
    most = [*predicted.strongest(shown.heads, NAMED)]
    least = predicted.strongest(-shown.heads, NAMED)
    said = predicted.listed(most) if most else "none"
    against = predicted.listed(least, -1) if least else "none"
    return (
        f"Map of {layers} layers of {heads} heads and of their feed-forward layers. At "
        f"{shown.place}, {shown.statement}. For it: {said}. Against it: {against}."
    )
