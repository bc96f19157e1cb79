"""What holds for every figure, found by its file: a new one is tested the moment it exists."""

import json
import re

import altair
import pytest

from report.errors import ReportError
from report.figures.build import defaults, still
from report.figures.build.defaults import FORMAT
from report.figures.build.find import figure_named, figure_names
from report.figures.parts import choices
from report.pages.article import ArticleFigures
from report.pages.sentences import in_two
from tests.figures import hand_made
from tests.figures.live_page import GRIDS, ORDER, PROJECT
from tests.figures.pictures import picture, specification
from tests.rendered import NEEDS_A_LIVE_FIGURE


def each(names):
    figures = [figure_named(name) for name in names]
    return pytest.mark.parametrize("figure", figures, ids=names)


OF_NO_PASSAGE = [name for name in figure_names() if name not in ORDER]

every_figure = each((*ORDER, *OF_NO_PASSAGE))

every_kind = pytest.mark.parametrize("kind", hand_made.KINDS)
"""Kinds of models; a figure that cannot be drawn of one says so."""

CASES = [(name, kind) for kind in hand_made.KINDS for name in hand_made.figures_of(kind, ORDER)]
every_figure_of_every_kind = pytest.mark.parametrize(
    ("figure", "kind"),
    [(figure_named(name), kind) for name, kind in CASES],
    ids=["-".join(case) for case in CASES],
)
"""Figures of a passage and the kinds of models that make them different."""


def panels_of(figure, data):
    """What to add to a state for each panel: nothing for a figure that is one chart."""
    if not figure.panels:
        return [{}]
    return [{"panel": number} for number in range(len(figure.boxes(data)))]


def drawable(figure, data):
    reason = figure.left_out(data)
    if reason:
        assert reason[0].isupper()
        assert reason.endswith(".")
        for call in (figure.chart, figure.rows):
            with pytest.raises(ReportError) as refused:
                call(data)
            assert str(refused.value) == f"{figure.name} cannot be drawn: {reason}"
    return not reason


def inside(node, key):
    """All values under `key`, anywhere in a specification."""
    if isinstance(node, list):
        return [value for child in node for value in inside(child, key)]
    if not isinstance(node, dict):
        return []
    deeper = [value for child in node.values() for value in inside(child, key)]
    return deeper + ([node[key]] if key in node else [])


@every_figure
def test_builds_twice_to_the_same_json(figure, drawn_of):
    for panel in panels_of(figure, drawn_of):
        once = specification(figure, drawn_of, **panel)
        assert json.dumps(once) == json.dumps(defaults.spec_of(figure, drawn_of, **panel))
        once, again = (json.dumps(figure.rows(drawn_of, **panel)) for _ in range(2))
        assert once == again


@every_figure
def test_is_valid_vega_lite_of_the_version_that_the_bundle_has(figure, drawn_of):
    for panel in panels_of(figure, drawn_of):
        spec = specification(figure, drawn_of, **panel)
        assert f"/{altair.SCHEMA_VERSION}.json" in spec["$schema"]
        altair.Root.validate(spec)  # the whole schema; no chart need be made again


@every_figure
def test_selections_are_params_of_the_whole(figure, drawn_of):
    """One in a layer draws here, but is there twice when Altair reads it, as in a notebook."""

    def within(part):
        return [param for layer in part.get("layer", []) for param in params(layer)]

    def params(part):
        return [*part.get("params", []), *within(part)]

    for panel in panels_of(figure, drawn_of):
        assert within(specification(figure, drawn_of, **panel)) == []


@every_figure
def test_an_article_sets_every_control_by_its_name(figure, drawn_of):
    """Also one that is called like a parameter of `figure` itself."""
    article = ArticleFigures("hand", PROJECT, drawn_of)
    state = {each.param: each.value for each in figure.controls(drawn_of)}
    article.figure(figure.name, data=drawn_of, **state)
    assert article.placed[0].state == state


@each(OF_NO_PASSAGE)
def test_figures_of_no_passage_have_words(figure, drawn_of):
    said_by(figure, drawn_of)


def said_by(figure, data):
    """Title, caption and alt texts of a figure, checked."""
    assert figure.shows.endswith((".", "?"))
    state = {control.param: control.value for control in figure.controls(data)}
    alts = [figure.alt(data, **state, **panel) for panel in panels_of(figure, data)]
    texts = [figure.title(data), figure.caption(data), figure.seen(data, **state), *alts]
    assert_short(figure, data, **state)
    assert not [text for text in texts if NEEDS_A_LIVE_FIGURE.search(text)]  # that is for `use`
    if use := figure.use(data):
        assert NEEDS_A_LIVE_FIGURE.search(use)
        texts.append(use)
    for text in texts:
        assert text.strip() == text
        assert text
        assert "  " not in text
        assert "nan" not in text.split()
    return texts


def assert_short(figure, data, **state):
    """What a point is and what there is to see: 30 words; the rest is folded."""
    shown = [in_two(text)[0] for text in (figure.caption(data), figure.seen(data, **state))]
    assert len(" ".join(shown).split()) <= 30, shown


@every_figure_of_every_kind
def test_has_words(figure, study, kind):
    data = study(kind)
    if not drawable(figure, data):
        return
    for text in said_by(figure, data):
        assert ("ALiBi" in text) <= (hand_made.KINDS[kind].like in ("falcon", "mpt"))
        assert ("only attend to itself" in text) <= data.causal


@every_figure
def test_alt_text_follows_the_controls(figure, drawn_of):
    for control in figure.controls(drawn_of):
        if choices.is_look(control):
            continue
        ends = control.options if hasattr(control, "options") else (0, control.maximum)
        for panel in panels_of(figure, drawn_of):
            texts = {figure.alt(drawn_of, **{control.param: value}, **panel) for value in ends}
            # the colour of a heat map, and its states, are nothing that the panels below show
            of_map = control.param in ("measure", "after") and panel.get("panel", 0) > 0
            assert len(texts) == len(set(ends)) or of_map


@every_figure
def test_what_is_to_be_seen_is_said_at_both_ends_of_every_control(figure, drawn_of):
    for control in figure.controls(drawn_of):
        ends = control.options if hasattr(control, "options") else (0, control.maximum)
        for value in ends:
            said = figure.seen(drawn_of, **{control.param: value})
            assert said.endswith("."), said
            assert not {"nan", "inf"} & set(said.strip(".").split()), said
            assert_short(figure, drawn_of, **{control.param: value})


@every_figure_of_every_kind
def test_rows_fill_exactly_the_named_datasets(figure, study, kind):
    data = study(kind)
    if drawable(figure, data):
        assert_fills(figure, data)


@each(OF_NO_PASSAGE)
def test_rows_of_no_passage_fill_exactly_the_named_datasets(figure, drawn_of):
    assert_fills(figure, drawn_of)


def assert_fills(figure, data):
    for panel in panels_of(figure, data):
        spec = specification(figure, data, **panel)
        used = {source["name"] for source in inside(spec, "data") if "name" in source}
        named = used - set(spec.get("datasets", {}))
        told = set(spec["usermeta"]["report"]["data"]["datasets"])
        below = {"tokens"} if figure.texts else set()  # the text that stands below the chart
        assert named == set(figure.rows(data, **panel)) - below == told - below


@every_figure
def test_tells_the_script_what_it_must_know(figure, drawn_of):
    folder = getattr(drawn_of, "path", None)
    if folder is None:
        of_grid = figure.name in GRIDS
        first = drawn_of.places[0].model if of_grid else drawn_of.models[0]
        folder = first.path.parent
    for panel in panels_of(figure, drawn_of):
        report = specification(figure, drawn_of, **panel)["usermeta"]["report"]
        assert next(iter(report.items())) == ("figure", figure.name)
        params = [control["param"] for control in report["controls"]]
        assert params == [control.param for control in figure.controls(drawn_of)]
        state = {control["param"]: control["value"] for control in report["controls"]}
        if report["data"]["url"].startswith("rows/"):  # the article writes them, with the page
            continue
        assert (folder / report["data"]["url"].format(**state)).is_file()
        tokens = report["data"].get("tokens", "passage.json")
        assert tokens is None or (folder / tokens.format(**state)).is_file()


@every_figure
def test_marks_are_no_nodes_for_screen_readers(figure, drawn_of):
    # thousands of points would be read out one by one; the description and the alt text speak
    for panel in panels_of(figure, drawn_of):
        marks = inside(specification(figure, drawn_of, **panel), "mark")
        assert marks
        assert all(mark["aria"] is False for mark in marks)


@every_figure
def test_renders_in_both_palettes(figure, drawn_of):
    for panel in panels_of(figure, drawn_of):
        light, dark = (picture(figure, drawn_of, dark=dark, **panel) for dark in (False, True))
        assert_drawn(light)
        assert_drawn(dark)
        assert light != dark


@pytest.mark.parametrize("name", ["attention_map", "attention_breakdown", "bias_vs_position"])
@every_kind
def test_renders_the_terms_of_every_kind(name, study, kind):
    figure, data = figure_named(name), study(kind)
    if drawable(figure, data):
        assert_drawn(picture(figure, data))


def assert_drawn(svg):
    assert svg.startswith("<svg")
    assert "NaN" not in svg
    assert "undefined" not in svg
    assert "<b>" not in svg  # token text is escaped


def test_a_picture_is_drawn_twice_to_the_same_bytes(data):
    """With gradients and clips, which Vega counts over all pictures of a process."""
    figure = figure_named("attention_map")
    svg = picture(figure, data)
    ids = re.findall(r'id="(gradient_|clip)(\d+)"', svg)
    assert {kind for kind, _ in ids} == {"gradient_", "clip"}
    assert sorted(int(number) for _, number in ids) == list(range(len(ids)))
    assert svg == still.svg(figure, data)


@every_figure
def test_a_cover_has_marks_and_nothing_to_read(figure, drawn_of):
    panel = panels_of(figure, drawn_of)[0]
    empty = specification(figure, drawn_of, **panel)
    filled = still.specification(figure, drawn_of, empty=empty, **panel)
    svg = still.drawn(still.cover(filled))
    assert 'width="480" height="320"' in svg
    assert "<text" not in svg
    assert "role-axis" not in svg
    assert "role-legend" not in svg
    assert "mark-" in svg.replace("mark-group", "")


@every_figure
def test_refuses_what_its_controls_do_not_reach(figure, drawn_of):
    for panel in panels_of(figure, drawn_of):
        for param in [control.param for control in figure.controls(drawn_of)]:
            with pytest.raises(ReportError, match=f"{param}=99 is not allowed"):
                figure.chart(drawn_of, **{param: 99}, **panel)
        with pytest.raises(ReportError, match="unknown control 'hue'; this figure has: "):
            figure.rows(drawn_of, hue=1, **panel)


@every_figure
def test_ramps_are_linear_in_rgb_as_the_picture_of_a_map_is(figure, drawn_of):
    def ramps(part):
        if isinstance(part, dict):
            scale = part.get("scale")
            colours = "#" in str((scale or {}).get("range"))
            if part.get("type") == "quantitative" and colours:
                yield scale
        for child in part.values() if isinstance(part, dict) else part:
            if isinstance(child, (dict, list)):
                yield from ramps(child)

    for panel in panels_of(figure, drawn_of):
        found = list(ramps(specification(figure, drawn_of, **panel)))
        assert found or figure.name not in ("attention_map", "heads_at_step")
        assert [scale["interpolate"] for scale in found] == ["rgb"] * len(found)


def channels(part):
    """Every channel of every view in which marks and tooltips say something."""
    if isinstance(part, list):
        for each in part:
            yield from channels(each)
    if isinstance(part, dict):
        for name, each in part.items():
            if name in ("text", "tooltip", "description") and isinstance(each, dict | list):
                yield from each if isinstance(each, list) else [each]
            yield from channels(each)


@every_figure
def test_no_share_is_rounded_to_all_or_nothing(figure, drawn_of):
    for panel in panels_of(figure, drawn_of):
        spec = defaults.spec_of(figure, drawn_of, **panel)
        assert not [each for each in channels(spec) if FORMAT.fullmatch(str(each.get("format")))]
