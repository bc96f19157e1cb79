"""Rows of bars: what the highest bar counts is written where nothing lies under it."""

import itertools
import re

import pytest

from report.figures.build import still
from report.figures.build.find import figure_named

update_alignment = figure_named("update_alignment")
SHOWN = (
    r'text-anchor="(\w+)" transform="translate\(([-\d.]+),[^>]*stroke[^>]*opacity="1">(\d+ tokens)<'
)


@pytest.mark.parametrize(("value", "anchor"), [(-0.03, "end"), (0.03, "start")])
def test_the_count_of_the_highest_bar_stands_on_its_side_away_from_0(data, value, anchor):
    spec = still.specification(update_alignment, data)
    spread = [(n - 10) / 11 for n in range(21)]
    spec["datasets"]["points"] = [
        {"token": n, "token_text": "", "head": 0, "alignment": at, "magnitude": 1, "layer": 0}
        for n, at in enumerate([*spread, *[value] * 9])
    ]
    svg = still.drawn(spec)
    ((found, _, said),) = re.findall(SHOWN, svg)
    assert found == anchor
    assert int(said.split()[0]) >= 9


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("figure", [figure_named("update_magnitude"), update_alignment])
def test_the_axis_of_values_has_several_ticks_that_keep_apart(data, figure, phone):
    svg = still.svg(figure, data, phone=phone)
    across, _ = re.findall(r"role-axis-label.*?</g>", svg, re.DOTALL)
    places = [float(x) for x in re.findall(r"translate\(([-\d.]+),[^>]*opacity=\"1\"", across)]
    assert len(places) >= 5
    assert min(after - before for before, after in itertools.pairwise(places)) > 32  # of "−0.75"
