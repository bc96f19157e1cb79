import base64
import io

import numpy as np
import pytest
from PIL import Image

from report.figures.parts import raster

INF = np.inf
SCORE = np.array([[1.0, -INF, -INF], [0.0, 2.0, -INF], [1.0, 9.0, -9.0]])
BAND = np.array([[1.0, -INF, -INF], [0.0, 2.0, -INF], [-INF, 9.0, -9.0]])
RAMP = ["#000000", "#808080", "#ff0000"]


def test_picture_has_the_ramps_ends_at_the_ends_of_the_range_and_saturates_beyond():
    pixels = raster.raster(SCORE, 0.0, 2.0, RAMP)
    assert pixels[1, 0].tolist() == [0, 0, 0, 255]
    assert pixels[1, 1].tolist() == [255, 0, 0, 255]
    assert pixels[2, 0].tolist() == [128, 128, 128, 255]
    assert pixels[2, 1:].tolist() == [[255, 0, 0, 255], [0, 0, 0, 255]]


@pytest.mark.parametrize("score", [SCORE, BAND, np.zeros((3, 3))])
def test_picture_is_transparent_where_nothing_is_visible_only(score):
    alpha = raster.raster(score, 0.0, 2.0, RAMP)[..., 3]
    assert (alpha == np.where(score > -INF, 255, 0)).all()


def test_data_url_holds_the_same_pixels():
    pixels = raster.raster(SCORE, 0.0, 2.0, RAMP)
    kind, content = raster.data_url(pixels).split(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as picture:
        shown = np.asarray(picture.convert("RGBA")).astype(int)
    assert np.abs(shown - pixels).max() <= 10  # 64 shades


def test_of_many_cells_several_share_a_pixel_and_the_surest_gives_its_value(monkeypatch):
    monkeypatch.setattr(raster, "WHOLE", 6)
    monkeypatch.setattr(raster, "MOST", 4)
    rng = np.random.default_rng(0)
    few, many = (rng.random((size, size)) for size in (6, 8))
    assert raster.pooled(few, few) is few
    values = -many  # the surest cell has the smallest value
    assert raster.pooled(values, many).tolist() == [
        [-many[i : i + 2, j : j + 2].max() for j in range(0, 8, 2)] for i in range(0, 8, 2)
    ]
