"""The manifest says of every field that occurs what it is, and how exact it is, truly."""

import re

import numpy as np
import pytest

from report.datasets.formats import attention, fields
from tests import factored
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


BOUND = re.compile(r"within ([\d.]+)(?: at the largest targets of a row and ([\d.]+) elsewhere)?")
ROTATED = re.compile(r"; ([\d.]+) and ([\d.]+) beside a rotation")
TOLD_APART = re.compile(r"; ([\d.]+) and ([\d.]+) where what positions add is told apart")


@pytest.mark.parametrize("family", ["llama", "qwen2", "falcon", "gpt2", "gpt_oss", "gptj"])
def test_the_stated_bounds_hold(family):
    measurement = factored.measured(family)
    for layer in range(len(measurement.factors)):
        for shard in factored.datasets(measurement, layer):
            described = fields.described([fields.Fields.of(shard)])
            back = attention.decode(shard)
            rows, ranks = np.nonzero(back.largest_targets >= 0)
            top = rows, back.largest_targets[rows, ranks]
            for term in measurement.terms(layer, shard["head"]):
                text = described[f"terms.{term.name}"]["description"]
                found = BOUND.search(text)
                if attention.PLACED[1] in back.terms:
                    found = TOLD_APART.search(text) or found
                elif shard["terms"].get("position", {}).get("per") == "cell":
                    found = ROTATED.search(text) or found
                at_top, elsewhere = found.groups()
                error = np.abs(back.terms[term.name].matrix() - matrix(term, back))
                assert error.max() <= float(elsewhere or at_top) + 1e-5, term.name
                assert error[top].max() <= float(at_top) + 1e-5, term.name


def matrix(term, back):
    return attention.DecodedTerm(term.name, term.per, term.values, back.visible).matrix()
