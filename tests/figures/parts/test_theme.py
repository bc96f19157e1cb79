"""Colours that everyone can tell apart, one scale of type, and style sheets that share both."""

import itertools
import re

import numpy as np
import pytest

from report.figures import (
    answers_by_attention,
    filler_effect,
    heads_at_step,
    magnitude_by_position,
    renderings_compared,
)
from report.figures.build import css
from report.figures.parts import received, target_classes, ternary, theme
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
    "kinds of questions": looks(answers_by_attention.LOOKS),
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


def mixed(colour, part, paper):
    """A colour of which so much covers paper."""
    parts = [[int(each[i : i + 2], 16) for i in (1, 3, 5)] for each in (colour, paper)]
    return (
        "#"
        + bytes(
            np.rint(np.average(parts, axis=0, weights=[part, 1 - part])).astype(int).tolist()
        ).hex()
    )


def grid_of(shade):
    """Lines of a ternary grid as they are seen."""
    return [
        mixed(each, ternary.GRID[shade], theme.PAPER[shade]) for each in TOGETHER["terms"][shade]
    ]


def lying_on(shade):
    """(what lies on something, that, the least contrast of both) of all that is to be seen."""
    paper, ink, dark = theme.PAPER[shade], theme.INK[shade], shade == "dark"
    marks = {colour for shown in TOGETHER.values() for colour in shown[shade]}
    marks |= {*RAMPS["probability"][shade], *RAMPS["rank"][shade]} - {theme.CONTEXT[shade]}
    yield from ((mark, paper, 3) for mark in marks - {theme.CONTEXT[shade]})
    yield from ((text, paper, 4.5) for text in (ink, theme.SOFT[shade], *TOGETHER["terms"][shade]))
    behind = css.LOOKED[dark], received.SPAN[dark], *css.TOKENS[shade]
    yield from ((ink, ground, 4.5) for ground in behind)
    yield from ((line, paper, 1.6) for line in grid_of(shade))
    bars = [
        mixed(style[-2 + dark], renderings_compared.BAR[dark], paper)
        for style in renderings_compared.STYLES
    ]
    yield from ((bar, paper, 2.5 if dark else 1.6) for bar in bars)
    values, texts = (
        np.linspace(0, 1, 101),
        ("#ffffff", "#000000") if dark else ("#000000", "#ffffff"),
    )
    for value, rgb in zip(values, theme.shades(theme.SCORE_RAMP[shade], values), strict=True):
        yield texts[int(value >= heads_at_step.turns(shade))], "#" + bytes(rgb).hex(), 4.5


@every_shade
def test_all_that_is_to_be_seen_has_contrast_with_what_it_lies_on(shade):
    assert [each for each in lying_on(shade) if contrast(*each[:2]) < each[2]] == []


@every_shade
def test_lines_of_a_ternary_grid_have_hues_that_differ(shade):
    for one, other in itertools.combinations(grid_of(shade), 2):
        assert distance(one, other, "none") >= 0.08, (one, other)


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
        assert f"--figure-token-5: {css.TOKENS[shade][5]};" in text
        assert f"--figure-accent: {theme.FIRST[shade == 'dark']};" in text
    assert "--type-caption: 0.7rem;" in light


def test_shades_are_linear_between_the_stops():
    shades = theme.shades(["#000000", "#0000c8", "#ff00c8"], [-1, 0, 0.25, 0.5, 1, 2])
    expected = [[0, 0, 0], [0, 0, 0], [0, 0, 100], [0, 0, 200], [255, 0, 200], [255, 0, 200]]
    assert shades.tolist() == expected
