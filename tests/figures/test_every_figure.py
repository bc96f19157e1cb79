"""What holds for every figure, found by its file: a new one is tested the moment it exists."""

import json
from types import SimpleNamespace

import altair
import numpy as np
import pytest

from report.article import figure_module, figure_names
from report.errors import ReportError
from report.figures import _static, alignment_vs_magnitude
from tests.figures import hand_made

every_figure = pytest.mark.parametrize(
    "figure", [figure_module(name) for name in figure_names()], ids=figure_names()
)


every_kind = pytest.mark.parametrize("kind", hand_made.KINDS)
"""Kinds of models; a figure that cannot be drawn of one says so."""


def drawable(figure, data):
    reason = figure.left_out(data) if hasattr(figure, "left_out") else ""
    if reason:
        assert reason[0].isupper()
        assert reason.endswith(".")
        with pytest.raises(ReportError):
            figure.rows(data)
    return not reason


def specification(figure, data, **state):
    return figure.chart(data, **state).to_dict()


def inside(node, key):
    """All values under `key`, anywhere in a specification."""
    if isinstance(node, list):
        return [value for child in node for value in inside(child, key)]
    if not isinstance(node, dict):
        return []
    deeper = [value for child in node.values() for value in inside(child, key)]
    return deeper + ([node[key]] if key in node else [])


@every_figure
def test_builds_twice_to_the_same_json(figure, data):
    once, twice = (json.dumps(specification(figure, data)) for _ in range(2))
    assert once == twice


@every_figure
def test_is_valid_vega_lite_of_the_version_that_the_bundle_has(figure, data):
    spec = specification(figure, data)
    assert f"/{altair.SCHEMA_VERSION}.json" in spec["$schema"]
    altair.Chart.from_dict(spec, validate=True)


@every_figure
@every_kind
def test_has_words(figure, study, kind):
    assert figure.__doc__.splitlines()[0].endswith(".")
    data = study(kind)
    if not drawable(figure, data):
        return
    state = {control.param: control.value for control in figure.controls(data)}
    for text in (figure.title(data), figure.caption(data), figure.alt(data, **state)):
        assert text.strip() == text
        assert text
        assert "  " not in text
        assert "nan" not in text.split()
        assert ("ALiBi" in text) <= (hand_made.KINDS[kind].like in ("falcon", "mpt"))
        assert ("only attend to itself" in text) <= data.causal


def test_alt_text_names_no_correlation_of_what_does_not_vary():
    columns = {"token": np.arange(4), "alignment": np.ones(4), "magnitude": np.arange(4.0)}
    data = SimpleNamespace(layers=1, updates=lambda layer: {"points": columns})
    text = alignment_vs_magnitude.alt(data)
    assert text.endswith("one a token and head. 0% point against the hidden state.")
    columns["alignment"] = np.array([0.0, 0.1, 0.2, 0.3])
    assert alignment_vs_magnitude.alt(data).endswith("orientation and magnitude is +1.00.")


@every_figure
def test_alt_text_follows_the_controls(figure, data):
    first, *_ = figure.controls(data)
    ends = first.options if hasattr(first, "options") else (first.minimum, first.maximum)
    texts = {figure.alt(data, **{first.param: value}) for value in ends}
    assert len(texts) == 2


@every_figure
@every_kind
def test_rows_fill_exactly_the_named_datasets(figure, study, kind):
    data = study(kind)
    if not drawable(figure, data):
        return
    spec = specification(figure, data)
    inline = spec.get("datasets", {})
    used = {source["name"] for source in inside(spec, "data") if "name" in source}
    named = used - set(inline)
    assert named == set(figure.rows(data)) == set(spec["usermeta"]["report"]["data"]["datasets"])


@every_figure
def test_tells_the_script_what_it_must_know(figure, data):
    report = specification(figure, data)["usermeta"]["report"]
    assert report["figure"] == figure.__name__.rsplit(".", 1)[1]
    assert [c["param"] for c in report["controls"]] == [c.param for c in figure.controls(data)]
    address = report["data"]["url"].format(**{c["param"]: c["value"] for c in report["controls"]})
    assert (data.path / address).is_file()


@every_figure
def test_marks_are_no_nodes_for_screen_readers(figure, data):
    # thousands of points would be read out one by one; the description and the alt text speak
    marks = inside(specification(figure, data), "mark")
    assert marks
    assert all(mark["aria"] is False for mark in marks)


@every_figure
@pytest.mark.parametrize("dark", [False, True])
def test_renders(figure, data, dark):
    assert_drawn(_static.svg(figure, data, dark=dark))


@pytest.mark.parametrize("name", ["attention_map", "attention_breakdown", "bias_vs_position"])
@every_kind
def test_renders_the_terms_of_every_kind(name, study, kind):
    figure, data = figure_module(name), study(kind)
    if drawable(figure, data):
        assert_drawn(_static.svg(figure, data))


def assert_drawn(svg):
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert "<b>" not in svg  # token text is escaped


@every_figure
def test_still_pictures_differ_between_the_palettes(figure, data):
    light, dark = (_static.svg(figure, data, dark=dark) for dark in (False, True))
    assert light != dark
    assert light == _static.svg(figure, data)


@every_figure
def test_refuses_what_its_controls_do_not_reach(figure, data):
    param = figure.controls(data)[0].param
    with pytest.raises(ReportError, match=f"{param}=99 is not allowed"):
        figure.chart(data, **{param: 99})
    with pytest.raises(ReportError, match="unknown control 'colour'; this figure has: "):
        figure.rows(data, colour=1)
