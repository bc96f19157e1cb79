"""Queries and keys in a file give back the attention of models of every kind."""

import gzip

import numpy as np
import pytest

from report import families
from report.datasets import store
from report.datasets.formats import attention, fitting, group, rice, rounding, sides
from report.datasets.formats.attention import PLACED
from report.datasets.formats.rotation import NONE
from report.datasets.write import attention as write
from report.datasets.write.attention import attention_datasets
from report.inputs.passages import passage
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.text.tokens import tokenize
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
            assert (back.visible.mask() == measured.visible(layer).mask().numpy()).all()
            probability = measured.probability(layer, head)
            assert np.abs(back.probability - probability).max() <= rounding.PROBABILITY_ERROR
            assert (back.largest_targets == measured.largest_targets[layer, head]).all()
            assert (back.marker_count == measured.marker_count[layer, head]).all()
            within_bounds(back, measured.terms(layer, head))


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
        elsewhere, at_top = rounding.CELL_ERROR, rounding.TOP_ERROR
        if "cell" in [term.per for term in terms if term.name == "position"]:
            elsewhere = rounding.ROTARY_CELL_ERROR
        if term.name == "position":  # it has the errors of both
            elsewhere, at_top = 2 * elsewhere, 2 * at_top
        elif term.name == "content" and PLACED[1] in back.terms:
            elsewhere, at_top = 2 * elsewhere, 4 * at_top
        assert error.max() <= elsewhere + 1e-5, term.name
        assert error[top].max() <= at_top + 1e-5, term.name


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


def test_alike_targets_are_told_apart_in_one_order_however_sums_are_made():
    """Without positions, a token that comes again has the same key: equal scores, but for rounding
    in another order, as in blocks of rows and as in a browser."""
    rng, length = np.random.default_rng(3), 150
    queries, keys = (
        rng.normal(size=(1, length, 24)),
        rng.normal(size=(7, 24))[np.arange(length) % 7],
    )
    score = np.where(np.tri(length, dtype=bool), queries[0] @ keys.T, -np.inf)
    listed = np.argsort(-score, axis=1, kind="stable")[:, :11]
    listed[listed > np.arange(length)[:, None]] = -1
    none = dict.fromkeys(("query_bias", "key_bias"))
    ranks = {"largest_targets": listed[None], "marker_count": np.ones((1, length), int)}
    plain = {"queries": queries, "keys": keys, "rotated_queries": queries, "rotated_keys": keys}
    made = group.Group(
        0, 0, [0], NONE, **plain, **none, **ranks, with_row_constant=False,
        softmaxes=[attention.Softmax()],
    )  # fmt: skip
    of_keys, [shard] = fitting.encode(made)
    assert (attention.decode(shard | {"keys": of_keys}).largest_targets == listed).all()


def test_no_file_of_a_head_of_falcon_is_heavy(falcon):
    """The heads of the embedded model, on the passage of the first article."""
    sizes = []
    for layer, head in np.ndindex(8, 8):
        (shard, _), (of_keys, _) = attention_datasets(falcon, layer, head)
        assert (shard["schema"], of_keys["schema"]) == ("attention/4", "keys/1")
        both = [store.dumps(each).encode() for each in (shard, of_keys)]
        sizes.append(sum(len(gzip.compress(each, 6)) for each in both) / 1000)
    assert np.mean(sizes) <= 12
    assert max(sizes) <= 20


@pytest.fixture(scope="module")
def falcon():
    loaded = load_model("falcon-8x8")
    return measure_passage(loaded, tokenize(loaded, passage("the-lamp-on-the-hill").text).token_ids)


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("family", ["llama", "gpt2", "falcon"])
def test_however_short_a_passage_is_a_file_has_its_terms(family, length):
    measurement = measure_passage(families.loaded(family, seed=3), range(5, 5 + length))
    for layer in range(len(measurement.factors)):
        (shard, _), *of_keys = attention_datasets(measurement, layer, 1)
        if of_keys:
            shard = shard | {"keys": of_keys[0][0]}
        back = attention.decode(shard)
        assert list(back.terms) == [term.name for term in measurement.terms(layer, 1)]
        error = back.probability - measurement.probability(layer, 1)
        assert np.abs(error).max() <= rounding.PROBABILITY_ERROR


def test_a_rotation_of_no_known_kind_is_written_by_its_cells(monkeypatch):
    measurement = factored.measured("qwen2")
    monkeypatch.setattr(write, "found", lambda *_: None)
    for layer, head in np.ndindex(len(measurement.factors), 2):
        ((shard, share),) = attention_datasets(measurement, layer, head)
        assert share == 1
        back = attention.decode(store.check(shard, "test"))
        within_bounds(back, measurement.terms(layer, head))
        assert (back.largest_targets == measurement.largest_targets[layer, head]).all()
