from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats.attention import DecodedAttention, DecodedTerm
from report.figures import attention_breakdown
from report.figures.build.find import figure_named

TOKENS = [SimpleNamespace(label=label) for label in "abc"]
THREE = ["content", "bias", "position"]


def three_tokens():
    """Terms whose shares one can work out on paper."""
    content = np.array([[5.0, 0, 0], [1.0, 4.0, 0], [0.0, 2.0, -1.0]])
    terms = {
        "content": DecodedTerm("content", "cell", content),
        "bias": DecodedTerm("bias", "target", np.array([-1.0, 0.0, 3.0])),
        "position": DecodedTerm("position", "target_difference", np.array([0.0, 1.0, 2.0])),
    }
    score = np.where(np.tril(np.ones((3, 3))), sum(t.matrix() for t in terms.values()), -np.inf)
    probability = np.exp(score) / np.exp(score).sum(1, keepdims=True)
    largest = np.full((3, 11), -1)
    largest[0, 0], largest[1, :2], largest[2, :3] = 0, (1, 0), (2, 1, 0)
    return DecodedAttention(0, 0, terms, score, probability, np.ones(3, int), largest)


def shares(point):
    return [point[f"share_{name}"] for name in THREE]


def test_shares_are_worked_out_from_terms_less_their_smallest_value_in_the_row():
    one, two = attention_breakdown.points(three_tokens(), TOKENS, 0, THREE)
    # row 1, target 1: content 4 - 1, bias 0 - -1, position (1 - 0) - 0
    assert shares(one) == pytest.approx([3 / 5, 1 / 5, 1 / 5])
    # row 2, target 2: content -1 - -1, bias 3 - -1, position 2
    assert shares(two) == pytest.approx([0, 4 / 6, 2 / 6])


def test_terms_in_the_tooltip_are_not_shifted():
    one, _ = attention_breakdown.points(three_tokens(), TOKENS, 0, THREE)
    assert [one[name] for name in THREE] == [4.0, 0.0, 0.0]
    assert (one["current_text"], one["target_text"], one["distance"]) == ("b", "b", 0)


def test_a_target_at_the_minimum_of_all_terms_has_no_place():
    # row 0 has one target; row 1's second target has the smallest value of every term
    found = attention_breakdown.points(three_tokens(), TOKENS, 1, THREE)
    assert [point["current_token"] for point in found] == [2]


@pytest.mark.parametrize("sort_idx", [0, 3, 10])
def test_shares_of_every_point_are_proportions(data, sort_idx):
    rows = figure_named("attention_breakdown").rows(data, layer=1, head=2, sort_idx=sort_idx)[
        "points"
    ]
    assert rows
    for point in rows:
        assert sum(shares(point)) == pytest.approx(1)
        assert min(shares(point)) >= 0
        assert point["current_token"] >= sort_idx


def test_targets_come_in_the_order_of_their_probability(data):
    largest, second = (
        {
            p["current_token"]: p["probability"]
            for p in figure_named("attention_breakdown").rows(data, sort_idx=k)["points"]
        }
        for k in (0, 1)
    )
    both = largest.keys() & second.keys()
    assert len(both) > 10
    assert all(largest[token] >= second[token] for token in both)


def test_two_terms_are_heights_above_their_smallest_value_in_the_row():
    axes = ["content", "position"]
    one, two = attention_breakdown.points(three_tokens(), TOKENS, 0, axes)
    assert (one["height_content"], one["height_position"]) == (3, 1)
    assert (two["height_content"], two["height_position"]) == (0, 2)
    assert (two["content"], two["position"]) == (-1, 0)
    assert not any("bias" in key or "share" in key for key in one)


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("alibi", ["content", "position"]),
        ("learned_bias", ["mixed", "bias"]),
        ("rotary_bias", ["content", "bias", "position"]),
    ],
)
def test_the_terms_of_the_model_are_its_axes(study, kind, axes):
    data = study(kind)
    assert attention_breakdown.left_out(data) == ""
    spec = figure_named("attention_breakdown").chart(data).to_dict()
    assert spec["usermeta"]["report"]["axes"] == axes
    assert ("ternary" in spec["description"]) == (len(axes) == 3)
    assert ("corner" in attention_breakdown.caption(data)) == (len(axes) == 3)
    assert "token 0 always" in attention_breakdown.caption(data)


def test_an_encoder_compares_with_later_targets_too(study):
    data = study("encoder")
    found = figure_named("attention_breakdown").rows(data, layer=0, head=0, sort_idx=0)["points"]
    assert [point["current_token"] for point in found] == list(range(data.length))
    assert min(point["distance"] for point in found) < 0
    bias = data.attention(0, 0).terms["bias"].values
    for point in found:
        assert point["height_bias"] == pytest.approx(bias[point["target_token"]] - bias.min())
    assert "token 0 always" not in attention_breakdown.caption(data)


def test_a_window_compares_with_what_it_shows(study):
    data = study("window")
    content = data.attention(0, 2).terms["content"].matrix()
    for point in figure_named("attention_breakdown").rows(data, layer=0, head=2)["points"]:
        i, j = point["current_token"], point["target_token"]
        least = content[i, max(0, i - 6) : i + 1].min()
        assert point["height_content"] == pytest.approx(content[i, j] - least)


def test_a_short_passage_has_no_more_ranks_than_tokens():
    control = attention_breakdown.controls(SimpleNamespace(layers=1, heads=1, length=8))[2]
    assert control.maximum == 7
