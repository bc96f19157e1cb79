"""The terms of a score on numbers small enough to do by hand, and against attention written out."""

import copy
from dataclasses import replace

import pytest
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors, Scores, Term
from report.measurements.visible import Visible
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

BY_CELL = {
    "score": [[0.5, 6.25, 2.5], [2.5, 2.25, 3.5], [1.0, 4.25, 2.5]],
    "content": [[-1.0, 3.5, 0.0], [3.0, 1.5, 3.0], [0.0, 2.0, 0.5]],
    "bias": [2.0, 3.0, 2.5],  # of targets
    "row_constant": [-0.5, -2.25, -0.5],  # of current tokens
}

every_case = pytest.mark.parametrize("name", plain.CASES)


@pytest.mark.parametrize("part", BY_CELL)
def test_parts_of_a_score_by_hand(part):
    assert getattr(decomposition, part)(BY_HAND).tolist() == [BY_CELL[part]]


@pytest.fixture(scope="module", autouse=True)
def unchanged():
    """Nothing of this file changes the factors that it is given."""
    before = copy.deepcopy(plain.CASES)
    yield
    for name, factors in plain.CASES.items():
        for field, value in vars(factors).items():
            assert not torch.is_tensor(value) or torch.equal(value, vars(before[name])[field])


def test_rotation_by_a_quarter_turn_by_hand():
    """Token 1 is turned from (1, 0) to (0, 1): the product with itself stays, with token 0 goes."""
    straight = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    turned = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    factors = Factors(turned, turned, None, None, None, 2.0, straight, straight)
    assert decomposition.content(factors).tolist() == [[[2.0, 2.0], [2.0, 2.0]]]
    assert decomposition.rotary_position(factors).tolist() == [[[0.0, -2.0], [-2.0, 0.0]]]


def test_terms_of_added_positions_by_hand():
    """The query is 2 and 1 of its position, the key 3 and 7; the query's part is named first."""
    query, key, query_place, key_place = (torch.tensor([[[n]]]) for n in (3.0, 10.0, 1.0, 7.0))
    places = {"query_place": query_place, "key_place": key_place, "mixed": True}
    factors = Factors(query, key, None, None, None, 0.5, **places)
    terms = {term.name: term.values.item() for term in decomposition.terms(factors)}
    assert list(terms) == list(decomposition.PLACED)
    assert list(terms.values()) == [3.0, 7.0, 1.5, 3.5]


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
    assert not any(term.values[:, ~seen].any() for term in terms if term.per == "cell")


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
    assert decomposition.rotary_terms(plain.CASES["ALiBi"]) is None


def test_parts_of_the_four_way_split_are_those_of_the_biases_that_they_name():
    """Queries that are nothing but bias have no part without it, and keys likewise."""
    factors = plain.CASES["rotation"]
    queries = decomposition.rotary_terms(replace(factors, query=factors.rotated_query_bias))
    assert {name for name, part in queries.items() if part.any()} == {"query_bias", "distance"}
    keys = decomposition.rotary_terms(replace(factors, key=factors.rotated_key_bias))
    assert {name for name, part in keys.items() if part.any()} == {"key_bias", "distance"}


SCORES = Scores(
    torch.tensor([[[0.0, 99.0, 99.0], [1.0, 2.0, -1e4], [0.0, -9.0, 3.0]]]), Visible.causal(3)
)


def test_scores_of_a_model_are_one_term():
    (term,) = decomposition.terms(SCORES)
    assert (term.name, term.per) == ("score", "cell")
    assert term.values.tolist() == [[[0, 0, 0], [1, 2, 0], [0, -9, 3]]]
    assert decomposition.rotary_terms(SCORES) is None
