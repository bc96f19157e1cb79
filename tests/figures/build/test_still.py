"""Still pictures: small, and with the same numbers as the live chart."""

import re

import altair

from report.figures.build import still


def picture(values, **axis):
    rows = altair.InlineData([{"x": value, "y": value} for value in values])
    axis = altair.Axis(values=values, **axis)
    chart = altair.Chart(rows, width=200, height=100).mark_point()
    return still.drawn(chart.encode(x=altair.X("x:Q", axis=axis), y="y:Q").to_dict())


def test_what_is_written_keeps_its_decimals():
    svg = picture([0.125, 0.375, 1.062], format=".3f")
    assert {"0.125", "0.375", "1.062"} <= set(re.findall(r">([^<>]*)</text>", svg))


def test_places_are_kept_to_a_tenth_of_a_pixel():
    svg = picture([1 / 3, 2 / 3])
    assert re.search(r'transform="translate\(\d+\.\d', svg)
    places = re.sub(r">[^<]*<", "><", svg)
    assert not re.search(r"\d\.\d\d", places)


def test_a_picture_inside_is_not_touched():
    data = "data:image/png;base64,AAAA1.2345AAAA"
    rows = altair.InlineData([{"url": data}])
    svg = still.drawn(
        altair.Chart(rows).mark_image(width=9, height=9).encode(url="url:N").to_dict()
    )
    assert data in svg
