import itertools

import numpy as np
import pytest

from report.figures import _theme

# Machado, Oliveira and Fernandes 2009, severity 1: what remains of linear RGB
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour):
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour, deficiency):
    """CIE L*a*b* of a colour as it is seen."""
    rgb = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(colour), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ rgb / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one, other, deficiency):
    return np.linalg.norm(lab(one, deficiency) - lab(other, deficiency))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("palette", [_theme.KINDS, _theme.TERMS], ids=["kinds", "terms"])
@pytest.mark.parametrize("shade", [-2, -1], ids=["light", "dark"])
def test_colours_that_carry_meaning_can_be_told_apart(palette, shade, deficiency):
    colours = [entry[shade] for entry in palette.values()]
    for one, other in itertools.combinations(colours, 2):
        assert distance(one, other, deficiency) > 20, (one, other)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_neighbours_in_a_stack_of_heads_can_be_told_apart(shade, deficiency):
    for one, other in itertools.pairwise(_theme.HEADS[shade]):
        assert distance(one, other, deficiency) > 15, (one, other)


@pytest.mark.parametrize("ramp", ["SCORE_RAMP", "PROBABILITY_RAMP", "RANK_RAMP"])
@pytest.mark.parametrize("shade", ["light", "dark"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_ramps_get_steadily_darker_on_light_and_lighter_on_dark(ramp, shade, deficiency):
    lightness = [lab(colour, deficiency)[0] for colour in getattr(_theme, ramp)[shade]]
    steps = np.diff(lightness) * (-1 if shade == "light" else 1)
    assert (steps > 3).all(), lightness


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_text_has_contrast(shade):
    page = {"light": "#ffffff", "dark": "#1e2129"}[shade]
    coloured = [entry[-2 if shade == "light" else -1] for entry in _theme.TERMS.values()]
    luminances = np.array([0.2126, 0.7152, 0.0722])
    for colour in [_theme.INK[shade], *coloured]:
        low, high = sorted(float(luminances @ linear(c)) for c in (colour, page))
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


@pytest.mark.parametrize("heads", [1, 8, 32])
def test_every_head_has_a_colour_of_its_own(heads):
    assert len({colour.to_dict()["expr"] for colour in _theme.head_colours(heads)}) == heads


def test_shades_are_linear_between_the_stops():
    shades = _theme.shades(["#000000", "#0000c8", "#ff00c8"], [-1, 0, 0.25, 0.5, 1, 2])
    expected = [[0, 0, 0], [0, 0, 0], [0, 0, 100], [0, 0, 200], [255, 0, 200], [255, 0, 200]]
    assert shades.tolist() == expected
