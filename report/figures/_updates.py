"""What figures 7 to 10 share: the tables of one layer, what each head adds, token by token."""

import altair

from report.figures import _controls, _theme

MAGNITUDE = "update magnitude |u| / |x|"
ALIGNMENT = "update orientation cos(u, x)"
EXPLAINED = (
    "u is what one head adds to the hidden state of a token, x the hidden state that enters the "
    "layer."
)

AFTER_FIRST = "datum.token > 0"
"""Token 0 can only attend to itself, which is also the first token: its kind says nothing."""


def controls(data):
    return [_controls.layer_control(data)]


def points(data, state):
    """Columns of the table "points" at the layer of `state`: dict of name to array."""
    return data.updates(_controls.values(controls(data), state)["layer"])["points"]


def rows(data, **state):
    """The table "points" as a list of dicts, with the texts of the tokens."""
    return {"points": records(data, "points", state)}


def records(data, table, state):
    """A table of the layer of `state` as a list of dicts, with the texts of the tokens."""
    tables = data.updates(_controls.values(controls(data), state)["layer"])
    columns = dict(tables[table])
    for name in ("token", "largest_target"):
        if name in columns:
            columns[f"{name}_text"] = [data.tokens[index].label for index in columns[name]]
    return _theme.records(columns)


def zero_line():
    """A dashed vertical line where the horizontal axis is 0."""
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeDash=[4, 3], strokeWidth=1.2, aria=False
    ).encode(x=_theme.at(0))  # fmt: skip


def point_size(data):
    """Area in pixels of a point: smaller where there are more of them."""
    return round(min(40, max(8, 60_000 / (data.heads * data.length))))
