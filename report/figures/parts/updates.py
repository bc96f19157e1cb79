"""What figures 7 to 10 share: the tables of one layer, what each head adds, token by token."""

import altair

from report.figures.parts import choices, theme

MAGNITUDE = "update magnitude |u| / |x|"
ALIGNMENT = "update orientation cos(u, x)"
AFTER_FIRST = "datum.token > 0"
"""Of token 0 the first token is the token itself: its kind says nothing."""
DRAWN = [["token", ">", 0]]
"""The same for the script, see `_theme.frame`."""
MARKED = "datum.token === marked_token"
MARKED_HEAD = "layer === marked_layer && datum.head === marked_head"
"""Whether a row is of the token, or of the head, that is marked."""


def left_out(data):
    """Why no figure of updates can be drawn of a model, in one sentence; "" if they can."""
    if data.capabilities["updates"] is not None:
        return ""
    return "What each head of this model adds to the hidden state could not be told apart."


def explained(data):
    """What u and x are."""
    norm = ""
    if data.capabilities["updates"] == "effective":
        norm = ", after the norm through which this model sends what its attention writes"
    return (
        f"u is what one head adds to the hidden state of a token{norm}; x is the hidden state that "
        "enters the layer."
    )


def without_first(data):
    """Why token 0 is not counted."""
    if data.causal:
        return "Token 0 is left out: it can only attend to itself, which is the first token."
    return "Token 0 is left out: the first token and the token itself are the same for it."


def controls(data):
    return [choices.layer_control(data)]


def points(data, state):
    """Columns of the table "points" at the layer of `state`: dict of name to array."""
    return data.updates(choices.values(controls(data), state)["layer"])["points"]


def rows(data, **state):
    """The table "points" as a list of dicts, with the texts of the tokens."""
    return {"points": records(data, "points", state)}


def records(data, table, state):
    """A table of the layer of `state` as a list of dicts, with the texts of the tokens."""
    tables = data.updates(choices.values(controls(data), state)["layer"])
    columns = dict(tables[table])
    for name in ("token", "largest_target"):
        if name in columns:
            columns[f"{name}_text"] = [data.tokens[index].label for index in columns[name]]
    return theme.records(columns)


def params(controls):
    """The params of a figure of one layer; controls: at the state shown."""
    (layer,) = controls
    return [
        altair.param(name="layer", value=layer.value),
        *theme.marked("token", "layer", "head"),
    ]


def marked(points, size):
    """Rings around the points of the marked token, small ones around those of the marked head."""
    return [
        # a head has a point a token: heavy rings would run together
        theme.ring(points, MARKED_HEAD, size / 3, 0.5, 0.4),
        theme.ring(points, MARKED, size),
    ]


def zero_line():
    """A dashed vertical line where the horizontal axis is 0."""
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeDash=[4, 3], strokeWidth=1.2, opacity=0.7, aria=False
    ).encode(x=theme.at(0))  # fmt: skip


def legend():
    """The legend of kinds of targets, in two columns where a phone has no room for three."""
    return altair.Legend(
        title="largest target",
        orient="top",
        columns=altair.ExprRef("width > 400 ? 3 : 2"),
        symbolOpacity=1,
        offset=theme.ABOVE,
    )


def point_size(data):
    """Area in pixels of a point: smaller where there are more of them."""
    return round(min(40, max(8, 60_000 / (data.heads * data.length))))
