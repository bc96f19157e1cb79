"""Does a head matter by itself or through others? Its direct effect beside what is lost without
it."""

import altair
import numpy as np

from report.figures.parts import marking, predicted, theme
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.prediction.data import PredictionData
from report.text import number

ASPECT, PHONE_ASPECT = 1.3, 0.95

ROWS = "rows/{sentence}-{ablation}.json"

KINDS = {"mean": "its mean over many texts", "zero": "zeros", "resample": "that of another text"}
"""Kind of ablation -> what a head's context is replaced by."""

SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.2~f')"
"""Expression of a tick's label."""

NAMED = 10
"""Most heads that are named, unless the text names some."""

NOTHING = 0.01
"""An effect below this part of the largest one is called next to nothing."""

NEAR, AT_ONE = (0.34, 0.06), 0.03
"""Fractions of the axes: labels closer than `NEAR` in both would overlap on a phone, and points
closer than `AT_ONE` share a label."""


def title(data: PredictionData) -> str:
    return "What a head adds, and what is lost without it"


def left_out(data: PredictionData) -> str:
    return "" if _kinds(data) else "What is lost without a head was not measured."


def caption(data: PredictionData) -> str:
    if _one_unit(data):
        return (
            "A point is a head. On the dashed line, as much is lost without it as it adds. To the "
            "right: its direct effect, what it adds to the prediction by itself. Upwards: how far "
            "the prediction at the last token falls when what the head hands on is replaced. Above "
            "the line, a head matters through later layers too; below it, they make up for some of "
            f"what is gone. {_named_heads(data, 'far from the line, or with the largest effects,')}"
        )
    return (
        "A point is a head. To the right: its direct effect on the logit of the next token, the "
        "mean over all tokens. Upwards: how far that token's log probability falls, in the mean, "
        "when what the head hands on is replaced. The two have different units, so only their "
        f"order can be compared. {_named_heads(data, 'with the largest effects')}"
    )


def _named_heads(data, rule):
    """A sentence on which heads are named: those of the text, else those of a rule."""
    return f"Heads {'of the text' if data.in_prose else rule} are named."


def _one_unit(data):
    """Whether both effects are in logits, as of a prompt; of a passage's next tokens, the drop is
    in nats of log probability."""
    return any(sentence.asks for sentence in data.sentences)


def use(data: PredictionData) -> str:
    return "Point at a head to read both numbers. Click on it, and figures of one head show it."


def controls(data: PredictionData) -> list[Switch]:
    """The texts, and after them the mean over generated sentences, at which it opens."""
    kinds, mean = _kinds(data), {}
    if data.generated:
        mean = {"mean": f"the mean of {data.generated.number} generated sentences"}
    replaced = Switch("ablation", "Replaced by", kinds, next(iter(kinds)), seldom=True)
    return [*predicted.texts(data, mean), *([replaced] if len(kinds) > 1 else [])]


def _kinds(data):
    """The entries of `KINDS` that were measured for every text and for the mean."""
    measured = [*data.sentences, *([data.generated] if data.generated else [])]
    return {kind: KINDS[kind] for kind in KINDS if all(kind in each.ablations for each in measured)}


def _at(data, state):
    """The values of the controls, and the kind of ablation where there is one only."""
    return {"ablation": next(iter(_kinds(data)))} | state


def chart(data: PredictionData, **state: int | str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("heads"))
    axes = _axes(data)
    lost = "' logits, '" if _one_unit(data) else "' logits; in nats a token, '"
    sentence = f"datum.label + ' adds ' + datum.direct_said + {lost} + datum.drop_said + ' is lost"
    points = (
        table.transform_calculate(told=f"{sentence} without it'")
        .mark_circle(
            size=altair.ExprRef("width > 500 ? 52 : 34"),
            opacity=0.75,
            color=theme.themed(*theme.MASS.values()),
            stroke=altair.ExprRef("paper"),
            strokeWidth=0.6,
            aria=False,
        )
        .encode(**axes, tooltip=[altair.Tooltip("told:N", title="title")])
    )
    return theme.frame(
        layered(
            *_zeros(),
            *(_diagonal(table) if _one_unit(data) else []),
            points,
            *_names(table, axes),
            marking.ring(table, marking.HEAD, 150, 1.8).encode(**axes),
        ),
        theme.Source(_address(data), "tables", ["heads"], tokens=None),
        description=f"{title(data)}: a scatter plot, a point a head",
        params=marking.marked("layer", "head"),
    )


def _address(data):
    rows, kinds = predicted.address(data, ROWS), list(_kinds(data))
    return rows if len(kinds) > 1 else rows.replace("{ablation}", kinds[0])


def _axes(data):
    x = altair.X("direct:Q", title=f"{predicted.EFFECT} (logits)").axis(
        tickCount=theme.ticks_across(), labelExpr=SIGNED
    )
    unit = "logits" if _one_unit(data) else "nats a token"
    y = altair.Y("drop:Q", title=f"lost without the head ({unit})").axis(
        tickCount=6, labelExpr=SIGNED
    )
    return {"x": x, "y": y}


def _zeros():
    mark = altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.5, aria=False, color=theme.themed(*theme.SOFT.values())
    )
    return [mark.encode(**theme.at(x=0)), mark.encode(**theme.at(y=0))]


def _diagonal(table):
    """The line of equal effects, within the range of both, and its name above the chart."""
    ends = (
        table.transform_aggregate(
            left="min(direct)", bottom="min(drop)", right="max(direct)", top="max(drop)"
        )
        .transform_calculate(
            low="max(datum.left, datum.bottom)", high="min(datum.right, datum.top)"
        )
        .transform_filter("datum.low < datum.high")
    )
    line = ends.mark_rule(strokeDash=[5, 4], strokeWidth=1.2, opacity=0.8, aria=False).encode(
        x=altair.X("low:Q"), x2=altair.X2("high:Q"), y=altair.Y("low:Q"), y2=altair.Y2("high:Q")
    )
    return [line, *theme.dashes("as much lost as added", strokeWidth=1.2, opacity=0.8)]


def _names(table, axes):
    named = table.transform_filter("datum.name !== ''")
    return [
        mark.encode(**axes, text=altair.Text("name:N"))
        for mark in theme.halo(
            named.mark_text,
            align=altair.ExprRef("datum.late === 1 ? 'right' : 'left'"),
            dx=altair.ExprRef("datum.late === 1 ? -8 : 8"),
            baseline="middle",
            fontSize=theme.TICK,
            fontWeight=600,
        )
    ]


def rows(data: PredictionData, **state: int | str) -> dict[str, Rows]:
    at = _at(data, state)
    direct, drop = _values(data, at)
    errors = _errors(data, at)
    labels = _labels(data, direct, drop)
    late = float(direct.min() + 0.8 * np.ptp(direct))  # beyond it, labels are left of the points
    return {
        "heads": [
            {
                "layer": layer,
                "head": head,
                "label": head_label(layer, head),
                "direct": float(value),
                "drop": float(drop[layer, head]),
                "direct_said": _with_error(direct, errors and errors[0], layer, head),
                "drop_said": _with_error(drop, errors and errors[1], layer, head),
                "name": labels.get((layer, head), ""),
                "late": int(value > late),
            }
            for (layer, head), value in np.ndenumerate(direct)
        ],
    }


def _values(data, at):
    """Direct effect and drop of each head, both float [layers, heads]."""
    if _is_mean(data, at):
        return data.generated.mean("direct"), data.generated.mean(at["ablation"])
    sentence = predicted.text_of(data, at)
    direct = sentence.heads[-1] if sentence.asks else sentence.heads.mean(0)
    return direct, sentence.drop(at["ablation"])


def _with_error(values, errors, layer, head):
    """A value with two decimals, and its standard error where there is one."""
    text = f"{values[layer, head]:+.2f}".replace("-", "\u2212")
    return text if errors is None else f"{text} ± {errors[layer, head]:.2f}"


def _is_mean(data, at):
    """Whether the means over generated sentences are shown."""
    return at.get("sentence") == "mean"


def _errors(data, at):
    """Standard errors of `_values`, or None for a single text."""
    if not _is_mean(data, at):
        return None
    return data.generated.error("direct"), data.generated.error(at["ablation"])


def _where(data, at):
    """The text or the mean that the values are of, in words."""
    if _is_mean(data, at):
        return f"as means over {data.generated.number} generated sentences"
    return f"for {predicted.text_name(at)}"


def _labels(data, direct, drop):
    """Labels without overlap, of heads of the text, else of those that stand out most:
    {(layer, head): "L5H1"}. Heads of the text at one point share a label, "L5H1, L5H2".
    """
    spread = [max(float(np.ptp(values)), 1e-9) for values in (direct, drop)]
    labels, most = {}, len(data.in_prose) or NAMED
    for at in data.in_prose or _standing_out(direct, drop, spread, _one_unit(data)):
        distances = {
            head: (
                abs(direct[at] - direct[head]) / spread[0],
                abs(drop[at] - drop[head]) / spread[1],
            )
            for head in labels
        }
        same = [head for head, far in distances.items() if data.in_prose and max(far) < AT_ONE]
        if same:
            labels[same[0]] += f", {head_label(*at)}"
        elif all(far[0] > NEAR[0] or far[1] > NEAR[1] for far in distances.values()):
            labels[at] = head_label(*at)
        if len(labels) == most:
            break
    return labels


def _standing_out(direct, drop, spread, one_unit):
    """(layer, head) of all heads, those that stand out most first."""
    if one_unit:
        stands_out = np.maximum(np.abs(drop - direct), np.maximum(np.abs(direct), np.abs(drop)) / 2)
    else:
        stands_out = np.maximum(np.abs(direct) / spread[0], np.abs(drop) / spread[1])
    order = np.argsort(-stands_out, axis=None, kind="stable")
    return [divmod(int(place), direct.shape[1]) for place in order]


def seen(data: PredictionData, **state: int | str) -> str:
    """The heads with the largest effects, those farthest from the line, and the correlation."""
    at = _at(data, state)
    direct, drop = _values(data, at)
    sentences = [
        _largest(direct, drop, _one_unit(data)),
        _off_the_line(direct, drop) if _one_unit(data) else "",
        f"Over all heads the two correlate by {number(_correlation(direct, drop))}.",
    ]
    return " ".join(filter(None, sentences))


def _largest(direct: np.ndarray, drop: np.ndarray, one_unit: bool) -> str:
    """The heads with the largest direct effect and the largest drop; "" if none is above 0.

    direct, drop: float [layers, heads]; one_unit: whether both are in logits, else the second is in
    nats
    """
    adds, lost = predicted.strongest(direct, 1), predicted.strongest(drop, 1)
    if not adds or not lost:
        return ""
    units = ("", "") if one_unit else (" logits", " nats a token")
    effect, loss = (predicted.signed(heads[0].value) for heads in (adds, lost))
    effect, loss = effect + units[0], loss + units[1]
    first = f"{adds[0].label} has the largest direct effect ({effect})"
    if adds[0].label == lost[0].label:
        return f"{first}, and most is lost without it ({loss})."
    second = f"{first}. Most is lost without {lost[0].label} ({loss})"
    if not one_unit:
        return f"{second}."
    itself = predicted.signed(direct[lost[0].layer, lost[0].head])
    return f"{second}; by itself it adds {itself}."


def _off_the_line(direct: np.ndarray, drop: np.ndarray) -> str:
    """The head whose drop is most above its direct effect, and the one most below; "" for none."""
    sentences = []
    for sign, what in ((1, "matters most through others"), (-1, "is missed least for its effect")):
        for head in predicted.strongest(sign * (drop - direct), 1):
            adds, lost = (values[head.layer, head.head] for values in (direct, drop))
            little = abs(adds) < NOTHING * np.abs(direct).max()
            adds = "adds next to nothing" if little else _verb("adds", "takes away", adds)
            verb = "is lost" if lost >= 0 else "is gained"
            amount = number(abs(lost))
            sentences.append(f"{head.label} {what}: it {adds}, and {amount} {verb} without it.")
    return " ".join(sentences)


def _verb(more, less, value):
    return f"{more if value >= 0 else less} {number(abs(value))}"


def _correlation(direct: np.ndarray, drop: np.ndarray) -> float:
    """Correlation over heads, from -1 to 1; 0 where one is the same everywhere."""
    if min(np.ptp(direct), np.ptp(drop)) == 0:
        return 0.0
    return float(np.corrcoef(direct.ravel(), drop.ravel())[0, 1])


def alt(data: PredictionData, **state: int | str) -> str:
    at = _at(data, state)
    direct, drop = _values(data, at)
    named = sorted(_labels(data, direct, drop), key=lambda head: -abs(drop[head]))
    listed = "; ".join(
        f"{head_label(*head)} {predicted.signed(direct[head])} and {predicted.signed(drop[head])}"
        for head in named
    )
    return (
        f"{direct.size} points, a head each: direct effect against what is lost when it is "
        f"replaced by {KINDS[at['ablation']]}, {_where(data, at)}. The two "
        f"correlate by {number(_correlation(direct, drop))}. Named are {listed}."
    )
