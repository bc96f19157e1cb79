import numpy as np
import pytest

from report.figures import bias_vs_position
from report.figures.build.find import figure_named
from report.figures.parts import term_lines

TITLES = {
    "alibi_bias": "Bias vs ALiBi",
    "alibi": "Content vs ALiBi",
    "rotary": "Content vs rotary position",
    "rotary_bias": "Content and bias vs rotary position",
    "learned_bias": "Bias vs content and position",
    "encoder": "Bias vs content and position",
    "encoder_rotary": "Content vs rotary position",
}


@pytest.mark.parametrize("kind", TITLES)
def test_is_named_after_the_terms_that_the_model_has(study, kind):
    data = study(kind)
    assert bias_vs_position.left_out(data) == ""
    assert bias_vs_position.title(data) == TITLES[kind]
    words = bias_vs_position.caption(data) + figure_named("bias_vs_position").seen(data)
    assert ("ALiBi" in words) == ("ALiBi" in TITLES[kind])


def test_both_terms_lose_their_mean_and_nothing_else(data):
    attention = data.attention(1, 2)
    rows = figure_named("bias_vs_position").rows(data, layer=1, head=2)["targets"]
    assert [row["token"] for row in rows] == list(range(data.length))
    for term in ("bias", "position"):
        shown = np.array([row[term] for row in rows])
        assert shown.mean() == pytest.approx(0, abs=1e-12)
        assert np.diff(shown) == pytest.approx(np.diff(attention.terms[term].values))


def test_rotary_terms_are_shown_by_distance(study):
    data = study("rotary_bias")
    rows = figure_named("bias_vs_position").rows(data, layer=1, head=0)["distances"]
    assert [row["distance"] for row in rows] == list(range(data.length - 1))
    assert rows[0].keys() == {"distance", "pairs", "content", "bias", "position"}
    # the hand-made term falls by about 0.3 a token from the token itself on
    near = [row["position"] for row in rows[:10]]
    assert near == sorted(near, reverse=True)


def test_an_encoder_has_distances_to_both_sides(study):
    rows = figure_named("bias_vs_position").rows(study("encoder_rotary"), layer=1, head=0)[
        "distances"
    ]
    distances = [row["distance"] for row in rows]
    assert (distances[0], distances[-1]) == (-23, 22)
    largest = max(rows, key=lambda row: row["position"])
    assert largest["distance"] == 0


def test_a_window_ends_the_distances(study):
    layers = [
        figure_named("bias_vs_position").rows(study("window"), layer=n)["distances"] for n in (0, 1)
    ]
    assert [rows[-1]["distance"] for rows in layers] == [6, 22]


@pytest.mark.parametrize("kind", ["alibi_bias", "rotary_bias"])
def test_points_are_left_out_where_they_would_hide_their_line(study, kind, monkeypatch):
    def circles():
        return str(figure_named("bias_vs_position").chart(study(kind)).to_dict()).count(
            "'type': 'circle'"
        )

    few = circles()
    monkeypatch.setattr(term_lines, "DOTTED", study(kind).length - 1)
    assert few > circles() == 0
