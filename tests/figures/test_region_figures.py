"""Figures of the regions of a text: what they draw is what was measured."""

import numpy as np
import pytest

from report.figures import region_heads, region_map, region_received
from report.figures.parts.heads import head_label
from report.measurements.regions import APART
from report.text import percent


def test_cells_are_the_shares_of_every_head_of_the_layer(regions):
    rows = region_map.rows(regions, layer=2, head=5)["map"]
    number = len(regions.regions)
    assert len(rows) == number * (number + 1) // 2
    for head in (0, 5):
        shares = regions.between(2, head)
        assert all(row[f"head_{head}"] == shares[row["query"], row["key"]] for row in rows)
    assert rows == region_map.rows(regions, layer=2, head=0)["map"]


def test_what_is_seen_in_a_map_is_its_largest_share_besides_the_first(regions):
    shares = regions.between(3, 9)
    below = [(shares[i, j], i, j) for i in range(len(shares)) for j in range(1, i - APART + 1)]
    _, query, key = max(below)
    seen = region_map.seen(regions, layer=3, head=9)
    assert f", L3H9 looks most from number {query} at number {key}: " in seen
    assert seen.startswith(f"At least {APART} back")


def test_maps_open_at_the_first_receiver_head_and_name_texts(regions):
    layer, head = (control.value for control in region_map.controls(regions))
    assert (layer, head) == regions.receivers[0]
    spec = region_map.chart(regions, layer=layer, head=head).to_dict()
    told = spec["layer"][0]["transform"]
    texts = next(each["calculate"] for each in told if each.get("as") == "query_text")
    assert all(f"{region.index}: {region.text}" in texts for region in regions.regions)
    assert regions.regions[1].label == "1  The old lamp was…"


def test_the_legend_of_a_map_names_shares_that_its_stretched_colours_keep_apart(regions):
    spec = region_map.chart(regions, layer=0, head=0).to_dict()
    legend = spec["layer"][0]["encoding"]["color"]["legend"]
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    places = np.array(legend["values"]) ** scale["exponent"]
    assert np.diff(places).min() * 124 > 28  # pixels on a phone; a label has some 20


@pytest.mark.parametrize("share", ["same", "first", "last"])
def test_heads_are_sorted_by_their_share_beside_even_attention(regions, share):
    rows = region_heads.rows(regions, share=share)["heads"]
    values, even = regions.of_heads(share), regions.of_heads(f"even_{share}")
    assert len(rows) == values.size
    for row in rows:
        place = row["layer"], row["head"]
        assert (row[f"{share}_value"], row[f"{share}_even"]) == (values[place], even[place])
        below = values[row["layer"]] < values[place]
        alike = values[row["layer"]] == values[place]
        assert 0 <= row[f"{share}_rank"] - below.sum() < alike.sum()
    layer, head = np.unravel_index(values.argmax(), values.shape)
    seen = region_heads.seen(regions, share=share)
    assert seen.startswith(f"{head_label(layer, head)} gives most ")
    assert (
        f": {percent(values.max())}, where even attention gives {percent(even[layer, head])}."
        in seen
    )


def test_points_are_all_heads_and_triangles_the_receivers(regions):
    rows = region_received.rows(regions, 0)["rows"]
    uneven, alike = (regions.of_heads(name) for name in ("unevenness", "reliability"))
    assert len(rows) == (~np.isnan(uneven + alike)).sum()
    for row in rows:
        place = row["layer"], row["head"]
        assert row["unevenness"] == pytest.approx(uneven[place], abs=1e-4)
        assert row["reliability"] == pytest.approx(alike[place], abs=1e-4)
        assert (row["kind"] == "a receiver head") == (place in regions.receivers)
    first = next(row for row in rows if row["place"] == 0)
    assert (first["layer"], first["head"]) == regions.receivers[0]


def test_bars_are_what_a_head_gives_to_regions_that_enough_look_back_at(regions):
    layer, head = regions.receivers[1]
    rows = region_received.rows(regions, 1, layer=layer, head=head)["rows"]
    parts = {"all": "received", "even": "received_even", "odd": "received_odd"}
    for row in rows:
        values = regions.received(parts[row["part"]])[layer, head]
        assert row["value"] == pytest.approx(values[row["region"]], abs=1e-4)
    known = {row["region"] for row in rows if row["part"] == "all"}
    assert known == set(np.flatnonzero(~np.isnan(regions.received()[layer, head])))
    assert 0 not in known
    top = int(np.nanargmax(regions.received()[layer, head]))
    seen = region_received.seen(regions, layer=layer, head=head)
    assert seen.startswith(f"{head_label(layer, head)} comes back most to number {top}, ")
