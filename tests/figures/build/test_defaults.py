"""What a figure's file may leave out, and what is said of mistakes in it."""

import numpy as np
import pytest

from report.datasets import store
from report.errors import ReportError
from report.figures.build import defaults
from report.figures.build.find import figure_named, figure_names
from report.figures.parts import choices
from tests.documents import blocks

(SHOWN,) = blocks("how-to/figures", "python")
"""The figure that the documentation shows."""
SMALL = '''"""Shows one number.

More about it.
"""

import altair


def chart(data, **state):
    return altair.Chart(altair.NamedData("rows")).mark_point().encode(x="value:Q")


def rows(data, **state):
    return [{"value": data.layers}]
'''


def own(folder, text, name="mine"):
    (folder / f"{name}.py").write_text(text)
    return figure_named(name, folder)


def test_a_docstring_a_chart_and_rows_are_enough(tmp_path, data):
    figure = own(tmp_path, SMALL)
    assert (figure.title(data), figure.caption(data)) == ("Mine", "Shows one number.")
    assert (figure.controls(data), figure.seen(data)) == ([], "")
    assert figure.alt(data) == "Mine: Shows one number."
    assert figure.rows(data) == {"rows": [{"value": data.layers}]}
    spec = figure.chart(data).to_dict()
    assert spec["usermeta"]["report"]["data"]["url"] == "rows/all.json"
    assert spec["usermeta"]["report"]["data"]["datasets"] == ["rows"]
    assert spec["config"]["mark"]["aria"] is False


def test_controls_say_where_rows_are_and_what_the_alt_text_adds(tmp_path, data):
    text = SMALL + (
        "\n\nfrom report.figures.parts import choices\n\n\ndef controls(data):\n"
        "    return [choices.layer_control(data), choices.head_control(data)]\n"
    )
    figure = own(tmp_path, text)
    report = figure.chart(data, layer=2).to_dict()["usermeta"]["report"]
    assert report["data"]["url"] == "rows/{layer}-{head}.json"
    assert "layer 2, head 0" in figure.alt(data, layer=2)
    assert len(defaults.states(figure.name, figure.controls(data))) == data.layers * data.heads
    with pytest.raises(ReportError, match="layer=9 is not allowed"):
        figure.chart(data, layer=9)


def test_too_many_states_are_refused():
    many = [choices.Control(name, name, 0, 99, 0) for name in "abc"]
    with pytest.raises(
        ReportError,
        match="figure 'mine': its controls have 1,000,000 states, and 4,096 are the most",
    ):
        defaults.states("mine", many)


def test_rows_are_published_as_plain_numbers_and_text(data):
    numbers = [
        {"value": np.float64(1 / 3), "token": np.int64(1), "yes": True},
        {"value": None, "token": 2, "name": "<b>"},
    ]
    rows = defaults._row(data, numbers[0]), defaults._row(data, numbers[1])
    assert rows[0] == {"value": 0.333333, "token": 1, "yes": 1, "token_text": data.tokens[1].label}
    assert rows[1]["value"] is None
    written = defaults.dataset({"rows": list(rows)})
    store.check(written, "here")
    columns = written["tables"]["rows"]["columns"]
    assert columns["value"]["values"] == [0.333333, None]
    assert columns["name"]["values"] == [None, "<b>"]
    assert "token_text" not in columns, "the page's script adds it"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("data.length", "data.lenght", r"line 24: AttributeError: .*has no attribute 'lenght'"),
        ("def rows(data", "def row(data", r"this one has no function `rows`"),
        ("import numpy as np", "import numpi as np", r"line 4: .*No module named 'numpi'"),
        ("def title(data):", "def title(data)", r"line 9: is not Python"),
        ('"""How far', 'SHOWS = """How far', r"no docstring that says what it shows"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path, data, old, new, said):
    with pytest.raises(ReportError, match=rf"looking_back\.py.*{said}"):
        own(tmp_path, SHOWN.replace(old, new, 1), "looking_back").rows(data)


def test_names_are_unique_and_can_be_guessed(tmp_path):
    own(tmp_path, SMALL)
    assert "mine" in figure_names(tmp_path)
    assert "mine" not in figure_names()
    with pytest.raises(ReportError, match="unknown figure 'mien'; did you mean 'mine'"):
        figure_named("mien", tmp_path)


def test_a_figure_of_ones_own_comes_before_one_that_ships(tmp_path, data):
    figure = own(tmp_path, SMALL, "attention_map")
    assert (figure.name, figure.shows) == ("attention_map", "Shows one number.")
    assert figure.rows(data) == {"rows": [{"value": data.layers}]}
    assert figure_names(tmp_path) == figure_names()
    assert figure_named("attention_map").rows is not figure.rows
    (tmp_path / "attention_map.py").unlink()
    assert figure_named("attention_map", tmp_path) is figure_named("attention_map")


A_VALUE = SMALL.replace(
    "import altair\n", "import altair\n\nfrom report.figures import Figure\n"
) + ("\n\nfigure = Figure(shows=__doc__, chart=chart, rows=rows, columns=2, aspect=2.0)\n")


def test_a_file_may_give_its_figure_as_a_value(tmp_path, data):
    functions = own(tmp_path, SMALL, "one")
    value = own(tmp_path, A_VALUE, "two")
    assert (functions.name, value.name) == ("one", "two")
    assert value.rows(data) == functions.rows(data)
    assert value.chart(data).to_dict()["usermeta"]["report"]["figure"] == "two"
    assert (value.aspect, value.phone_aspect, value.columns(data)) == (2.0, 2.0, 2)
    assert (functions.aspect, functions.phone_aspect, functions.columns(data)) == (1.6, 1.05, 1)


def test_a_value_too_must_say_what_it_shows(tmp_path):
    with pytest.raises(ReportError, match=r"mine\.py.*no docstring that says what it shows"):
        own(tmp_path, A_VALUE.replace("shows=__doc__", 'shows=" "'))


def test_a_mistake_in_a_value_is_told_with_file_and_line(tmp_path, data):
    broken = A_VALUE.replace("data.layers", "data.layerz")
    with pytest.raises(ReportError, match=r"mine\.py, line \d+: AttributeError"):
        own(tmp_path, broken).rows(data)
    with pytest.raises(ReportError, match=r"mine\.py, line \d+: TypeError: .*'row'"):
        own(tmp_path, A_VALUE.replace("rows=rows", "row=rows"), "other_mine")


def test_what_cannot_be_drawn_says_why_by_its_name(tmp_path, data):
    text = SMALL + '\n\ndef left_out(data):\n    return "It is too small."\n'
    figure = own(tmp_path, text)
    for call in (figure.chart, figure.rows):
        with pytest.raises(ReportError, match=r"^mine cannot be drawn: It is too small\.$"):
            call(data)
