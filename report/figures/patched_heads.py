"""What putting a head's output from one prompt into the other does, token by token, and beside it
what replacing it at all tokens does."""

import json

import altair
import numpy as np

from report.figures.parts import choices, grid, marking, over_models, signed_map, theme
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.figures.parts.over_pairs import means, spread
from report.figures.parts.signed_map import Cells
from report.kinds.pair.data import PairData
from report.text import percent

HEADS = 12
"""Heads that are shown, those that do most."""

COLUMNS = 5

GAP = 18
"""Pixels between two columns: of the same height, both panels have the same rows."""

WAYS = {"restored": "clean into corrupted", "lost": "corrupted into clean"}
"""Values of the switch -> what is put where."""

DONE = {"restored": "comes back", "lost": "is lost"}

WHOLE = {
    "restored": ("clean", "comes back with its clean output in the corrupted prompt"),
    "lost": ("corrupted", "is lost with its corrupted output in the clean prompt"),
    "mean": ("mean", "is lost with its mean output in the clean prompt"),
    "zero": ("zeros", "is lost with zeros in the clean prompt"),
}
"""What replaces a head at all tokens -> what the axis and the tooltip call it."""

WORDS_BELOW = {
    "labelAngle": -90,
    "labelAlign": "right",
    "labelBaseline": "middle",
    "labelLimit": 110,
    "labelOverlap": "greedy",
    "domain": False,
    "ticks": False,
    "minExtent": 76,
}
"""Options of both horizontal axes: as high on each side, so that rows go on."""

WORDS_LEFT = {"minExtent": 48, "titleX": -52}
"""Options of a vertical axis with names of heads on it."""


def title(data: PairData) -> str:
    return "Which heads make the difference, at which token"


def caption(data: PairData) -> str:
    return (
        "A row is a head; a mark is how much of the prompts' difference it carries at a "
        "token.\nSo much of the difference comes back when what the head hands on in the clean "
        "prompt is put into the corrupted one, or is lost when it is put the other way round. "
        f"The {_shown_number(data)} heads with the largest shares, above or below 0, are shown. "
        "In the first panel one token at a time is replaced, from the first that differs; where "
        "the two prompts have other tokens, both are named, the clean one first. In the "
        "second the head is replaced at all tokens: in the corrupted prompt by what it "
        "is in the clean one, in the clean prompt by what it is in the corrupted one, by its "
        "mean over other texts, or by zeros. A share is 100 % where one prompt becomes the other. "
        "A triangle that points down is a share below 0: the head works against the difference. "
        "Areas are to one scale on each side; less than a twentieth of the largest has no mark."
        + means(data)
    )


def use(data: PairData) -> str:
    return (
        "Point at a cell, or use the arrow keys, to read its share. Click on it to mark its head "
        "in the other figures."
    )


def controls(data: PairData) -> list[Switch]:
    return [Switch("way", "One token at a time", WAYS, "restored")]


def panels(data: PairData) -> list[str]:
    return ["One token at a time", "All tokens at once"]


def boxes(data: PairData) -> list[grid.Box]:
    rows = _shown_number(data)
    column = (grid.GRID_WIDTH - (COLUMNS - 1) * GAP) / COLUMNS
    widths = [round(span * column + (span - 1) * GAP) for span in (3, 2)]
    aspects = [width / (170 + 22 * rows) for width in widths]
    phone = [grid.PHONE_WIDTH / (150 + 20 * rows)] * 2
    return [grid.Box(*each) for each in zip(aspects, phone, widths, (3, 2), strict=True)]


def chart(data: PairData, panel: int = 0, **state: str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    if not panel:
        table = table.transform_calculate(
            value="datum[way]", size="datum['size_' + way]", told="datum['told_' + way]"
        )
    columns = len(WHOLE) if panel else len(data.changed)
    cells = Cells(_whole_axis() if panel else _token_axis(data), _rows(data), columns, HEADS)
    legend = signed_map.legend("share above 0", "share below 0")
    return theme.frame(
        layered(
            signed_map.ground(table, cells, [altair.Tooltip("told:N", title="title")]),
            signed_map.marks(table, cells, legend),
            signed_map.marked(table, cells, marking.HEAD),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {panels(data)[panel]}",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
        walk=["column", "row"],
    )


def _token_axis(data):
    texts = {token: _token_text(data, token) for token in data.changed}
    axis = altair.Axis(
        title="token (index from 0)",
        labelExpr=f"{json.dumps(texts)}[datum.value]",
        **WORDS_BELOW,
    )
    return altair.X("column:O", axis=axis)


def _token_text(data, token):
    """The token, or both where the prompts differ, and its index."""
    clean, corrupted = (one.tokens[token] for one in (data.clean, data.corrupted))
    text = _word(clean)
    text += "" if clean.id == corrupted.id else f" / {_word(corrupted)}"
    return f"{text}\u200e\u00a0\u00a0{token}"


def _word(token):
    return token.name.strip() or token.name


def _whole_axis():
    names = [name for name, _ in WHOLE.values()]
    axis = altair.Axis(
        title="what is put in at all tokens",
        labelExpr=f"{json.dumps(names)}[datum.value]",
        **WORDS_BELOW,
    )
    return altair.X("column:O", axis=axis)


def _rows(data):
    names = [head_label(*head) for head in shown_heads(data)]
    axis = altair.Axis(title="head", **WORDS_LEFT)
    return altair.Y("name:N", sort=names, axis=axis)


def shown_heads(data: PairData) -> list[tuple[int, int]]:
    """(layer, head) of those that restore most at all tokens, by size, the largest first."""
    values = np.abs(data.of_heads("restored"))
    order = np.argsort(-values, axis=None, kind="stable")[:HEADS]
    places = np.unravel_index(order, values.shape)
    return [(int(layer), int(head)) for layer, head in zip(*places, strict=True)]


def _shown_number(data):
    return min(HEADS, data.layers * data.heads)


def rows(data: PairData, panel: int = 0, **state: str) -> dict[str, Rows]:
    return {"rows": _of_all_tokens(data) if panel else _of_tokens(data)}


def _of_tokens(data):
    heads = shown_heads(data)
    values = {way: np.array([data.at_tokens(way)[head] for head in heads]) for way in WAYS}
    most = {way: float(np.abs(each).max()) or 1.0 for way, each in values.items()}
    errors = {way: data.errors_at_tokens(way) for way in WAYS}
    found = []
    for row, (layer, head) in enumerate(heads):
        for place, token in enumerate(data.changed):
            told = {"layer": layer, "head": head, "name": head_label(layer, head)}
            told |= {"row": row, "column": token}
            for way in WAYS:
                value = float(values[way][row, place])
                text = _word(data.clean.tokens[token])
                told |= {way: value, f"size_{way}": abs(value) / most[way]}
                error = _error(errors[way], layer, head, place)
                told |= {} if error is None else {f"{way}_error": error}
                told[f"told_{way}"] = (
                    f"{told['name']} at “{text}”: {spread(value, error)} of the difference "
                    f"{DONE[way]}"
                )
            found.append(told)
    return found


def _error(errors, *place):
    return None if errors is None else float(errors[place])


def _of_all_tokens(data):
    heads = shown_heads(data)
    values = np.array([[data.of_heads(what)[head] for what in WHOLE] for head in heads])
    errors = [data.errors_of_heads(what) for what in WHOLE]
    most = float(np.abs(values).max()) or 1.0
    found = []
    for row, (layer, head) in enumerate(heads):
        for column, (name, said) in enumerate(WHOLE.values()):
            value, error = float(values[row, column]), _error(errors[column], layer, head)
            found.append(
                {
                    "layer": layer,
                    "head": head,
                    "name": head_label(layer, head),
                    "row": row,
                    "column": column,
                    "put_in": name,
                    "value": value,
                    **({} if error is None else {"error": error}),
                    "size": abs(value) / most,
                    "told": f"{head_label(layer, head)}: {spread(value, error)} of the "
                    f"difference {said}",
                }
            )
    return found


def seen(data: PairData, **state: str) -> str:
    """Which head does most, and where: first what is largest, whatever its sign."""
    way = state["way"]
    values = data.at_tokens(way)
    said = {}
    for sign, does in ((1, "carries most"), (-1, "does most against it")):
        layer, head, place = np.unravel_index(int((sign * values).argmax()), values.shape)
        value = float(values[layer, head, place])
        if sign * value > 0:
            token = _word(data.clean.tokens[data.start + int(place)])
            said[abs(value)] = f"{head_label(layer, head)} {does}, {percent(value)}, at “{token}”."
    return (
        " ".join(said[size] for size in sorted(said, reverse=True)) or "No head carries anything."
    )


def alt(data: PairData, panel: int = 0, **state: str) -> str:
    heads = shown_heads(data)
    names = ", ".join(head_label(*head) for head in heads[:3])
    if not panel:
        what = f"{len(data.changed)} tokens"
        return f"Map of {len(heads)} heads, {names} on top, and {what}. {seen(data, **state)}"
    way = state["way"]
    shares = ", ".join(
        f"{head_label(*head)} {percent(float(data.of_heads(way)[head]))}" for head in heads[:3]
    )
    return f"Map of {len(heads)} heads, replaced at all tokens. Put {WAYS[way]}: {shares}."
