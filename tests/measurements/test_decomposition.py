"""The terms of a score on numbers small enough to do by hand, and against attention written out."""

import copy
from dataclasses import fields, replace

import pytest
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors, Scores, Term
from report.measurements.visible import Visible
from tests.close import require_close
from tests.measurements import plain

BY_HAND = Factors(
    query=torch.tensor([[[3.0, 1.0], [1.0, 5.0], [2.0, 2.0]]]),
    key=torch.tensor([[[0.0, 1.0], [4.0, 0.0], [1.0, 1.0]]]),
    query_bias=torch.tensor([[1.0, 2.0]]),
    key_bias=torch.tensor([[0.0, -1.0]]),
    position=torch.tensor([[0.0, 0.25, 0.5]]),
    scale=0.5,
)
"""Without biases the queries are (2, -1), (0, 3), (1, 0) and the keys (0, 2), (4, 1), (1, 2)."""

every_case = pytest.mark.parametrize("name", plain.CASES)


def test_score_is_the_scaled_product_plus_alibi_of_the_target():
    expected = [[0.5, 6.25, 2.5], [2.5, 2.25, 3.5], [1.0, 4.25, 2.5]]
    assert decomposition.score(BY_HAND).tolist() == [expected]


def test_content_is_the_product_without_biases():
    expected = [[-1.0, 3.5, 0.0], [3.0, 1.5, 3.0], [0.0, 2.0, 0.5]]
    assert decomposition.content(BY_HAND).tolist() == [expected]


def test_bias_depends_on_the_target():
    assert decomposition.bias(BY_HAND).tolist() == [[2.0, 3.0, 2.5]]


def test_row_constant_depends_on_the_current_token():
    assert decomposition.row_constant(BY_HAND).tolist() == [[-0.5, -2.25, -0.5]]


def test_a_bias_that_is_not_there_counts_as_zero():
    without = replace(BY_HAND, query_bias=None, key_bias=None, position=None)
    assert decomposition.content(without).tolist() == decomposition.score(without).tolist()
    assert not decomposition.bias(without).any()
    assert not decomposition.row_constant(without).any()


def test_rotation_by_a_quarter_turn_by_hand():
    """Token 1 is turned from (1, 0) to (0, 1): the product with itself stays, with token 0 goes."""
    straight = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    turned = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    factors = Factors(turned, turned, None, None, None, 2.0, straight, straight)
    assert decomposition.content(factors).tolist() == [[[2.0, 2.0], [2.0, 2.0]]]
    assert decomposition.rotary_position(factors).tolist() == [[[0.0, -2.0], [-2.0, 0.0]]]


@pytest.mark.parametrize(
    ("per", "values", "expected"),
    [
        ("cell", [[1.0, 2.0], [3.0, 4.0]], [[1, 2], [3, 4]]),
        ("target", [1.0, 3.0], [[1, 3], [1, 3]]),
        ("current", [1.0, 3.0], [[1, 1], [3, 3]]),
        ("target_difference", [1.0, 3.0], [[0, 2], [-2, 0]]),
    ],
)
def test_a_term_of_every_cell(per, values, expected):
    assert Term("any", per, torch.tensor([values])).matrix().tolist() == [expected]


@every_case
def test_scores_and_probabilities_equal_attention_written_out(name):
    factors = plain.CASES[name]
    score, probability = plain.attention(factors)
    torch.testing.assert_close(decomposition.score(factors), score)
    torch.testing.assert_close(decomposition.probability(factors), probability)


@every_case
def test_terms_and_row_constant_add_up_to_the_score(name):
    factors = plain.CASES[name]
    terms = decomposition.terms(factors)
    total = sum(term.matrix() for term in terms)
    if "row_constant" not in [term.name for term in terms]:
        total = total + decomposition.row_constant(factors)[..., None]
    score, _ = plain.attention(factors)
    seen = factors.range().mask()
    torch.testing.assert_close(total[:, seen], score[:, seen])


@every_case
def test_terms_alone_give_the_probabilities(name):
    """Only where softmax would notice the row constant is it among the terms."""
    factors = plain.CASES[name]
    total = sum(term.matrix() for term in decomposition.terms(factors))
    if factors.softcap is not None:
        total = factors.softcap * torch.tanh(total / factors.softcap)
    weights = total.exp() * factors.range().mask()
    sink = 0 if factors.sink is None else factors.sink.exp()[:, None, None]
    _, probability = plain.attention(factors)
    torch.testing.assert_close(weights / (weights.sum(-1, keepdim=True) + sink), probability)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("biases", "content bias"),
        ("no biases", "content"),
        ("ALiBi", "content bias position"),
        ("rotation", "content bias position"),
        ("softcap", "content bias position row_constant"),
        ("sink", "content bias row_constant"),
    ],
)
def test_a_model_has_the_terms_that_it_can_have(name, expected):
    terms = decomposition.terms(plain.CASES[name])
    assert [term.name for term in terms] == expected.split()


@every_case
def test_cells_that_are_not_visible_hold_zero(name):
    factors = plain.CASES[name]
    unseen = ~factors.range().mask()
    for term in decomposition.terms(factors):
        if term.per == "cell":
            assert not term.values[:, unseen].any()
    assert not decomposition.probability(factors)[:, unseen].any()


def test_a_sink_takes_its_share_of_every_row():
    rows = decomposition.probability(plain.CASES["sink"]).sum(-1)
    assert rows.min() > 0
    assert rows.max() < 1


@pytest.mark.parametrize("name", ["rotation", "rotation, shared keys", "window"])
def test_the_four_way_split_adds_up_and_its_last_part_knows_only_distance(name):
    factors = plain.CASES[name]
    split = decomposition.rotary_terms(factors)
    assert list(split) == ["content", "query_bias", "key_bias", "distance"]
    seen = factors.range().mask()
    score, _ = plain.attention(factors)
    torch.testing.assert_close(sum(split.values())[:, seen], score[:, seen])
    for distance in range(plain.LENGTH):
        values = split["distance"].diagonal(-distance, 1, 2)[:, : 3 if name == "window" else None]
        torch.testing.assert_close(values, values[:, :1].expand_as(values))
    assert split["distance"].abs().max() > 0.1


@pytest.mark.parametrize("name", ["biases", "ALiBi"])
def test_without_rotation_there_is_no_four_way_split(name):
    assert decomposition.rotary_terms(plain.CASES[name]) is None


def test_without_rotation_the_key_bias_changes_no_probability_and_with_it_does():
    for name, same in (("shared keys", True), ("rotation, shared keys", False)):
        factors = plain.CASES[name]
        without = factors.key - (0 if same else factors.rotated_key_bias)
        if same:
            without = factors.key - factors.key_bias[:, None]
        found = decomposition.probability(replace(factors, key=without))
        equal = torch.allclose(found, decomposition.probability(factors), atol=1e-10)
        assert equal == same


@every_case
def test_one_head_is_what_it_is_among_all(name):
    factors = plain.CASES[name]
    tensors = {name: value for name, value in vars(factors).items() if torch.is_tensor(value)}
    narrow = replace(factors, **{name: value.float() for name, value in tensors.items()})
    rounded = {"summed": 2 * plain.SIZE, "dtype": torch.float32}  # what goes into the products
    everything = decomposition.terms(factors)
    probability = decomposition.probability(factors)
    for head in range(factors.heads):
        alone = narrow.head(head)
        assert alone.query.dtype == alone.key.dtype == torch.float64
        for term, expected in zip(decomposition.terms(alone), everything, strict=True):
            assert (term.name, term.per) == (expected.name, expected.per)
            require_close(term.values[0], expected.values[head], **rounded)
        size = max(1.0, decomposition.score(alone).abs().max())
        require_close(decomposition.probability(alone)[0], probability[head], size=size, **rounded)


@every_case
def test_nothing_changes_what_it_is_given(name):
    factors = plain.CASES[name]
    before = copy.deepcopy(factors)
    for compute in (decomposition.terms, decomposition.probability, decomposition.rotary_terms):
        compute(factors)
    for field in fields(factors):
        value, other = getattr(factors, field.name), getattr(before, field.name)
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, other)


SCORES = Scores(
    torch.tensor([[[0.0, 99.0, 99.0], [1.0, 2.0, -1e4], [0.0, -9.0, 3.0]]]), Visible.causal(3)
)


def test_scores_of_a_model_are_one_term():
    (term,) = decomposition.terms(SCORES)
    assert (term.name, term.per) == ("score", "cell")
    assert term.values.tolist() == [[[0, 0, 0], [1, 2, 0], [0, -9, 3]]]
    assert decomposition.rotary_terms(SCORES) is None


def test_probabilities_of_the_scores_of_a_model():
    e = torch.tensor([1.0, 2.0, 0.0, -9.0, 3.0], dtype=torch.float64).exp()
    expected = torch.zeros(3, 3, dtype=torch.float64)
    expected[0, 0] = 1
    expected[1, :2] = e[:2] / e[:2].sum()
    expected[2] = e[2:] / e[2:].sum()
    torch.testing.assert_close(decomposition.probability(SCORES.head(0))[0], expected)
