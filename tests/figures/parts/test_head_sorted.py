import itertools
import re
from types import SimpleNamespace

import altair
import pytest

from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.parts import marking, rank_lines, theme

attending_to_itself = figure_named("attending_to_itself")
MEASURES = {
    "itself": attending_to_itself,
    "first_token": figure_named("attending_to_first_token"),
    "concentration": figure_named("attention_concentration"),
}
LETTER = 6.5
"""Pixels that a letter of a name takes."""

every_measure = pytest.mark.parametrize(("measure", "figure"), MEASURES.items())


@every_measure
@pytest.mark.parametrize("source", ["passage", "corpus"])
def test_lines_never_cross(data, measure, figure, source):
    rows = [row for row in figure.rows(data)["heads"] if row["source"] == source]
    for layer in range(data.layers):
        here = sorted((r for r in rows if r["layer"] == layer), key=lambda r: r[f"rank_{measure}"])
        assert [row[f"rank_{measure}"] for row in here] == list(range(data.heads))
        assert all(low[measure] <= high[measure] for low, high in itertools.pairwise(here))


@every_measure
def test_every_point_names_a_head_of_its_own(data, measure, figure):
    rows = figure.rows(data)["heads"]
    heads = {(row["source"], row["layer"], row["head"]) for row in rows}
    assert len(heads) == len(rows) == 2 * data.layers * data.heads


@every_measure
def test_lines_join_ranks_and_not_heads(data, measure, figure):
    lines, _, points, *_ = figure.chart(data).to_dict()["layer"]
    assert lines["encoding"]["detail"]["field"] == f"rank_{measure}"
    said = next(each["calculate"] for each in points["transform"] if each.get("as") == "told")
    assert {f"datum.{measure}", f"datum.rank_{measure}"} <= set(re.findall(r"datum\.\w+", said))


@every_measure
def test_the_map_has_a_cell_a_head_on_the_scale_of_the_lines(data, measure, figure):
    svg = still.svg(figure, data, source="passage", panel=1)
    assert svg.count('aria-roledescription="rect mark"') == 0  # it is told as a whole
    top = max(row[measure] for row in figure.rows(data)["heads"])
    lines, cells = (figure.chart(data, panel=panel).to_dict()["layer"][0] for panel in (0, 1))
    colours = cells["encoding"]["color"]["scale"]["domain"]
    assert colours == [0, pytest.approx(max(top, 0.05))]
    lines = lines["encoding"]["y"]["scale"]["domain"]
    assert lines == [0, pytest.approx(1.1 * colours[1])]
    assert len(re.findall(r'fill="#[0-9a-f]{6}"|fill="rgb\(', svg)) >= data.layers * data.heads
    assert names_in(svg) == []


@every_measure
def test_the_map_writes_the_highest_and_the_lowest_value(data, measure, figure):
    values = [r[measure] for r in figure.rows(data)["heads"] if r["source"] == "passage"]
    svg = still.svg(figure, data, source="passage", panel=1)
    number = "{:.0%}" if "%" in figure.alt(data) else "{:.2f}"
    written = set(re.findall(r'stroke-width="4"[^>]*>([\d.]+%?)</text>', svg))
    assert written == {number.format(end) for end in (min(values), max(values))}


def test_many_layers_have_their_highest_peaks_named_alone(data):
    """On a made table, since no hand-made study is so deep."""
    deep = SimpleNamespace(layers=30, heads=2)
    table = altair.Chart(altair.NamedData("heads"))
    x, y = rank_lines.layer_axis(deep), altair.Y("value:Q")
    chart = altair.layer(*rank_lines.sorted_lines(deep, table, x, y, "rank", []))
    values = [0.1 + 0.8 * (layer % 4 == 0) * (layer + 1) / 30 for layer in range(30)]
    rows = [
        {"layer": layer, "head": head, "rank": head, "value": value * (0.5 + head / 2)}
        for layer, value in enumerate(values)
        for head in (0, 1)
    ]
    framed = theme.frame(
        chart,
        theme.Source("", "tables", ["heads"]),
        description="",
        params=[marking.found()],
    )
    spec = framed.to_dict()
    spec["datasets"] = {"heads": rows}
    spec |= {"width": 700, "height": 400}
    names = names_in(still.drawn(spec))
    assert sorted(said for *_, said in names) == sorted(f"L{n}H1" for n in range(12, 29, 4))
    highest = max(baseline for _, baseline, _ in names)
    assert highest < 400


def test_alt_text_names_the_largest_head(data):
    table = data.head_statistics
    best = max(
        (row for row in attending_to_itself.rows(data)["heads"] if row["source"] == "corpus"),
        key=lambda row: row["itself"],
    )
    assert len(table["head"]) == 2 * data.layers * data.heads
    text = attending_to_itself.alt(data, source="corpus")
    assert f"{best['itself']:.1%}, head {best['head']} of layer {best['layer']}" in text


def names_in(svg):
    """Names of heads that can be seen in a picture: sorted list of (left, baseline, text)."""
    found = re.findall(
        r'<text text-anchor="(middle|start|end)" transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*'
        r'stroke-width="4"[^>]*opacity="1">((?:L\d+H)?\d+)</text>',
        svg,
    )
    return sorted(
        (
            float(x) - LETTER * len(said) * {"start": 0, "middle": 0.5, "end": 1}[anchor],
            float(y),
            said,
        )
        for anchor, x, y, said in found
    )


@every_measure
@pytest.mark.parametrize("source", ["passage", "corpus"])
@pytest.mark.parametrize("phone", [False, True], ids=["wide", "phone"])
def test_names_of_heads_keep_apart(data, measure, figure, source, phone):
    names = names_in(still.svg(figure, data, source=source, phone=phone))
    assert len(names) == data.layers
    for one, other in itertools.combinations(names, 2):
        apart = other[0] - one[0] - LETTER * len(one[2])
        assert apart >= 0 or abs(other[1] - one[1]) >= theme.TICK, (one, other)


def test_a_name_stands_aside_from_a_steep_line(data):
    """Three layers in a row, each lower than the last: the second has its name to the right."""
    spec = still.specification(attending_to_itself, data)
    shares = [0.9, 0.5, 0.1]
    spec["datasets"]["heads"] = [
        {"source": "passage", "layer": layer, "head": 0, "itself": share, "rank_itself": rank}
        for layer, share in enumerate(shares)
        for rank in range(data.heads)
    ]
    lefts = [left for left, *_ in names_in(still.drawn(spec))]
    assert len(lefts) == 3
    assert lefts[1] - lefts[0] > lefts[2] - lefts[1] + 10
