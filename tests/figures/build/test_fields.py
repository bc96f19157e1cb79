"""A chart that reads what its rows do not have is told before it is published, drawn empty."""

import altair
import pytest

from report.errors import ReportError
from report.figures.build import defaults, fields, still, vega
from report.figures.build.find import figure_named
from report.pages.placed import PlacedFigure, drawn
from tests.documents import blocks

(SHOWN,) = blocks("how-to/figures", "python")
"""The figure that the documentation shows."""
ROWS = [{"layer": 0, "head": 1, "value": 0.5, "kind": "a"}, {"layer": 1, "head": 0, "value": 0.1}]


def missing(chart, **tables):
    """What a chart reads and the rows lack, as a set of names."""
    return {name for _, name, _ in fields.missing(chart.to_dict(), {"rows": ROWS} | tables)}


def table():
    return altair.Chart(altair.NamedData("rows")).mark_point()


CHANNELS = {
    "a position": table().encode(x="valeu:Q"),
    "a colour": table().encode(color=altair.Color("valeu:Q")),
    "a tooltip": table().encode(tooltip=["layer:O", altair.Tooltip("valeu:Q", format=".1f")]),
    "a detail": table().encode(detail=["kind:N", "valeu:N"]),
    "a mean": table().encode(y="mean(valeu):Q"),
    "an order": table().encode(x=altair.X("head:O", sort=altair.EncodingSortField("valeu"))),
    "a condition": table().encode(
        color=altair.condition("datum.valeu > 1", altair.value("red"), altair.value("blue"))
    ),
    "a facet": table().encode(x="value:Q").facet("valeu:N"),
    "a filter": table().transform_filter("datum.valeu > 1").encode(x="value:Q"),
    "a filter by field": table().transform_filter(
        altair.FieldOneOfPredicate(field="valeu", oneOf=[1])
    ),
    "a calculation": table().transform_calculate(twice="2 * datum['valeu']").encode(x="twice:Q"),
    "a group": table().transform_aggregate(top="max(value)", groupby=["valeu"]).encode(x="top:Q"),
    "a text of a mark": altair.Chart(altair.NamedData("rows"))
    .mark_text(text=altair.ExprRef("datum.valeu"))
    .encode(x="value:Q"),
    "a layer": table().encode(x="value:Q") + table().encode(y="valeu:Q"),
    "all layers": altair.layer(table(), table()).encode(x="valeu:Q"),
    "charts side by side": table().encode(x="value:Q") | table().encode(y="valeu:Q"),
}


@pytest.mark.parametrize("chart", CHANNELS.values(), ids=CHANNELS)
def test_a_field_that_no_row_has(chart):
    assert missing(chart) == {"valeu"}
    assert missing(chart, rows=[row | {"valeu": 1.0} for row in ROWS]) == set()


MADE = {
    "calculate": table().transform_calculate(twice="2 * datum.value").encode(x="twice:Q"),
    "window": table().transform_window(twice="sum(value)").encode(x="twice:Q"),
    "joinaggregate": table()
    .transform_joinaggregate(twice="sum(value)", groupby=["layer"])
    .encode(x="twice:Q", y="value:Q"),
    "aggregate": table()
    .transform_aggregate(twice="max(value)", groupby=["layer"])
    .encode(x="twice:Q", y="layer:O"),
    "bin": table().transform_bin(["twice", "end"], field="value").encode(x="twice:Q", x2="end"),
    "fold": table().transform_fold(["layer", "head"]).encode(x="key:N", y="value:Q"),
    "stack": table()
    .transform_stack(stack="value", as_=["twice", "end"], groupby=["layer"])
    .encode(y="twice:Q", y2="end"),
    "density": table().transform_density("value").encode(x="value:Q", y="density:Q"),
    "flatten": table().transform_flatten(["kind"], as_=["twice"]).encode(x="twice:N"),
    "lookup": table()
    .transform_lookup("kind", altair.LookupData(altair.NamedData("more"), "kind", ["twice"]))
    .encode(x="twice:Q"),
    "inherited": altair.layer(
        altair.Chart().mark_point().encode(x="twice:Q"), data=altair.NamedData("rows")
    ).transform_calculate(twice="2 * datum.value"),
    "of its own data": table().encode(x="value:Q")
    + altair.Chart(altair.InlineData([{"twice": 1}])).mark_rule().encode(x="twice:Q"),
}


@pytest.mark.parametrize("chart", MADE.values(), ids=MADE)
def test_fields_that_a_transform_makes_count(chart):
    assert missing(chart, more=[{"kind": "a", "twice": 1}]) == set()


def test_a_field_is_made_before_it_is_read():
    chart = table().encode(x="twice:Q")
    later = chart.transform_filter("datum.twice > 1").transform_calculate(twice="datum.value")
    assert missing(chart) == missing(later) == {"twice"}
    gone = table().transform_aggregate(top="max(value)", groupby=["layer"]).encode(x="head:O")
    assert missing(gone) == {"head"}


def test_values_of_axes_and_empty_tables_are_no_fields():
    axis = altair.Axis(labelExpr="datum.label + datum.index")
    assert missing(table().encode(x=altair.X("value:Q", axis=axis))) == set()
    assert missing(table().encode(x="any:Q"), rows=[]) == set()
    assert missing(altair.Chart(altair.NamedData("row")).mark_point().encode(x="a:Q")) == {"row"}


def own(folder, text):
    (folder / "looking_back.py").write_text(text)
    return figure_named("looking_back", folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"distance:Q", title',
            '"distanse:Q", title',
            r"reads the field 'distanse'.* mean 'distance'\? There are: distance, head, layer\.$",
        ),
        ('NamedData("rows")', 'NamedData("row")', r"reads the table 'row'.*mean 'rows'\?"),
        (
            ".mean()}",
            ".mean() * np.nan}",
            r"'distance' of row 0 \(layer 0, head 0\) is nan; give None",
        ),
        ('"head": head', '"head": [head]', r"'head' of row 0 is of type list; give a number"),
        ('"distance:Q", title', '"distance:Z", title', r"its chart is not valid: "),
        ("    return heads.encode(", "    heads.encode(", r"`chart` gives NoneType; it must give"),
        ("    return [\n", "    [\n", r"`rows` gives NoneType; it must give a list of dicts"),
        ("far['distance']:.1f", "0 * float('inf'):.1f", r"`seen` says 'nan', which is no number"),
        ("    far = max", "    return None\n    far = max", r"`seen` gives NoneType; .* a text"),
        ("def title(", "def titel(", r"`titel` is no part of a figure; did you mean `title`\?"),
        ("def title(data):", "TITLE = 1\n\n\ndef _t(data):", r"`TITLE` is no .* mean `title`\?"),
        ("def title(data):", "title = 1\n\n\ndef _t(data):", r"`title` must be a function"),
        ("def title(", "aspect = 2\n\n\ndef title(", r"`aspect` is no part .* mean `ASPECT`\?"),
        (
            "data.length",
            "data.lenght",
            r"has no attribute 'lenght'.*mean 'length'\? There are: .*attention, .*tokens",
        ),
    ],
)
def test_nothing_broken_is_drawn(tmp_path, data, old, new, said):
    assert SHOWN.count(old) >= 1
    with pytest.raises(ReportError, match=rf"looking_back.*{said}"):
        everything_of(own(tmp_path, SHOWN.replace(old, new)), data)


TABLES = '''"""How far."""
import altair

def chart(data):
    return altair.Chart(altair.NamedData("far")).mark_point().encode(x="value:Q")

def rows(data):
    near = [{"value": 1.5}, {"value": None}, {"value": "a"}]
    return {"near": near, "far": [{"value": 1, "layer": 2}, {"value": VALUE, "layer": 3}]}
'''


@pytest.mark.parametrize("value", ["float('nan')", "-float('inf')", "__import__('numpy').inf"])
def test_values_of_a_table_are_told_with_field_row_and_table(tmp_path, data, value):
    said = r"'value' of row 1 of table 'far' \(layer 3\) is (nan|-?inf); give None"
    with pytest.raises(ReportError, match=rf"'looking_back': {said}"):
        written(own(tmp_path, TABLES.replace("VALUE", value)), data)


def test_tables_of_finite_values_are_written(tmp_path, data):
    (name, table), *_ = written(own(tmp_path, TABLES.replace("VALUE", "2.5")), data)
    assert name == "all.json"
    assert table["tables"]["far"]["columns"]["value"]["values"] == [1, 2.5]


def written(figure, data):
    """The files of rows of a figure, as an article has them written."""
    (panel,), _ = drawn(figure.name, figure, data, [])
    told = panel.spec["usermeta"]["report"]["data"]
    told["url"] = f"../rows/{panel.name}/{defaults.place_of_rows(panel.spec)}"
    return list(PlacedFigure(figure.name, 1, figure, {}, data, [panel]).written_rows(panel))


def everything_of(figure, data):
    """What a build asks a figure for."""
    spec = still.specification(figure, data)
    words = figure.title(data), figure.caption(data), figure.seen(data), figure.alt(data)
    return words, spec, vega.vega(spec), still.drawn(spec)


def test_an_unknown_param_is_told_with_the_figures_name(tmp_path, data):
    wrong = SHOWN.replace("mark_rect(stroke=None)", 'mark_rect(opacity=altair.ExprRef("dim"))')
    with pytest.raises(ReportError, match=r"'looking_back': its chart cannot be drawn: .*dim"):
        everything_of(own(tmp_path, wrong), data)


def test_the_shown_figure_and_helpers_of_any_name_are_fine(tmp_path, data):
    more = "\n\ndef row(data):\n    return data\n\n\nFAR = 3\n"
    words, *_ = everything_of(own(tmp_path, SHOWN + more), data)
    assert words[2].endswith("tokens on average.")


def test_words_in_quotation_marks_are_no_numbers(tmp_path, data):
    said = own(tmp_path, SHOWN.replace("looks farthest", "looks at “nan” and banana-inf"))
    assert "“nan”" in said.seen(data)
