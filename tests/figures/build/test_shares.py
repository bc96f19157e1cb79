"""Shares in charts and in scripts: neither nothing nor all where it is nearly that."""

import re

import altair
import pytest
import vl_convert

from report.figures.build.defaults import with_words
from report.text import percent

VALUES = (0.9979, 0.9949, 0.99996, 1.0, 1 - 1e-9, 0.0021, 0.00004, 0.0, 0.5, 0.0071)


@pytest.mark.parametrize("digits", [0, 1])
def test_marks_and_tooltips_say_what_prose_says(digits):
    rows = [{"v": value, "n": number, "in": {"v": value}} for number, value in enumerate(VALUES)]
    base = altair.Chart(altair.Data(values=rows)).mark_text().encode(y="n:O")
    form = f".{digits}%"
    charts = [
        base.encode(text=altair.Text("v:Q", format=form)),
        base.encode(text=altair.Text("in.v:Q", format=form)),
        base.transform_calculate(t=f"format(datum.v, '{form}')").encode(text="t:N"),
    ]
    spec = with_words(altair.layer(*charts).to_dict())
    assert not re.search(r'"format": "\.\d%', str(spec).replace("'", '"'))
    shown = re.findall(r"<text[^>]*>([^<]*)<", vl_convert.vegalite_to_svg(spec))
    expected = [percent(value, digits).replace("\u00a0", "") for value in VALUES]
    short = [said.replace("more than ", "&gt;").replace("less than ", "&lt;") for said in expected]
    assert [text for text in shown if "%" in text] == short + short + expected
