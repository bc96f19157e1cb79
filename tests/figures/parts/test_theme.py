"""Colours that everyone can tell apart, one scale of type, and style sheets that share both."""

import itertools
import re

import numpy as np
import pytest

from report.figures import filler_effect, heads_at_step, magnitude_by_position, renderings_compared
from report.figures.build import css
from report.figures.parts import grounds, received, target_classes, ternary, theme
from report.pages import assets

# Machado, Oliveira and Fernandes 2009, severity 1, on linear light
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


# Ottosson 2020: linear light to the responses of cones, and these to OKLab
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def looks(entries):
    """{"light": [...], "dark": [...]} of entries that end with both colours."""
    return {"light": [each[-2] for each in entries], "dark": [each[-1] for each in entries]}


def lines(*styles):
    return {shade: [getattr(each, shade) for each in styles] for shade in ("light", "dark")}


TOGETHER = {
    "kinds": looks(theme.KINDS.values()),
    "terms": looks(theme.TERMS.values()),
    "by position": looks(magnitude_by_position.COLOURS.values()),
    "without and with a filler": lines(received.BLUE, received.RED),
    "one filler and another": lines(received.BLUE, received.ORANGE),
    "ways to write a table": looks(renderings_compared.STYLES),
    "roles in a table": looks(target_classes.ROLES.values()),
    "classes in a table": looks(target_classes.SEEN.values()),
    "singled out": {s: [theme.MASS[s], theme.CONTEXT[s]] for s in ("light", "dark")},
}
"""Colours that appear side by side: name -> shade -> list."""

RAMPS = {
    "score": theme.SCORE_RAMP,
    "probability": theme.PROBABILITY_RAMP,
    "rank": theme.RANK_RAMP,
    "effect": filler_effect.HEAT_RAMP,
}
every_shade = pytest.mark.parametrize("shade", ["light", "dark"])
every_eye = pytest.mark.parametrize("deficiency", DEFICIENCIES)
every_set = pytest.mark.parametrize("together", TOGETHER)


def linear(colour):
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(colour, deficiency):
    """A colour as it is seen; lightness first."""
    rgb = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(colour), 0, 1)
    return np.array(OKLAB) @ np.cbrt(np.array(CONES) @ rgb)


def distance(one, other, deficiency):
    return np.linalg.norm(oklab(one, deficiency) - oklab(other, deficiency))


def contrast(one, other):
    """Of WCAG 2."""
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(c))) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_knows_what_is_known():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert oklab("#ffffff", "none") == pytest.approx([1, 0, 0], abs=1e-4)
    assert oklab("#ff0000", "none") == pytest.approx([0.628, 0.225, 0.126], abs=1e-3)
    # red and green of one lightness: far apart for most, close to each other for some
    red, green = "#c8502a", "#6b8328"
    assert distance(red, green, "none") > 0.17
    assert distance(red, green, "deuteranopia") < 0.08


@every_eye
@every_set
@every_shade
def test_colours_that_appear_together_can_be_told_apart(together, shade, deficiency):
    colours = TOGETHER[together][shade]
    # seven classes have a shape each besides; nothing else has more than four colours
    least = 0.08 if len(colours) > 4 else 0.1
    for one, other in itertools.combinations(colours, 2):
        assert distance(one, other, deficiency) >= least, (one, other)


@every_eye
@pytest.mark.parametrize("ramp", RAMPS)
@every_shade
def test_ramps_get_steadily_darker_on_light_and_lighter_on_dark(ramp, shade, deficiency):
    lightness = [oklab(colour, deficiency)[0] for colour in RAMPS[ramp][shade]]
    steps = np.diff(lightness) * (-1 if shade == "light" else 1)
    assert (steps > 0.03).all(), lightness


@every_set
@every_shade
def test_marks_stand_out_from_the_page(together, shade):
    for colour in set(TOGETHER[together][shade]) - {theme.CONTEXT[shade]}:
        assert contrast(colour, theme.PAPER[shade]) >= 3, colour


@every_shade
def test_lines_of_a_ternary_grid_are_seen_and_have_hues_that_differ(shade):
    part = ternary.GRID[shade]
    paper = np.array([int(theme.PAPER[shade][i : i + 2], 16) for i in (1, 3, 5)])
    drawn = []
    for colour in TOGETHER["terms"][shade]:
        full = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        mixed = np.rint(part * full + (1 - part) * paper).astype(int)
        drawn.append("#" + "".join(f"{value:02x}" for value in mixed))
        assert contrast(drawn[-1], theme.PAPER[shade]) >= 1.6, colour
    for one, other in itertools.combinations(drawn, 2):
        assert distance(one, other, "none") >= 0.08, (one, other)


@pytest.mark.parametrize("ramp", ["probability", "rank"])
@every_shade
def test_points_on_a_ramp_stand_out_from_the_page(ramp, shade):
    for colour in RAMPS[ramp][shade]:
        assert contrast(colour, theme.PAPER[shade]) >= 3, colour


@every_shade
def test_text_has_contrast(shade):
    paper = theme.PAPER[shade]
    coloured = TOGETHER["terms"][shade]  # of axis titles and names at the ends of lines
    for colour in [theme.INK[shade], theme.SOFT[shade], *coloured]:
        assert contrast(colour, paper) >= 4.5, colour
    for ground in [
        *grounds.TOKENS[shade],
        grounds.LOOKED[shade == "dark"],
        received.SPAN[shade == "dark"],
    ]:
        assert contrast(theme.INK[shade], ground) >= 4.5, ground


@every_shade
def test_what_is_written_in_a_cell_has_contrast_with_it(shade):
    values, turn = np.linspace(0, 1, 101), heads_at_step.turns(shade)
    low, high = ("#000000", "#ffffff") if shade == "light" else ("#ffffff", "#000000")
    for value, rgb in zip(values, theme.shades(theme.SCORE_RAMP[shade], values), strict=True):
        cell = "#" + bytes(rgb).hex()
        assert contrast(high if value >= turn else low, cell) >= 4.5, value


@every_shade
def test_bars_behind_lines_can_be_seen(shade):
    dark = shade == "dark"
    paper, opacity = theme.PAPER[shade], renderings_compared.BAR[dark]
    for style in renderings_compared.STYLES:
        parts = [
            [int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (style[-2 + dark], paper)
        ]
        bar = np.round(np.average(parts, axis=0, weights=[opacity, 1 - opacity]))
        assert contrast("#" + bytes(bar.astype(np.uint8)).hex(), paper) >= (2.5 if dark else 1.6)


@pytest.mark.parametrize("sheet", ["figure/figures.css", "page/site.css"])
def test_style_sheets_have_no_size_and_no_colour_of_their_own_for_figures(sheet):
    parts = [part for part in (sheet, *assets.TOGETHER[sheet]) if part != "page/print.css"]
    text = "".join((assets.WEB / part).read_text("utf-8") for part in parts)
    sizes = re.findall(r"(?:font-size|[^-]font): ([^;]+);", text)
    assert sizes
    for size in sizes:
        assert re.search(r"var\(--type-[a-z]+\)|em$|inherit", size), size
        assert not re.search(r"[\d.]rem", size), size
    known = set(re.findall(r"--[a-z0-9-]+(?=:)", css.css() + text))
    for name in re.findall(r"var\((--(?:figure|type)-[a-z0-9-]+)\)", text):
        assert name in known, name


def test_style_sheets_get_what_charts_get():
    light, dark = css.css().split("@media screen")
    for text, shade in ((light, "light"), (dark, "dark")):
        assert f"--figure-ink: {theme.INK[shade]};" in text
        assert f"--figure-token-5: {grounds.TOKENS[shade][5]};" in text
        assert f"--figure-accent: {theme.FIRST[shade == 'dark']};" in text
    assert "--type-caption: 0.7rem;" in light


def test_shades_are_linear_between_the_stops():
    shades = theme.shades(["#000000", "#0000c8", "#ff00c8"], [-1, 0, 0.25, 0.5, 1, 2])
    expected = [[0, 0, 0], [0, 0, 0], [0, 0, 100], [0, 0, 200], [255, 0, 200], [255, 0, 200]]
    assert shades.tolist() == expected
