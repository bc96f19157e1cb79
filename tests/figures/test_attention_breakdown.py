from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.attention import DecodedAttention, DecodedTerm
from report.errors import ReportError
from report.figures import attention_breakdown

TOKENS = [SimpleNamespace(label=label) for label in "abc"]


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
    return [point[f"share_{name}"] for name in ("content", "bias", "position")]


def test_shares_are_worked_out_from_terms_less_their_smallest_value_in_the_row():
    one, two = attention_breakdown.points(three_tokens(), TOKENS, 0)
    # row 1, target 1: content 4 - 1, bias 0 - -1, position (1 - 0) - 0
    assert shares(one) == pytest.approx([3 / 5, 1 / 5, 1 / 5])
    # row 2, target 2: content -1 - -1, bias 3 - -1, position 2
    assert shares(two) == pytest.approx([0, 4 / 6, 2 / 6])


def test_terms_in_the_tooltip_are_not_shifted():
    one, _ = attention_breakdown.points(three_tokens(), TOKENS, 0)
    assert [one[name] for name in ("content", "bias", "position")] == [4.0, 0.0, 0.0]
    assert (one["current_text"], one["target_text"], one["distance"]) == ("b", "b", 0)


def test_a_target_at_the_minimum_of_all_terms_has_no_place():
    # row 0 has one target; row 1's second target has the smallest value of every term
    found = attention_breakdown.points(three_tokens(), TOKENS, 1)
    assert [point["current_token"] for point in found] == [2]


@pytest.mark.parametrize("sort_idx", [0, 3, 10])
def test_shares_of_every_point_are_proportions(data, sort_idx):
    rows = attention_breakdown.rows(data, layer=1, head=2, sort_idx=sort_idx)["points"]
    assert rows
    for point in rows:
        assert sum(shares(point)) == pytest.approx(1)
        assert min(shares(point)) >= 0
        assert point["current_token"] >= sort_idx


def test_targets_come_in_the_order_of_their_probability(data):
    largest, second = (
        {
            p["current_token"]: p["probability"]
            for p in attention_breakdown.rows(data, sort_idx=k)["points"]
        }
        for k in (0, 1)
    )
    both = largest.keys() & second.keys()
    assert len(both) > 10
    assert all(largest[token] >= second[token] for token in both)


def test_a_model_without_these_terms_is_refused(data):
    class Rotary:
        layers, heads = data.layers, data.heads

        def attention(self, layer, head):
            return SimpleNamespace(terms={"content": None})

    with pytest.raises(ReportError, match="this model has content; leave the figure out"):
        attention_breakdown.chart(Rotary())
