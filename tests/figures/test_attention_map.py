import base64
import html
import io
import itertools
import math
import re

import numpy as np
import pytest
from PIL import Image

from report.datasets.formats.visible import Visible
from report.figures import attention_map
from report.figures.build import still
from report.figures.build.find import figure_named
from report.figures.parts import choices, map, shading, token_names
from report.kinds.passage.data import PassageData


@pytest.mark.parametrize("head", range(4))
def test_markers_hold_half_of_each_row_and_no_fewer_would(data, head):
    attention = data.attention(1, head)
    marked = map.markers(attention)
    for current, row in enumerate(attention.probability):
        targets = [m["target_token"] for m in marked if m["current_token"] == current]
        parts = sorted(row[targets])
        assert len(targets) == len(set(targets))
        assert sum(parts) >= 0.5 - 1e-6 or len(targets) == 11
        assert sum(parts[1:]) < 0.5 + 1e-6


def test_markers_say_what_their_target_is(data):
    for mark in map.markers(data.attention(0, 1)):
        if mark["target_token"] == mark["current_token"]:
            assert mark["kind"] == "the token itself"  # also for token 0
        elif mark["target_token"] == 0:
            assert mark["kind"] == "the first token"
        else:
            assert mark["kind"] == "another token"


@pytest.mark.parametrize("kind", ["alibi_bias", "softcap", "window", "encoder"])
def test_colours_run_between_quantiles_of_what_enters_the_softmax(study, kind):
    attention = study(kind).attention(2, 3)
    scores = attention.capped[attention.visible.mask()]
    assert np.isfinite(scores).all()
    low, high = shading.score_range(attention)
    assert (low, high) == pytest.approx(
        np.quantile(scores, shading.QUANTILES, method="lower"), abs=1e-12
    )


@pytest.mark.parametrize("kind", ["alibi_bias", "softcap", "window", "encoder", "sink"])
def test_a_dark_cell_is_never_one_that_gets_nothing(study, kind):
    """Of every head: where a shade is above the middle of its colours, the cell gets at least a
    share of its row that the middle stands for, in a loop of its own."""
    data = study(kind)
    for layer, head in itertools.product(range(data.layers), range(data.heads)):
        attention = data.attention(layer, head)
        for shade in ("probability", "below"):
            values, (low, high) = shading.shaded(attention, shade)
            assert (low, high) == ((math.log(0.001), 0) if shade == "probability" else (-8, 0))
            for i, row in enumerate(attention.probability):
                most = 1 if shade == "probability" else row.max()
                for j, share in enumerate(row):
                    if values[i, j] > (low + high) / 2:
                        assert share >= most * math.exp((low + high) / 2) * (1 - 1e-9)
                    assert np.isneginf(values[i, j]) == (not attention.visible.mask()[i, j])
                    if attention.visible.mask()[i, j] and share >= 0.001 * most:
                        told = math.exp(values[i, j]) * most
                        assert told == pytest.approx(share, rel=1e-9)


def test_the_switches_of_looks_change_no_sentence(data):
    looks = {each.param: each for each in attention_map.controls(data) if choices.is_look(each)}
    assert list(looks) == ["by", "shade"]
    told = {
        figure_named("attention_map").seen(data, layer=1, head=2, by=by, shade=shade)
        for by in looks["by"].options
        for shade in shading.SHADES
    }
    assert len(told) == 1
    assert choices.said(attention_map.controls(data)) == f"layer {data.layers // 2}, head 0"


@pytest.mark.parametrize(
    ("kind", "says", "not_this"),
    [
        ("alibi_bias", "itself or an earlier one. Shade is the probability, on a", "window"),
        ("alibi_bias", "to read both tokens, the score, its terms and the probability.", "sink"),
        ("encoder", "targets (keys): every token, itself, earlier and later ones alike.", "or an"),
        ("window", "itself or an earlier one; in some layers only the last 7, itself", "later"),
        ("softcap", "as it enters softmax, where the model keeps it between −4 and 4.", "before"),
        ("sink", "of a row sum to less than 1: the rest goes to a sink", "only the"),
        ("score", "to read both tokens, the score and the probability.", "terms"),
    ],
)
def test_caption_tells_of_the_model_that_it_shows(study, kind, says, not_this):
    data = study(kind)
    caption = f"{attention_map.caption(data)} {attention_map.use(data)}"
    assert says in caption
    assert not_this not in caption


def test_alt_text_tells_the_shape_of_what_is_seen(study):
    assert "24 tokens, a lower triangle. " in figure_named("attention_map").alt(
        study("rotary"), layer=0
    )
    assert "a band of 7 tokens below the diagonal. " in figure_named("attention_map").alt(
        study("window"), layer=0
    )
    assert "24 tokens, a lower triangle. " in figure_named("attention_map").alt(
        study("window"), layer=1
    )


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ([None, 9], "alike; in some layers only the 9 around it, itself included. Shade"),
        ([9, 9], "alike; here only the 9 around it, itself included. Shade"),
    ],
)
def test_an_encoder_with_windows_says_how_far_it_sees(study, windows, said):
    data = PassageData(study("encoder").path)
    data.windows = windows
    assert said in attention_map.caption(data)
    places = np.arange(20)
    near = Visible(np.maximum(places - 4, 0), np.minimum(places + 4, 19))
    assert attention_map._shape(near) == "a band of 9 tokens around the diagonal"
    assert "24 tokens, a square. " in figure_named("attention_map").alt(study("encoder"), layer=0)


def test_the_edge_of_a_window_runs_down_its_first_targets(study):
    data = study("window")
    assert figure_named("attention_map").rows(data, layer=1)["edge"] == []
    edge = figure_named("attention_map").rows(data, layer=0)["edge"]
    first = data.visible(0, 0).first
    assert [(corner["column"], corner["row"]) for corner in edge[::2]] == [
        (first[row], row) for row in range(data.length)
    ]
    assert [corner["order"] for corner in edge] == list(range(2 * data.length))
    assert edge[-1]["row"] == data.length


def test_legends_have_a_place_of_their_own_where_no_triangle_is_empty(study):
    def places(kind):
        spec = figure_named("attention_map").chart(study(kind)).to_dict()
        legends = [
            layer.get("encoding", {}).get("color", {}).get("legend") for layer in spec["layer"]
        ]
        return {legend["orient"] for legend in legends if legend}

    assert places("alibi_bias") == places("window") == {"none"}
    assert places("encoder") == {"top"}


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("text", ["<b>bold</b> text", "MMMMMMMMMM", "漢字漢字漢字漢字漢字"])
def test_a_long_text_on_an_axis_leaves_the_index_to_be_read(data, text, phone):
    spec = still.specification(figure_named("attention_map"), data, phone=phone)
    (param,) = [param for param in spec["params"] if param["name"] == token_names.LABELS]
    param["value"] = [text] * len(param["value"])
    drawn = html.unescape(still.drawn(spec))
    found = re.findall(re.escape(text[:4]) + r"[^<]*…\u200e?\s*(\S*)(?=</text>)", drawn)
    assert len(found) > 4
    assert all(index.isdigit() for index in found), found


@pytest.mark.parametrize("by", ["words", "sentences"])
def test_markers_of_regions_are_shapes_of_few_and_pixels_of_many(data, monkeypatch, by):
    """However many tokens there are: what counts is the rows."""
    firsts, state = data.regions[by], {"layer": 0, "head": 0, "shade": "probability", "by": by}
    monkeypatch.setattr(map, "SHAPED", len(firsts))
    few = attention_map.rows(data, **state)
    lengths = np.diff([*firsts, data.length])
    region = {
        first + (length - 1) / 2: n
        for n, (first, length) in enumerate(zip(firsts, lengths, strict=True))
    }
    for marker in few["markers"]:
        ends = (region[marker[name]] for name in ("current_token", "target_token"))
        assert marker["span"] == min(lengths[end] for end in ends)
    monkeypatch.setattr(map, "SHAPED", len(firsts) - 1)
    many = attention_map.rows(data, **state)
    assert len(few["markers"]) > 0 == len(many["markers"])
    pictures = [picture["map"][0]["image"].partition(",")[2] for picture in (few, many)]
    plain, stamped = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(each))).convert("RGBA"), int)
        for each in pictures
    )
    for marker in few["markers"]:
        place = tuple(int(marker[name]) for name in ("current_token", "target_token"))
        assert np.abs(stamped[place] - plain[place]).max() > 8, marker
