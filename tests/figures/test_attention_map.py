import base64
import io

import numpy as np
import pytest
from PIL import Image

from report.figures import _theme, attention_map

SCORE = np.array([[1.0, -np.inf, -np.inf], [0.0, 2.0, -np.inf], [1.0, 9.0, -9.0]])
RAMP = ["#000000", "#808080", "#ff0000"]


def test_picture_has_the_ramps_ends_at_the_ends_of_the_range_and_saturates_beyond():
    pixels = attention_map.raster(SCORE, 0.0, 2.0, RAMP)
    assert pixels[1, 0].tolist() == [0, 0, 0, 255]
    assert pixels[1, 1].tolist() == [255, 0, 0, 255]
    assert pixels[2, 0].tolist() == [128, 128, 128, 255]
    assert pixels[2, 1:].tolist() == [[255, 0, 0, 255], [0, 0, 0, 255]]


def test_picture_is_transparent_above_the_diagonal_only():
    alpha = attention_map.raster(SCORE, 0.0, 2.0, RAMP)[..., 3]
    assert (alpha == 255 * np.tril(np.ones((3, 3)))).all()


def test_data_url_holds_the_same_pixels():
    pixels = attention_map.raster(SCORE, 0.0, 2.0, RAMP)
    kind, content = attention_map.data_url(pixels).split(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as picture:
        shown = np.asarray(picture.convert("RGBA")).astype(int)
    assert np.abs(shown - pixels).max() <= 10  # 64 shades


@pytest.mark.parametrize("head", range(4))
def test_markers_hold_half_of_each_row_and_no_fewer_would(data, head):
    attention = data.attention(1, head)
    marked = attention_map.markers(attention)
    for current, row in enumerate(attention.probability):
        targets = [m["target_token"] for m in marked if m["current_token"] == current]
        parts = sorted(row[targets])
        assert len(targets) == len(set(targets))
        assert sum(parts) >= 0.5 - 1e-6 or len(targets) == 11
        assert sum(parts[1:]) < 0.5 + 1e-6


def test_markers_say_what_their_target_is(data):
    for mark in attention_map.markers(data.attention(0, 1)):
        if mark["target_token"] == mark["current_token"]:
            assert mark["kind"] == "the token itself"  # also for token 0
        elif mark["target_token"] == 0:
            assert mark["kind"] == "the first token"
        else:
            assert mark["kind"] == "another token"


def test_colours_run_between_quantiles_of_the_scores(data):
    attention = data.attention(2, 3)
    scores = attention.score[np.tril_indices(data.length)]
    low, high = attention_map.score_range(attention)
    assert (low, high) == pytest.approx(
        np.quantile(scores, attention_map.QUANTILES, method="lower"), abs=1e-12
    )


def test_dark_picture_has_the_dark_ramp(data):
    light, dark = (
        attention_map.rows(data, layer=1, head=2, dark=dark)["map"][0]["image"]
        for dark in (False, True)
    )
    assert light != dark


def test_the_spec_carries_the_ramp_of_its_legend(data):
    spec = attention_map.chart(data).to_dict()
    assert spec["usermeta"]["report"]["ramp"] == _theme.SCORE_RAMP
