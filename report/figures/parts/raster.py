"""A matrix of scores as a picture of one pixel a cell."""

import base64
import io

import numpy as np
from PIL import Image

from report.figures.parts import theme


def raster(score: np.ndarray, low: float, high: float, ramp: list[str]) -> np.ndarray:
    """One pixel a cell: uint8 [query, key, 4], transparent where nothing is visible.

    score: float [query, key], -inf there; low, high: scores of the ramp's first and last colour
    """
    seen = ~np.isneginf(score)
    part = (np.where(seen, score, low) - low) / (high - low)
    opaque = np.full((*score.shape, 1), 255, np.uint8)
    return np.concatenate([theme.shades(ramp, part), opaque], -1) * seen[..., None]


def data_url(pixels: np.ndarray) -> str:
    """A picture, uint8 [row, column, 4], as the data URL of a PNG."""
    file = io.BytesIO()
    # 64 shades look the same as thousands and make the file a third as large.
    picture = Image.fromarray(pixels, "RGBA").quantize(64, Image.Quantize.FASTOCTREE)
    picture.save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
