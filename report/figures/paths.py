"""Which head reads which: what an earlier part wrote, as heads read it by their queries, keys or
values."""

from collections.abc import Sequence

import altair
import numpy as np

from report.figures.parts import choices, marking, over_models, signed_map, theme
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.figures.parts.over_pairs import means, spread
from report.kinds.pair.data import Edge, PairData
from report.text import percent

ASPECT, PHONE_ASPECT = 1.25, 0.72

MOST = 24
"""Edges that are drawn, the largest."""

FROM = {"heads": "heads", "all": "all parts"}
"""Values of the switch -> what edges come from."""

READS = {"Q": "by its queries", "K": "by its keys", "V": "by its values"}

APART = {"Q": -0.032, "K": 0.0, "V": 0.032}
"""By which a head reads -> how far from its middle its lines end, of the whole width."""

ABOVE, BELOW = 0.022, 0.052
"""How far from the middle of a node lines begin and end, of the whole height."""

SINGLE = (0.5, 0.16, 0.84, 0.33, 0.67)
"""Places of nodes that are alone in their row, row by row, so that no edge runs through them."""

NAMES = ("nodes", "edges", "ports", "rows")
"""Datasets of the chart; a port is where lines end that are read by the same."""

WIDEST = 9
"""Pixels of the largest edge."""


def title(data: PairData) -> str:
    return "Which head reads which"


def caption(data: PairData) -> str:
    floor = percent(_floor(data), 1)
    return (
        "A line leads from a part up to a head that reads it; wide ones carry much.\nThe "
        "width is a share of the difference between the prompts. The letter at the upper end says "
        "by what the upper head reads: Q, its queries, K, its keys, V, its values. In the "
        "corrupted prompt, that head is given what the lower part writes in the clean one, and all "
        "other parts stay as they are. A dashed line is a share below 0: the path moves the answer "
        f"further away. Drawn are at most {MOST} paths into {_number(data)} heads, "
        f"those that restore most, of more than {floor}: no path into as many random "
        "heads of the same layers has more. The grey bar below is that wide. Heads "
        "stand in the order of their layers. Paths by way of other heads or "
        "feed-forward layers are not in a line, but in the lines on the way." + means(data)
    )


def use(data: PairData) -> str:
    return "Point at a line, or use the arrow keys, to read its share. Choose what lines come from."


def controls(data: PairData) -> list[Switch]:
    return [Switch("sent", "From", FROM, "heads")]


def left_out(data: PairData) -> str:
    if not data.receivers:
        return f"Paths were not measured: {data.about['reason']}."
    return "" if any(_drawn(data, sent) for sent in FROM) else "No path exceeds random ones."


def chart(data: PairData, **state: str) -> altair.LayerChart:
    nodes, edges, ports, rows = (
        altair.Chart(altair.NamedData(name)).transform_filter("datum.sent === sent")
        for name in NAMES
    )
    letters = [
        mark.encode(x=_x("x"), y=_y("y"), text=altair.Text("by:N"))
        for mark in theme.halo(ports.mark_text, fontSize=theme.TICK, baseline="middle")
    ]
    return theme.frame(
        layered(*_layers(rows), *_lines(edges), *letters, *_nodes(nodes), *_bar(data)),
        theme.Source(over_models.ROWS, "tables", [*NAMES], tokens=None),
        description=f"{title(data)}: a graph",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
        walk=["number"],
        shows={"edges": [["sent", "=", "{sent}"]]},
    )


def _x(field):
    return altair.X(f"{field}:Q", axis=None, scale=altair.Scale(domain=[-0.08, 1], nice=False))


def _y(field):
    return altair.Y(f"{field}:Q", axis=None, scale=altair.Scale(domain=[-0.16, 1.04], nice=False))


def _lines(edges):
    """Lines of their width, and wide ones that are not seen, to point at."""
    ends = {"x": _x("x"), "y": _y("y"), "x2": altair.X2("x2"), "y2": altair.Y2("y2")}
    kinds = {"share above 0": signed_map.FOR, "share below 0": signed_map.AGAINST}
    colours = [theme.themed(*signed_map.SIGNS[sign][1:]) for sign in kinds.values()]
    legend = altair.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        symbolType="stroke",
        symbolSize=220,
        symbolStrokeWidth=2.5,
        symbolOpacity=1,
        offset=6,
    )
    drawn = edges.transform_calculate(
        kind=" : ".join(["datum.value < 0 ? 'share below 0'", "'share above 0'"])
    ).mark_rule(
        strokeWidth=altair.ExprRef(f"max(1.2, {WIDEST} * datum.size)"), opacity=0.75, aria=False
    )
    drawn = drawn.encode(
        **ends,
        color=altair.Color("kind:N", legend=legend).scale(domain=list(kinds), range=colours),
        strokeDash=altair.StrokeDash("kind:N", legend=legend).scale(
            domain=list(kinds), range=[[1, 0], [6, 3]]
        ),
    )
    wide = edges.mark_rule(strokeWidth=14, opacity=0, aria=False)
    return [drawn, wide.encode(**ends, tooltip=[altair.Tooltip("told:N", title="title")])]


def _nodes(nodes):
    place = {"x": _x("x"), "y": _y("y")}
    back = nodes.mark_point(
        shape="square",
        size=altair.ExprRef("datum.kind === 'head' ? 1500 : 900"),
        filled=True,
        opacity=0,
        aria=False,
    )
    texts = theme.halo(nodes.mark_text, fontSize=theme.LABEL, fontWeight=600, baseline="middle")
    return [
        back.encode(**place, tooltip=[altair.Tooltip("told:N", title="title")]),
        *(text.encode(**place, text=altair.Text("name:N")) for text in texts),
        marking.ring(nodes, marking.HEAD, 1300).encode(**place),
    ]


def _layers(rows):
    """The names of the rows, on the left."""
    soft = theme.themed(*theme.SOFT.values())
    text = rows.mark_text(align="left", fontSize=theme.TICK, color=soft, aria=False)
    line = rows.mark_rule(strokeWidth=0.7, color=theme.themed(*theme.FAINT.values()), aria=False)
    return [
        line.encode(y=_y("y")),
        text.encode(x=altair.value(0), y=_y("y"), text=altair.Text("name:N")),
    ]


def _bar(data):
    """What letters stand for, and the largest path into a random head, as wide as it would be."""
    width = max(1.2, WIDEST * _floor(data) / _largest(data))
    grey = theme.themed(*theme.MASS.values())
    rule = altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=width, color=grey, aria=False
    )
    drawn = {edge.by for sent in FROM for edge in _drawn(data, sent)}
    letters = [by for by in READS if by in drawn]
    ways = ", ".join(READS[by].removeprefix("by its ") for by in letters)
    look = {"align": "left", "baseline": "middle", "aria": False}
    words = f"'largest path into a random head: {percent(_floor(data), 1)}'"
    return [
        rule.encode(**theme.place(x="0", x2="40", y="height - 8", y2="height - 8")),
        theme.written(words, "48", "height - 8", **look),
        theme.written(f"'{', '.join(letters)}: read by its {ways}'", "0", "height - 26", **look),
    ]


def _number(data):
    return sum(not one.matched for one in data.receivers)


def _floor(data):
    return max((abs(edge.value) for edge in data.matched_edges), default=0.0)


def _largest(data):
    return max(abs(edge.value) for edge in data.edges)


def _drawn(data: PairData, sent: str) -> list[Edge]:
    """The edges that are drawn, the largest first."""
    floor = _floor(data)
    found = [
        edge
        for edge in data.edges
        if abs(edge.value) > floor and (sent == "all" or edge.sender.kind == "head")
    ]
    return sorted(found, key=lambda edge: -abs(edge.value))[:MOST]


def rows(data: PairData, **state: str) -> dict[str, Rows]:
    found = {name: [] for name in NAMES}
    for sent in FROM:
        edges = _drawn(data, sent)
        at = _places(edges)
        found["nodes"] += _nodes_of(data, at, sent)
        found["edges"] += _edges_of(data, edges, at, sent)
        ports = sorted({(_key_of(edge), edge.by) for edge in edges})
        found["ports"] += [
            {"sent": sent, "by": by, "x": at[key][0] + APART[by], "y": at[key][1] - BELOW + 0.018}
            for key, by in ports
        ]
        levels = {y: layer for (_, layer, _), (_, y) in at.items()}
        found["rows"] += [
            {"sent": sent, "y": y, "name": "embedding" if layer < 0 else f"layer {layer}"}
            for y, layer in sorted(levels.items())
        ]
    return found


def _edges_of(data, edges, at, sent):
    """Rows of lines, in a square from 0 to 1."""
    largest = _largest(data)
    found = []
    for number, edge in enumerate(edges):
        (x, y), (x2, y2) = at[_key(edge.sender)], at[_key_of(edge)]
        into = head_label(*edge.receiver)
        found.append(
            {
                "sent": sent,
                "number": number,
                "from": edge.sender.label,
                "into": into,
                "by": edge.by,
                "value": edge.value,
                "size": abs(edge.value) / largest,
                "x": x,
                "y": y + ABOVE,
                "x2": x2 + APART[edge.by],
                "y2": y2 - BELOW,
                "told": f"{into} reads {edge.sender.label} {READS[edge.by]}: "
                f"{spread(edge.value, edge.error, 1)} of the difference comes back",
            }
        )
    return found


def _nodes_of(data, at, sent):
    restored, errors = data.of_heads("restored"), data.errors_of_heads("restored")
    found = []
    for (kind, layer, head), (x, y) in at.items():
        name = told = _name((kind, layer, head))
        if kind == "head":
            error = None if errors is None else float(errors[layer, head])
            share = spread(float(restored[layer, head]), error, 1)
            told = f"{name}: {share} of the difference comes back with it"
        place = {"sent": sent, "kind": kind, "layer": layer, "head": head, "x": x, "y": y}
        found.append(place | {"name": name, "told": told})
    return found


def _key(part):
    none = [-1 if place is None else place for place in (part.layer, part.head)]
    return part.kind, *none


def _key_of(edge):
    return "head", edge.layer, edge.head


def _name(key):
    kind, layer, head = key
    if kind == "head":
        return head_label(layer, head)
    return {"feed-forward": "FF", "attention biases": "biases"}.get(kind, kind)


def _places(edges: Sequence[Edge]) -> dict:
    """(kind, layer, head) -> x and y from 0 to 1: a row a layer, the first at the bottom."""
    keys = sorted({key for edge in edges for key in (_key(edge.sender), _key_of(edge))}, key=_order)
    levels = sorted({layer for _, layer, _ in keys})
    step = 1 / max(1, len(levels) - 1)
    found, alone = {}, 0
    for level, layer in enumerate(levels):
        here = [key for key in keys if key[1] == layer]
        here.sort(key=lambda key: (_centre(key, edges, found), _order(key)))
        for place, key in enumerate(here):
            x = 0.12 + 0.86 * (place + 0.5) / len(here)
            if len(here) == 1:
                x, alone = 0.12 + 0.86 * SINGLE[alone % len(SINGLE)], alone + 1
            found[key] = x, level * step
    return found


def _order(key):
    return key[1], key[0], key[2]


def _centre(key, edges, found):
    """Where the parts are, on the mean, that a head reads."""
    places = [
        found[_key(edge.sender)][0]
        for edge in edges
        if _key_of(edge) == key and _key(edge.sender) in found
    ]
    return float(np.mean(places)) if places else 0.5


def seen(data: PairData, **state: str) -> str:
    """The largest path, and the longest chain of them."""
    edges = _drawn(data, state["sent"])
    if not edges:
        return "No path from a head exceeds random ones."
    first = edges[0]
    said = (
        f"The largest, {percent(first.value)}, leads from {first.sender.label} to "
        f"{head_label(*first.receiver)}."
    )
    chain = _chain(edges)
    labels = {_key(edge.sender): edge.sender.label for edge in edges}
    steps = " to ".join(labels.get(key) or _name(key) for key in chain)
    return f"{said} A chain leads from {steps}." if len(chain) > 2 else said


def _chain(edges):
    """The longest chain of paths, of those the one with the largest paths first."""
    best = {}
    for edge in sorted(edges, key=lambda each: each.layer):
        before = best.get(_key(edge.sender), [_key(edge.sender)])
        if len(before) + 1 > len(best.get(_key_of(edge), [])):
            best[_key_of(edge)] = [*before, _key_of(edge)]
    return max(best.values(), key=len, default=[])


def alt(data: PairData, **state: str) -> str:
    edges = _drawn(data, state["sent"])
    told = "; ".join(
        f"{edge.sender.label} to {head_label(*edge.receiver)}, {edge.by}, {percent(edge.value, 1)}"
        for edge in edges[:6]
    )
    more = " and smaller ones" if len(edges) > 6 else ""
    return f"A graph of {len(edges)} paths, layers upwards. {told}{more}."
