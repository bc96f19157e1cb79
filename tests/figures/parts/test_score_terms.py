"""Which terms a model has, and what readers call them."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.figures.parts import score_terms
from tests.figures import hand_made

NAMES = {
    "alibi_bias": {"content": "content", "bias": "bias", "position": "ALiBi"},
    "alibi": {"content": "content", "position": "ALiBi"},
    "rotary": {"content": "content", "position": "rotary position"},
    "rotary_bias": {"content": "content", "bias": "bias", "position": "rotary position"},
    "learned_bias": {
        "mixed": "content and position",
        "bias": "bias",
        "content": "content × content",
        "content_position": "content × position",
        "position_content": "position × content",
        "position_position": "position × position",
    },
    "content": {"content": "content"},
    "score": {},
    "softcap": {
        "content": "content",
        "position": "rotary position",
        "row_constant": "row constant",
    },
    "encoder": {"mixed": "content and position", "bias": "bias"},
}


@pytest.mark.parametrize("kind", NAMES)
def test_terms_have_the_names_of_the_model(study, kind):
    assert score_terms.names(study(kind)) == NAMES[kind]


def test_what_tells_positions(study):
    kinds = ("alibi", "rotary", "learned_bias", "score")
    found = [score_terms.position(study(kind)) for kind in kinds]
    assert found == ["ALiBi", "rotary", None, None]


def shards(*heads):
    """A model of one layer whose heads have these terms: dict of name to values a target."""

    def attention(layer, head):
        terms = {
            name: SimpleNamespace(per="target", values=np.array(values, float))
            for name, values in heads[head].items()
        }
        return SimpleNamespace(terms=terms)

    capabilities = {"terms": ["content", "bias", "position"]}
    return SimpleNamespace(
        layers=1, heads=len(heads), attention=attention, terms=heads[0], capabilities=capabilities
    )


class Hashable(SimpleNamespace):
    __hash__ = object.__hash__


def test_a_term_that_is_the_same_for_all_targets_in_every_head_is_absent():
    zero = Hashable(**vars(shards({"content": [1, 2], "bias": [0, 0]})))
    assert list(score_terms.choosing(zero)) == ["content"]
    constant = Hashable(**vars(shards({"content": [1, 2], "bias": [3, 3]})))
    assert list(score_terms.choosing(constant)) == ["content"]


def test_a_term_that_only_some_layers_or_heads_have_is_there():
    some = Hashable(**vars(shards({"content": [1, 2]}, {"content": [1, 2], "bias": [0, 1]})))
    assert list(score_terms.choosing(some)) == ["content", "bias"]


def test_words_are_listed_as_in_a_sentence():
    found = [score_terms.listed(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])]
    assert found == ["a", "a and b", "a, b and c"]


def test_every_kind_has_its_names():
    assert NAMES.keys() <= hand_made.KINDS.keys()
