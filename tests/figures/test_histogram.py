"""Rows of bars: what the highest bar counts is written where nothing lies under it."""

import re

import pytest

from report.figures import _static, update_alignment

SHOWN = (
    r'text-anchor="(\w+)" transform="translate\(([-\d.]+),[^>]*stroke[^>]*opacity="1">(\d+ tokens)<'
)


@pytest.mark.parametrize(("value", "anchor"), [(-0.03, "end"), (0.03, "start")])
def test_the_count_of_the_highest_bar_stands_on_its_side_away_from_0(data, value, anchor):
    spec = _static.specification(update_alignment, data)
    spread = [(n - 10) / 11 for n in range(21)]
    spec["datasets"]["points"] = [
        {"token": n, "token_text": "", "head": 0, "alignment": at, "magnitude": 1, "layer": 0}
        for n, at in enumerate([*spread, *[value] * 9])
    ]
    svg = _static.drawn(spec)
    ((found, _, said),) = re.findall(SHOWN, svg)
    assert found == anchor
    assert int(said.split()[0]) >= 9
