"""Why a target is attended to: what content, bias and position add to its score."""

import altair
import numpy as np

from report.datasets.formats.attention import PLACED, DecodedAttention
from report.figures.parts import choices, marking, scatter, score_terms, ternary, theme, token_names
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.figures.parts.spread import spread, stride
from report.kinds.passage.data import PassageData, Token
from report.text import percent

ASPECT = 1.12
PHONE_ASPECT = 0.98
RANKS = 11
"""Targets of a row that the datasets list."""
MOST = 1024
"""Most points of a picture, one a current token; of a longer passage every so many tokens."""

ORDINALS = {2: "second", 3: "third"}


def title(data: PassageData) -> str:
    return "Attention Breakdown"


def left_out(data: PassageData) -> str:
    number = len(score_terms.choosing(data))
    if number >= 2:
        return ""
    if number == 0:
        return "Of this model only whole scores could be measured, so they cannot be broken down."
    name = score_terms.names(data)[score_terms.compares(data)]
    return (
        f"All that differs between the targets of a token is the {name} term, so there is "
        "nothing to break down."
    )


def _axes(data):
    """The terms that the figure compares: dict of term to its name."""
    names = score_terms.names(data)
    return {term: names[term] for term in score_terms.choosing(data)}


def caption(data: PassageData) -> str:
    axes = _axes(data)
    target = "A point is a current token and one of its top targets. Rank 0 is the first. "
    if (apart := stride(data.length, MOST)) > 1:
        target += f"Of this long passage every {ORDINALS.get(apart, f'{apart}th')} token is drawn. "
    shift = "each is shifted by its smallest value over the targets that the current token can see"
    if len(axes) == 2:
        across, up = axes.values()
        return (
            f"{target}Its place says how much each of the two terms of the score speaks for it: "
            f"the {across} term to the right, the {up} term upwards. Only differences between "
            f"targets count, so {shift}. On the dashed line both are equal. "
            f"Targets at both minima are left out{_token_0(data)}. Colour is the probability."
            f"{_mixed(data)}"
        )
    content, bias, position = axes.values()
    return (
        f"{target}Its place says which part each term has in the score: at a corner the score is "
        f"all {content}, all {bias} or all {position}. Only differences between targets count, so "
        f"{shift}. Targets at all three minima are left out{_token_0(data)}. Colour is the "
        f"probability.{_mixed(data)}"
    )


def _mixed(data):
    """The sentence about the term of content and position, and in which layers it is split."""
    if score_terms.compares(data) != "mixed":
        return ""
    where = "it cannot be told apart here"
    if PLACED[-1] in data.terms:
        where = "only in layer 0 are its parts known"
    return (
        f" The {score_terms.MIXED} term compares hidden states, which hold what tokens are and, as "
        f"this model adds positions to its embeddings, where they stand; {where}."
    )


def _token_0(data):
    # its only visible target is itself, which is the minimum of every term
    return ", token 0 always" if data.causal else ""


def use(data: PassageData) -> str:
    return "The slider “Rank” leads from the top target of each token to the second, and so on."


def controls(data: PassageData) -> list[Control | Switch]:
    return [
        choices.layer_control(data),
        choices.head_control(data),
        Control("sort_idx", "Rank (0 = largest)", 0, min(RANKS, data.length) - 1, 0, seldom=True),
    ]


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    axes = _axes(data)
    plane = scatter if len(axes) == 2 else ternary
    kind = "two score terms, a scatter plot" if len(axes) == 2 else "a ternary plot of three terms"
    return theme.frame(
        layered(*plane.layers(axes), _points(data, axes, plane), _marked(axes, plane)),
        theme.Source("attention/{layer}/{head}.json", "attention_breakdown", ["points"]),
        description=f"{title(data)}: {kind}",
        params=marking.marked("token") + plane.params(),
        terms=score_terms.names(data),
        axes=list(axes),
    )


def _points(data, axes, plane):
    legend = altair.Legend(
        orient="top-right" if plane is ternary else "top",  # beside the triangle there is room
        title="probability",
        gradientLength=altair.ExprRef("clamp(height * 0.22, 60, 120)"),
        gradientThickness=10,
        values=[0, 0.5, 1],
        format=".1f",
        offset=2 if plane is ternary else theme.ABOVE,
    )
    scale = altair.Scale(domain=[0, 1], **theme.ramp(theme.PROBABILITY_RAMP))
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        *(
            altair.Tooltip(f"{term}:Q", title=f"{name} term", format=".2f")
            for term, name in axes.items()
        ),
        altair.Tooltip("current:N", title="current token"),
        altair.Tooltip("target:N", title="target token"),
    ]
    mark = altair.Chart(altair.NamedData("points")).mark_circle(
        size=altair.ExprRef("width > 500 ? 46 : 30"),
        opacity=0.85,
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.5,
        aria=False,
    )
    return _labelled(mark, axes, plane).encode(
        **plane.position("x", "y"),
        color=altair.Color("probability:Q", scale=scale, legend=legend),
        tooltip=tooltip,
    )


def _marked(axes, plane):
    here = "datum.current_token === marked_token || datum.target_token === marked_token"
    ring = marking.ring(altair.Chart(altair.NamedData("points")), here, 150)
    return _labelled(ring, axes, plane).encode(**plane.position("x", "y"))


def _labelled(mark, axes, plane):
    return mark.transform_calculate(
        **plane.place(axes),
        told=token_names.GIVES,
        current=token_names.token_label("current_token", "current_text"),
        target=token_names.token_label("target_token", "target_text"),
    )


def rows(data: PassageData, **state: int) -> dict[str, Rows]:
    layer, head, sort_idx = state.values()
    attention = data.attention(layer, head)
    return {"points": points(attention, data.tokens, sort_idx, list(_axes(data)))}


def points(
    attention: DecodedAttention, tokens: list[Token], sort_idx: int, axes: list[str]
) -> Rows:
    """A row for each current token whose target of that rank has a place in the figure.

    sort_idx: the rank, 0 to 10
    axes: names of two or three terms
    A row has current_token, current_text, target_token, target_text, distance, probability and the
    terms as they are. It also has each term less its smallest value over the targets that the
    current token sees: as height_<term>, or, of three terms, divided by their sum as share_<term>.
    """
    current, target, shifted = _above_minimum(attention, sort_idx, axes)
    terms = {name: score_terms.matrix(attention, name)[current, target] for name in axes}
    return [
        {
            "current_token": int(i),
            "current_text": tokens[i].label,
            "target_token": int(j),
            "target_text": tokens[j].label,
            "distance": int(i - j),
            "probability": float(attention.probability[i, j]),
            **{name: float(values[row]) for name, values in terms.items()},
            **_placed(dict(zip(axes, shifted[row].tolist(), strict=True))),
        }
        for row, (i, j) in enumerate(zip(current, target, strict=True))
    ]


def _above_minimum(attention, sort_idx, axes):
    """The targets of one rank, and each term less its smallest value for the current token.

    A target without a place is left out: it is at the minimum of every term.
    returns: int [point] current tokens, int [point] target tokens, float [point, term]
    """
    target = attention.largest_targets[:, sort_idx]
    current = spread(len(target), MOST)
    current = current[target[current] >= 0]  # the others see fewer targets
    target = target[current]
    shifted = np.stack(
        [
            score_terms.matrix(attention, name)[current, target]
            - score_terms.smallest(attention, name)[current]
            for name in axes
        ],
        axis=1,
    )
    placed = shifted.sum(1) > 0
    return current[placed], target[placed], shifted[placed]


def _placed(shifted):
    if len(shifted) == 2:
        return {f"height_{name}": value for name, value in shifted.items()}
    total = sum(shifted.values())
    return {f"share_{name}": value / total for name, value in shifted.items()}


def seen(data: PassageData, **state: int) -> str:
    """The term that speaks most for the targets drawn, and the share of them that it leads."""
    layer, head, sort_idx = state.values()
    axes = _axes(data)
    _, _, parts = _above_minimum(data.attention(layer, head), sort_idx, list(axes))
    if not len(parts):
        return "No target of this rank has a place in the figure."
    if len(axes) == 3:
        parts = parts / parts.sum(1, keepdims=True)
    of_mixed = _seen_in_mixed(data, data.attention(layer, head), sort_idx)
    most, leading = _leading(parts)
    what = axes[list(axes)[most]]
    share = percent(np.mean(leading == most))
    if len(axes) == 2:
        side = "below" if most == 0 else "above"
        return (
            f"At {share} of the points, the {what} term does more for the target. They lie {side} "
            f"the dashed line.{of_mixed}"
        )
    mean = percent(parts[:, most].mean())
    return (
        f"At {share} of the points, the {what} term has the largest part in the score. They lie "
        f"nearest its corner. On average, this term makes up {mean} of the score.{of_mixed}"
    )


def _leading(parts):
    """(index of the term that is largest at most points, that of the largest term of each point).

    parts: float [point, term]
    returns: (int, int [point])
    """
    leading = parts.argmax(1)
    return int(np.bincount(leading, minlength=parts.shape[1]).argmax()), leading


def _seen_in_mixed(data, attention, sort_idx):
    """The sentence about the leading part of the mixed term; "" in layers that do not split it."""
    if PLACED[-1] not in attention.terms:
        return ""
    _, _, parts = _above_minimum(attention, sort_idx, list(PLACED))
    if not len(parts):
        return ""
    most, leading = _leading(parts)
    return (
        f" Of the {score_terms.MIXED} term, {score_terms.names(data)[PLACED[most]]} speaks most "
        f"for {percent(np.mean(leading == most))} of them."
    )
