"""The manifest says of every field that occurs what it is, and how exact it is, truly."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import attention, fields
from tests.figures import hand_made


@pytest.fixture(params=hand_made.KINDS)
def shards(request):
    rng, kind = np.random.default_rng(0), hand_made.KINDS[request.param]
    return [hand_made.one_head(rng, layer, 0, kind) for layer in range(2)]


def test_every_field_is_described_and_no_other(shards):
    described = fields.described(map(fields.Fields.of, shards))
    always = {"schema", "layer", "head", "tokens", "terms"}
    present = {name for shard in shards for name in shard.keys() - always}
    present |= {f"terms.{name}" for shard in shards for name in shard["terms"]}
    assert described.keys() == present
    for about in described.values():
        assert about["description"]
        assert about["unit"]
        assert "nan" not in about["description"]


def test_the_stated_bounds_hold():
    rng = np.random.default_rng(1)
    length = 100
    for kind in ("alibi_bias", "rotary_bias"):
        shard = hand_made.one_head(rng, 1, 0, hand_made.KINDS[kind])
        found = fields.described([fields.Fields.of(shard)])
        seen = np.tril(np.ones((length, length), bool))
        terms = large_terms(rng, hand_made.KINDS[kind].position, seen)
        matrices = {t.name: attention.DecodedTerm(t.name, t.per, t.values).matrix() for t in terms}
        score = np.where(seen, sum(matrices.values()), -np.inf)
        probability = np.exp(score - score.max(1, keepdims=True))
        probability /= probability.sum(1, keepdims=True)
        targets = np.full((length, 11), -1)
        shard = attention.encode(0, 0, terms, probability, np.ones(length, int), targets)
        assert "product" in shard["terms"]["content"]
        back = attention.decode(store.check(shard, "test")).terms
        for name, matrix in matrices.items():
            text = found[f"terms.{name}"]["description"]
            error = np.abs(back[name].matrix() - matrix)
            for bound, lower in stated(text):
                assert error[seen & (probability >= lower)].max() <= bound * 1.005, (name, lower)


def large_terms(rng, position, seen):
    """Terms whose cells are products of 8 numbers, which a file of theirs tells as such."""
    pairs = rng.normal(0, 0.85, (2, 2, len(seen), 8))
    content, rotary = (query @ key.T * seen for query, key in pairs)
    bias = rng.normal(0, 2, len(seen))
    slope = 0.1 * np.arange(len(seen))
    whole = ("cell", rotary, pairs[1]) if position == "cell" else (position, slope, None)
    terms = [("content", "cell", content, pairs[0]), ("bias", "target", bias, None)]
    terms.append(("position", *whole))
    return [SimpleNamespace(name=n, per=per, values=v, pair=pair) for n, per, v, pair in terms]


def stated(text):
    """[(bound, probability from)] of a description."""
    match = re.search(r"within ([\d., e-]+) where the probability is at least ([\d., ]+)", text)
    if not match:
        return [(float(re.search(r"within ([\d.e-]+)", text)[1]), 0)]
    bounds, lowers = ([float(n) for n in group.strip(" ,").split(", ")] for group in match.groups())
    assert len(bounds) == len(lowers) > 1
    return list(zip(bounds, lowers, strict=True))
