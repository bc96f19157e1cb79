"""How figures name tokens: in tooltips, and along an axis."""

from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import altair as alt

from report.kinds.passage.data import PassageData, PassageModels, Token
from report.text import characters, shortened


def token_label(token: str, text: str) -> str:
    """Expression: index and text of a token, e.g. 17 “ lamp”, from two field names."""
    return f"datum.{token} + '  “' + datum.{text} + '”'"


def first_tokens(data: PassageModels) -> str:
    """What the first token is in each model, a sentence; "" where it is of one kind in all."""
    texts = [getattr(model, "sentences", [model])[0] for model in data.models]
    if not all(getattr(text, "tokens", ()) for text in texts):
        return ""  # of many texts, such as the prompts of a condition, or of none
    firsts = [(label, text.tokens[0]) for label, text in zip(data.labels, texts, strict=True)]
    ours = [label for label, token in firsts if not token.special]
    added = [(label, token) for label, token in firsts if token.special]
    if not ours or not added:
        return ""
    return (
        f"The first token is one of the text in {', '.join(ours)}; in "
        f"{', '.join(label for label, _ in added)} it is put in front of the text "
        f"(“{shortened(added[0][1].name, NAMED)}”)."
    )


GIVES = (
    "'“' + trim(datum.current_text) + '” gives ' + format(datum.probability, '.1%') + ' to ' + "
    "(datum.distance ? '“' + trim(datum.target_text) + '”, ' + abs(datum.distance) + "
    "(abs(datum.distance) === 1 ? ' token ' : ' tokens ') + "
    "(datum.distance > 0 ? 'back' : 'ahead') : 'itself')"
)
"""Expression for what a token gives to a target, in a sentence, as `gives` of shares.js says it."""

APART = "abs(datum.distance) + (datum.distance > 0 ? ' before' : datum.distance ? ' after' : '')"
"""Expression for the field "apart" of rows that have a distance, current token less target."""


def tooltip_of_distance(data: PassageData) -> alt.Tooltip:
    """Tooltip of a distance: the number of tokens, or, where targets may be later, "apart"."""
    if data.causal:
        return alt.Tooltip("distance:Q", title="tokens in the past")
    return alt.Tooltip("apart:N", title="tokens apart")


LABELS = "labels"
"""Name of the param that holds the texts of tokens, for axes."""

NAMED = 40
"""Characters of a token's text that a specification has at most; axes show fewer."""


def labels(tokens: Iterable[Token]) -> alt.Parameter:
    """The param with the texts that `token_axis` shows."""
    return alt.param(name=LABELS, value=[_of_token(token) for token in tokens])


ON_AXIS = (8, 5)
"""Characters of a text that an axis shows, on a wide figure and on a narrow one."""

OF_PART = 3
"""Characters that an axis shows of what a token is a part of."""


def _of_token(token):
    """A text that an axis may cut; or in a list, which tells it from them, one that it may not."""
    if token.part:
        number, _, of = token.name.partition("·")
        first = characters(of)
        return [f"{number}·{''.join(first[:OF_PART])}{'…' if len(first) > OF_PART else ''}"]
    return on_axis(token.label.strip() or token.label)


def on_axis(text: str) -> str:
    """A text, shortened, that an axis cuts inside no character; shorter still where it would.

    Vega counts UTF-16 units, of which characters such as emoji have two. Half a character stops the
    program that draws the pictures.
    """
    text = shortened(text, NAMED)
    ends = list(accumulate(len(each.encode("utf-16-le")) // 2 for each in characters(text)))
    cuts = {most - 1 for most in ON_AXIS if ends[-1] > most}
    if cuts <= {*ends}:
        return text
    whole = bisect(ends, min(ON_AXIS) - 1)  # characters that stay on every figure
    return ("".join(characters(text)[:whole]) or text[0]) + "…"


TOKENS_LEFT = {
    "titleX": alt.ExprRef("width > 500 ? -84 : -62"),
    # room for the widest letters that a system may have
    "minExtent": alt.ExprRef("width > 500 ? 84 : 62"),
}
"""Options of a vertical `token_axis`: its title begins where the texts do."""


def token_axis(
    title: str,
    count: int | str,
    length: str,
    *,
    across: bool,
    cell: bool = True,
    apart: int = 17,
    end: str = "",
    **more: Any,
) -> alt.Axis:
    """An axis of token positions that names as many tokens as fit, by text and index.

    count: of tokens that it reaches over, or an expression of that
    length: of the axis, "width" or "height"; across: whether it is horizontal
    apart: pixels between two names, at least about
    end: expression of the token before which it ends, if it need not reach to the last one
    cell: whether a token is a cell that begins at its index, and not a point there
    """
    middle = alt.ExprRef(f"{length} / ({count}) / 2") if cell else 0
    text = f"{LABELS}[datum.value]"
    cut = f"truncate({text}, width > 500 ? {ON_AXIS[0]} : {ON_AXIS[1]})"
    text = f"(isArray({text}) ? {text}[0] : {cut})"
    # A text that is a number gets a quotation mark: it must not be taken for an index, nor
    # together with the index for one number.
    text = f"(isFinite(toNumber({text})) ? '“' + {text} + '”' : {text})"
    before = f" && datum.value < {end}" if end else ""
    # The invisible left-to-right mark keeps the index behind a text that runs from right to left.
    # The spaces do not break, since a picture would join two plain ones.
    return alt.Axis(
        title=title,
        grid=False,
        domain=False,
        ticks=False,
        tickMinStep=1,
        tickCount=alt.ExprRef(f"clamp(floor({length} / {apart}), 2, max({count}, 2))"),
        labelExpr=(
            f"isValid({LABELS}[datum.value]){before} ? "
            f"{text} + '\u200e\u00a0\u00a0' + datum.value : ''"
        ),
        labelOffset=middle,
        # wider than any text with its index, so that no index is cut off
        labelLimit=alt.ExprRef("width > 500 ? 160 : 110"),
        **({"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"} if across else {}),
        titlePadding=14,
        **more,
    )
