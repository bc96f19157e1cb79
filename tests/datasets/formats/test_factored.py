"""Queries and keys in a file give back the attention of models that rotate in every way."""

from dataclasses import replace

import numpy as np
import pytest

from report.datasets.formats import attention, fitting, rice, rounding, sides
from report.datasets.formats.attention_terms import PLACED
from report.datasets.verify.published import verify_attention
from report.errors import ReportError
from tests import factored


@pytest.fixture(scope="module", params=[*factored.FAMILIES, *factored.NOT_ROTATED])
def measured(request):
    return factored.measured(request.param)


def test_every_head_comes_back_within_the_bounds(measured):
    for layer in range(len(measured.factors)):
        for shard in factored.datasets(measured, layer):
            head = shard["head"]
            back = attention.decode(shard)
            assert back.score.shape == (factored.LENGTH, factored.LENGTH)
            probability = measured.probability(layer, head)
            assert np.abs(back.probability - probability).max() <= rounding.PROBABILITY_ERROR
            assert (back.largest_targets == measured.largest_targets[layer, head]).all()
            assert (back.marker_count == measured.marker_count[layer, head]).all()
            within_bounds(back, in_file(measured.terms(layer, head)))


def in_file(terms):
    """The terms of a file, whose parts of content and position are one."""
    parts = [term for term in terms if term.name in PLACED]
    if len(parts) < len(PLACED):
        return terms
    mixed = replace(parts[0], name="mixed", values=sum(part.values for part in parts))
    return [mixed, *(term for term in terms if term not in parts)]


def within_bounds(back, terms):
    rows, ranks = np.nonzero(back.largest_targets >= 0)
    top = rows, back.largest_targets[rows, ranks]
    assert back.terms.keys() == {term.name for term in terms}
    for term in terms:
        found = back.terms[term.name]
        assert found.per == term.per
        if term.per != "cell":
            assert np.abs(found.values - term.values).max() <= rounding.STEPS[term.name] / 2 + 1e-5
            continue
        error = np.abs(found.values - term.values)
        assert error.max() <= 2 * rounding.CELL_ERROR
        assert error[top].max() <= (1 + (term.name == "position")) * rounding.TOP_ERROR + 1e-5


@pytest.fixture(scope="module")
def shard():
    return factored.datasets(factored.measured("qwen2"), 0)[0]


def test_what_is_written_is_verified(shard):
    verify_attention(shard)


def changed(data, path, value):
    """A copy of JSON data in which the value at a path is another."""
    name, *rest = path
    return data | {name: changed(data[name], rest, value) if rest else value}


DAMAGES = {
    "its keys, keys/0/0.json, are not there": (["keys"], "keys/0/0.json"),
    "its keys are of layer 7": (["keys", "layer"], 7),
    "queries and keys have different numbers": (["keys", "integers"], None),
    "the queries have 16 components and 1 middles": (["queries", "middles"], [3]),
    "the queries are not those of 60 tokens": (["queries", "integers"], "AAAA"),
    "the keys are not those of 60 tokens": (["keys", "integers"], "AAA"),
    "the queries have 16 components, their bias 1": (["queries", "bias"], [0.5]),
    "not of packed integers": (["targets"], ""),
    "a largest target is no token": (["targets"], rice.write(np.full((1, 605), 41))),
    "what is missing to term 'content'": (["terms", "content", "top"], "AAAA"),
    "what is missing to term 'position'": (["terms", "position", "rows"], ""),
    "term 'bias' has 1 values, not 60": (["terms", "bias", "values"], [1]),
    "marker_count has 1 values": (["marker_count"], [1]),
}


@pytest.mark.parametrize("said", DAMAGES)
def test_a_damaged_file_is_refused_in_one_sentence(shard, said):
    path, value = DAMAGES[said]
    damaged = changed(shard, path, value)
    if value is None:  # keys of fewer components
        integers = rice.write(np.zeros((2, factored.LENGTH), int))
        keys = {"components": 2, "frequencies": [1.0], "integers": integers, "bias": [0.0, 0.0]}
        keys |= {"middles": [0, 0]}
        damaged = shard | {"keys": shard["keys"] | keys}
    with pytest.raises(ReportError, match=said) as refused:
        attention.decode(damaged)
    assert str(refused.value).count("layer 0 head 0: ") == 1
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("shape", [(1, 0), (1, 1), (3, 17), (16, 60)])
def test_integers_come_back_from_their_text(shape):
    rng = np.random.default_rng(0)
    numbers = (rng.normal(0, 10.0 ** np.arange(shape[0])[:, None], shape)).astype(int)
    assert (rice.read(rice.write(numbers), *shape) == numbers).all()
    few = np.where(rng.random(shape[1]) < 0.2, numbers[0], 0)
    places = np.flatnonzero(few)
    assert (rice.read_few(rice.write_few(places, few[places]), len(few)) == few).all()


def test_integers_take_little_more_than_their_entropy():
    numbers = np.random.default_rng(0).normal(0, 12, (8, 4000)).round().astype(int)
    bits = np.log2(12 * np.sqrt(2 * np.pi * np.e))
    assert len(rice.write(numbers)) * 6 < 1.04 * bits * numbers.size


def test_pairs_are_told_along_the_axes_on_which_they_take_the_fewest_bytes():
    """One component of each pair is all noise of a small size, seen from an angle of 27 degrees."""
    rng = np.random.default_rng(5)
    side = rng.normal(size=(500, 6)) * [9, 1, 9, 1, 9, 1] + 40
    turned = sides.rotated(side, np.exp(1j * np.radians([27.0, -48.0, 0.0])))
    angles = fitting.angles(turned[None], 2 * turned, 3)
    assert np.degrees(angles) == pytest.approx([63, 48, 0])
    back = sides.rotated(turned, np.exp(1j * angles))
    assert np.sort(back.std(0).round()).tolist() == [1, 1, 1, 9, 9, 9]
