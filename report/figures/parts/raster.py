"""A matrix of scores as a picture: one pixel a cell, or one for several where there are many."""

import base64
import io
from collections.abc import Iterable, Mapping

import numpy as np
from PIL import Image

from report.figures.parts import theme

WHOLE = 480
"""Cells along an edge of which each has a pixel of its own, at most."""

MOST = 352
"""Pixels of a picture of more cells along an edge: it is among the first files that a page fetches,
and of a long passage it has little else than noise, which no file format makes small."""

SIDE = 3 / 600
"""Of a marker that is drawn in pixels, as a part of the picture: the script draws none smaller."""


def raster(score: np.ndarray, low: float, high: float, ramp: list[str]) -> np.ndarray:
    """One pixel a cell: uint8 [query, key, 4], transparent where nothing is visible.

    score: float [query, key], -inf there; low, high: scores of the ramp's first and last colour
    """
    seen = ~np.isneginf(score)
    part = (np.where(seen, score, low) - low) / (high - low)
    opaque = np.full((*score.shape, 1), 255, np.uint8)
    return np.concatenate([theme.shades(ramp, part), opaque], -1) * seen[..., None]


def pooled(values: np.ndarray, probability: np.ndarray, most: int | None = None) -> np.ndarray:
    """One value for the cells that share a pixel: that of the cell with the largest probability.

    So no cell that gets much is lost, however many there are.

    values: float [query, key], -inf where nothing is visible
    probability: float [query, key]
    most: pixels along an edge; None: as many as cells, or MOST of more than WHOLE
    returns: `values` where there are no more cells than pixels, else float [most, most]
    """
    size = len(values)
    most = most or (MOST if size > WHOLE else size)
    if size <= most:
        return values
    # the first cell of each pixel; the script places cells by the same rule
    starts = -(-np.arange(most) * size // most)
    pixel = np.arange(size) * most // size

    def largest(cells):
        return np.maximum.reduceat(np.maximum.reduceat(cells, starts, 0), starts, 1)

    sure = np.where(np.isneginf(values), -1.0, probability)
    chosen = sure >= largest(sure)[pixel][:, pixel]
    return largest(np.where(chosen, values, -np.inf))


def stamp(
    pixels: np.ndarray, markers: Iterable[dict], colours: Mapping[str, str], size: int
) -> None:
    """Draw markers into a picture of `size` x `size` cells, later kinds above earlier ones.

    pixels: uint8 [row, column, 4], changed in place
    markers: dicts with current_token, target_token and kind; colours: of kinds
    """
    edge = len(pixels)
    side = max(1, round(SIDE * edge))
    for kind, colour in colours.items():
        rgba = [*(int(colour[n : n + 2], 16) for n in (1, 3, 5)), 255]
        for marker in markers:
            if marker["kind"] != kind:
                continue
            top, left = (
                min(max(int(marker[name] * edge) // size - side // 2, 0), edge - side)
                for name in ("current_token", "target_token")
            )
            pixels[top : top + side, left : left + side] = rgba


def data_url(pixels: np.ndarray) -> str:
    """A picture, uint8 [row, column, 4], as the data URL of a PNG."""
    file = io.BytesIO()
    # 64 shades look the same as thousands and make the file a third as large.
    picture = Image.fromarray(pixels, "RGBA").quantize(64, Image.Quantize.FASTOCTREE)
    picture.save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
