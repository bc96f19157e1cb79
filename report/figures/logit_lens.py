"""What the model would say if it stopped after a layer: its first guess at every token, and how the
answer rises."""

import math

import altair
import numpy as np

from report.figures import heads_at_step
from report.figures.parts import grid, marking, predicted, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.figures.parts.predicted import Shown
from report.kinds.prediction.data import PredictionData
from report.kinds.prediction.pieces import Lens
from report.text import number, percent

GUESSES, RISE = "rows/{sentence}-{back}-{after}.json", "rows/{sentence}-{back}.json"
"""Addresses of rows."""

SHOWN, ON_PHONE = 16, 7
"""Tokens, up to the one that predicts: in all, and on a phone."""

AFTER = {"feed-forward": "its feed-forward layer", "attention": "its attention"}
"""Which state of a layer is read; the embedding is shown with both."""
WORD_LEFT = {"minExtent": 66, "titleX": -70}
"""Room for "embedding", left of a map of layers."""

STYLES = {
    "the answer": ("#26309a", "#7b93f4", [1, 0]),
    "the other word": ("#c93d08", "#ec6f24", [5, 3]),
}
"""Lines: colour on light, colour on dark, dash."""

LAYER_ROW, MOST_ROWS = 17, 16
"""Pixels of a layer in the map; and layers that it has, at most."""


NATS = [0, -1, -2, -5, -10, -20, -50, -100, -200]
"""Ticks of log probabilities, closer together the lower they are: what is nearly sure differs by
little, and an early state may be a hundred nats off."""


def title(data: PredictionData) -> str:
    return "What the model would say after each layer"


def left_out(data: PredictionData) -> str:
    return "" if data.has_lens else "What earlier layers would say was not measured."


def caption(data: PredictionData) -> str:
    return (
        "A cell is what the model would say next after a layer. It is said as if its last norm and "
        "its output followed there (the logit lens). A column is a token that it has read, a row "
        f"the state after a layer{_few(data)}. Shade is the probability of that first guess; a "
        "frame says that it is right. Below is how probable the answer is after each layer, at the "
        "last column. The norm has its scale at each state, for direct effects that of the end, so "
        f"the two do not add up. On a narrow screen the map has the last {ON_PHONE} tokens."
    )


def use(data: PredictionData) -> str:
    return "Point at a cell or a point to read the words and their probabilities."


def controls(data: PredictionData) -> list[Control | Switch]:
    return [
        *predicted.controls(data),
        Switch("after", "State after", AFTER, "feed-forward", seldom=True),
    ]


def panels(data: PredictionData) -> list[str]:
    return ["First guess", "How the answer rises"]


def boxes(data: PredictionData) -> list[grid.Box]:
    high = 200 + LAYER_ROW * (len(_drawn(data.layers)) + 1)
    return [grid.Box(grid.WIDTH / high, grid.PHONE_WIDTH / high), grid.Box(2.2, 1.25)]


def chart(data: PredictionData, panel: int = 0, **state: int | str) -> altair.LayerChart:
    return theme.frame(
        _rise(data) if panel else _guesses(data),
        theme.Source(
            predicted.address(data, RISE if panel else GUESSES),
            "tables",
            ["rise" if panel else "guesses"],
            tokens=None,
            text=predicted.address(data, predicted.TEXT),
        ),
        description=f"{title(data)}: {panels(data)[panel]}",
        params=marking.marked("token"),
        walk=["state", "line"] if panel else ["token", "row"],
    )


def _guesses(data):
    narrow = f"width > 500 || datum.from_last < {ON_PHONE}"
    table = altair.Chart(altair.NamedData("guesses")).transform_filter(narrow)
    columns = f"(width > 500 ? {SHOWN} : {ON_PHONE})"
    x = predicted.token_channel(altair.X, "token that is read (text and index)", across=True)
    y = altair.Y("layer:N", sort=altair.SortField("row", order="descending")).axis(
        title=f"layer{_one_in(data)}",
        domain=False,
        ticks=False,
        labelOverlap="greedy",
        **WORD_LEFT,
    )
    legend = theme.gradient(title="probability", tickCount=3, format=".0%")
    colour = altair.Color("probability:Q", legend=legend).scale(
        domain=[0, 1], **theme.ramp(theme.SCORE_RAMP)
    )
    guess = "datum.guess_said + ' is the first guess, with ' + format(datum.probability, '.1%')"
    after = "(datum.layer === 'embedding' ? 'After the embedding' : 'After layer ' + datum.layer)"
    table = table.transform_calculate(told=f"{after} + ', ' + {guess}")
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        altair.Tooltip("token_said:N", title="token"),
        altair.Tooltip("others:N", title="then"),
        altair.Tooltip("right_said:N", title="asked for"),
        altair.Tooltip("rank:Q", title="its rank (0 = first)"),
    ]
    cell = table.mark_rect(stroke=altair.ExprRef("paper"), strokeWidth=1, aria=False).encode(
        x=x, y=y, color=colour, tooltip=tooltip
    )
    right = table.transform_filter("datum.rank === 0").mark_rect(
        fill=None, stroke=altair.ExprRef("ink"), strokeWidth=1.6, aria=False
    )
    light, dark = heads_at_step.turns("light"), heads_at_step.turns("dark")
    word = table.mark_text(
        fontSize=theme.TICK,
        limit=altair.ExprRef(f"width / {columns} - 4"),
        color=altair.ExprRef(
            f"datum.probability >= (dark ? {dark} : {light}) === dark ? 'black' : 'white'"
        ),
        aria=False,
    )
    here = "datum.token === marked_token"
    marked = table.transform_filter(marking.either(here)).mark_rect(
        fill=None,
        stroke=theme.themed(*theme.FIRST),
        strokeWidth=altair.ExprRef(f"{marking.pinned(here)} ? 2.6 : 1.4"),
        aria=False,
    )
    return layered(
        cell,
        right.encode(x=x, y=y),
        word.encode(x=x, y=y, text=altair.Text("guess:N")),
        marked.encode(x=x, y=y),
        _framed(),
    )


def _framed():
    """What a frame in the map says, above it."""
    style = {"align": "right", "baseline": "bottom", "aria": False}
    return theme.written("'framed: the right next token'", "width", -64, **style)


def _rise(data):
    table = altair.Chart(altair.NamedData("rise"))
    x = altair.X("state:Q", title="layer (its attention, then its feed-forward layer)").scale(
        domain=[-0.75, data.layers - 0.25], nice=False
    )
    x = x.axis(values=list(range(0, data.layers, max(1, -(-data.layers // 16)))), format="d")
    y = altair.Y("log_probability:Q", title="log probability (nats)")
    y = y.scale(type="symlog", constant=1, zero=False).axis(values=NATS, labelOverlap="greedy")
    legend = altair.Legend(title=None, orient="top", symbolType="stroke", offset=theme.ABOVE)
    kinds = list(STYLES)
    colour = altair.Color("kind:N", legend=legend).scale(
        domain=kinds, range=[theme.themed(light, dark) for light, dark, _ in STYLES.values()]
    )
    dash = altair.StrokeDash("kind:N", legend=legend).scale(
        domain=kinds, range=[dash for *_, dash in STYLES.values()]
    )
    tooltip = [
        altair.Tooltip("where:N", title="state"),
        altair.Tooltip("word:N", title="word"),
        altair.Tooltip("probability:Q", title="probability", format=".3~%"),
        altair.Tooltip("log_probability:Q", title="log probability", format=".2f"),
        altair.Tooltip("rank:Q", title="rank (0 = first)", format=",d"),
    ]
    line = table.mark_line(strokeWidth=2, aria=False)
    point = table.mark_circle(size=30, opacity=1, aria=False)
    around = table.mark_circle(size=160, color="transparent", aria=False)
    return layered(
        line.encode(x=x, y=y, color=colour, strokeDash=dash),
        around.encode(x=x, y=y, tooltip=tooltip),
        point.encode(
            x=x,
            y=y,
            color=altair.Color("kind:N", legend=None).scale(
                domain=kinds,
                range=[theme.themed(light, dark) for light, dark, _ in STYLES.values()],
            ),
            tooltip=tooltip,
        ),
    )


def rows(data: PredictionData, panel: int = 0, **state: int | str) -> dict[str, Rows]:
    shown = predicted.shown(data, state)
    return {"rise": _rise_rows(shown)} if panel else {"guesses": _guess_rows(shown, state["after"])}


def _drawn(layers: int) -> range:
    """The layers that the map has, the last one among them."""
    every = -(-layers // MOST_ROWS)
    return range((layers - 1) % every, layers, every)


def _few(data):
    """How many layers the map leaves out, in words; "" if none."""
    few = _one_in(data)
    return f", of which{few.removesuffix(')').replace(' (', ' ')} is drawn" if few else ""


def _one_in(data):
    """How many layers have a row, in brackets; "" if all have."""
    every = _drawn(data.layers).step
    return f" (one in {every})" if every > 1 else ""


def _states(layers: int, after: str) -> dict[int, int]:
    """The states that the map has: layer, -1 for the embedding -> index of the state."""
    within = 1 if after == "attention" else 2
    return {-1: 0} | {layer: 2 * layer + within for layer in _drawn(layers)}


def _guess_rows(shown: Shown, after: str) -> Rows:
    """A row a cell of the map."""
    text, lens = shown.sentence, shown.sentence.lens
    layers = len(lens.tokens) // 2
    return [
        {
            "token": token,
            "named": predicted.named(text, token),
            "token_said": f"{token}  “{text.tokens[token].label}”",
            "from_last": shown.row - token,
            "row": layer,
            "layer": "embedding" if layer < 0 else str(layer),
            **_guess(text, lens, state, token),
        }
        for layer, state in _states(layers, after).items()
        for token in range(max(0, shown.row - SHOWN + 1), shown.row + 1)
    ]


def _guess(text, lens, state, token):
    first, *others = (lens.words[int(one)] for one in lens.tokens[state, token])
    return {
        "guess": predicted.bare(first),
        "guess_said": f"“{first}”",
        "probability": math.exp(lens.log_probability[state, token, 0]),
        "others": " ".join(f"“{other}”" for other in others),
        "right_said": f"“{text.target(token).label}”",
        "rank": int(lens.target_rank[state, token]),
    }


def _rise_rows(shown: Shown) -> Rows:
    """A row a state and word: how probable the word is there, at the token that predicts."""
    text, lens = shown.sentence, shown.sentence.lens
    lines = [("the answer", text.target(shown.row), *_of_target(lens, shown.row))]
    last = shown.row == text.rows - 1
    if last and lens.other_rank is not None:
        lines.append(("the other word", text.other(), lens.other_log_probability, lens.other_rank))
    return [
        {
            "state": (state - 1) / 2 - 0.25 if state else -0.5,
            "where": where,
            "line": line,
            "kind": kind,
            "word": f"“{word.label}”",
            "log_probability": float(logs[state]),
            "probability": math.exp(logs[state]),
            "rank": int(ranks[state]),
        }
        for line, (kind, word, logs, ranks) in enumerate(lines)
        for state, where in enumerate(lens.labels)
    ]


def _of_target(lens: Lens, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Log probability and rank of what a row asks for, both [states]."""
    return lens.target_log_probability[:, row], lens.target_rank[:, row]


def seen(data: PredictionData, **state: int | str) -> str:
    """From which layer on the answer is the first guess, and what is said before."""
    shown = predicted.shown(data, state)
    lens = shown.sentence.lens
    logs, ranks = _of_target(lens, shown.row)
    word = predicted.of_word(shown.sentence.target(shown.row))
    share = percent(math.exp(logs[-1]))
    if ranks[-1] != 0:
        first = lens.words[int(lens.tokens[-1, shown.row, 0])]
        given = percent(math.exp(lens.log_probability[-1, shown.row, 0]))
        return (
            f"At {shown.place}, {word} is not the first guess in the end. It gets {share}, and "
            f"{predicted.quoted(first)} is first with {given}."
        )
    begins = len(ranks) - int(np.argmin((ranks == 0)[::-1])) if (ranks != 0).any() else 0
    before = ""
    if begins:
        said = lens.words[int(lens.tokens[begins - 1, shown.row, 0])]
        before = f" Just before, that was {predicted.quoted(said)}."
    return (
        f"At {shown.place}, {word} is the first guess after {lens.labels[begins]}.{before} In the "
        f"end it gets {share}."
    )


def alt(data: PredictionData, panel: int = 0, **state: int | str) -> str:
    shown = predicted.shown(data, state)
    lens = shown.sentence.lens
    if panel:
        logs, ranks = _of_target(lens, shown.row)
        word = predicted.of_word(shown.sentence.target(shown.row))
        best = int(np.argmax(logs))
        return (
            f"Line of the log probability of {word} at {shown.place}, after each of "
            f"{len(logs)} states: {number(logs[0])} at the embedding, highest after "
            f"“{lens.labels[best]}” with {number(logs[best])}, {number(logs[-1])} in the end "
            f"(rank {ranks[-1]})."
        )
    layers = len(lens.tokens) // 2
    states = [*_states(layers, state["after"]).values()]
    places = states[0], states[len(states) // 2], states[-1]
    said = ", ".join(
        f"{predicted.quoted(lens.words[int(lens.tokens[state, shown.row, 0])])} at "
        f"“{lens.labels[state]}”"
        for state in places
    )
    return (
        f"Map of first guesses after {len(states) - 1} of {layers} layers ({state['after']}), up "
        f"to {shown.place}. "
        f"There they are: {said}."
    )
