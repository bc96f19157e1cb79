"""A shard gives back every probability within the stated bound, and says how."""

import gzip
import math
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import attention, rounding
from report.datasets.formats.visible import Visible
from report.errors import ReportError


def term(name, per, values, pair=None):
    return SimpleNamespace(name=name, per=per, values=np.asarray(values, float), pair=pair)


def softmax_rows(score):
    """Plain loops: the probability of each target at or before the current token."""
    probability = np.zeros_like(score)
    for i in range(len(score)):
        weights = [np.exp(score[i, j] - score[i, : i + 1].max()) for j in range(i + 1)]
        probability[i, : i + 1] = np.array(weights) / sum(weights)
    return probability


def head(length, spread, seed=0, slope=0.1):
    """Random terms of one head and their probabilities, computed apart from `encode`."""
    rng = np.random.default_rng(seed)
    content = np.tril(rng.normal(0, spread, (length, length)))
    bias = rng.normal(0, spread, length)
    position = slope * np.arange(length)
    score = np.array(
        [
            [content[i, j] + bias[j] + position[j] - position[i] for j in range(length)]
            for i in range(length)
        ]
    )
    terms = [
        term("content", "cell", content),
        term("bias", "target", bias),
        term("position", "target_difference", position),
    ]
    return terms, softmax_rows(score)


def encoded(length, spread, **options):
    terms, probability = head(length, spread, **options)
    order = np.argsort(-probability, axis=1, kind="stable")[:, :11]
    targets = np.where(order <= np.arange(length)[:, None], order, -1)
    padded = np.full((length, 11), -1)
    padded[:, : targets.shape[1]] = targets
    shard = attention.encode(3, 5, terms, probability, np.ones(length, int), padded)
    return shard, terms, probability


@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0, 10.0, 40.0])
@pytest.mark.parametrize("length", [1, 2, 64, 170])
def test_probabilities_are_within_the_bound_and_rows_sum_to_one(length, spread):
    shard, _, probability = encoded(length, spread, seed=length)
    store.check(shard, "test")
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    assert np.abs(decoded.probability.sum(1) - 1).max() < 1e-5
    assert (decoded.probability[np.triu_indices(length, 1)] == 0).all()


def test_terms_come_back_within_half_a_step_where_probability_matters():
    shard, terms, probability = encoded(120, 2.0)
    decoded = attention.decode(shard)
    for name, tolerance in (("bias", 0.0005), ("position", 0.00005)):
        measured = next(t for t in terms if t.name == name).values
        assert np.abs(decoded.terms[name].values - measured).max() <= tolerance + 1e-9
    error = np.abs(decoded.terms["content"].values - terms[0].values)
    slack = 0.0005 + 2 * 0.00005 + 1e-9  # content takes up the rounding of bias and position
    lower = np.tril(np.ones((120, 120), bool))
    for probable, multiple in rounding.COARSENING:
        half = rounding.STEPS["content"] * multiple / 2
        assert error[lower & (probability >= probable)].max() <= half + slack


def test_the_largest_targets_are_kept_finely_even_where_they_get_little():
    terms, probability = head(60, 12.0)
    assert (probability < rounding.COARSENING[-2][0]).mean() > 0.4
    everything = np.tile(np.arange(60), (60, 1))
    targets = np.where(everything <= np.arange(60)[:, None], everything, -1)
    shard = attention.encode(0, 0, terms, probability, np.ones(60, int), targets)
    shard["largest_targets"] = targets[:, :11].ravel().tolist()
    error = np.abs(attention.decode(shard).terms["content"].values - terms[0].values)
    half = rounding.STEPS["content"] * rounding.TARGET_MULTIPLE / 2
    assert error.max() <= half + 0.0005 + 2 * 0.00005 + 1e-9


RANGES = {
    "causal": Visible.causal(40),
    "window": Visible.causal(40, window=6),
    "chunks": Visible(np.arange(40) // 8 * 8, np.arange(40)),
    "full": Visible.full(40),
}


def any_head(ranges, softcap=None, sink=None, seed=1, spread=2.0):
    """Every kind of term, and probabilities in plain loops, apart from `encode`."""
    rng, length = np.random.default_rng(seed), len(ranges.first)
    content, position = rng.normal(0, spread, (2, length, length))
    bias, slope, constant = rng.normal(0, spread, (3, length))
    probability = np.zeros((length, length))
    for i in range(length):
        weight = {}
        for j in range(ranges.first[i], ranges.last[i] + 1):
            score = content[i, j] + position[i, j] + bias[j] + slope[j] - slope[i] + constant[i]
            weight[j] = math.exp(score if softcap is None else softcap * math.tanh(score / softcap))
        total = sum(weight.values()) + (0 if sink is None else math.exp(sink))
        for j, value in weight.items():
            probability[i, j] = value / total
    terms = [
        term("content", "cell", content * ranges.mask()),
        term("bias", "target", bias),
        term("position", "cell", position * ranges.mask()),
        term("slope", "target_difference", slope),
        term("row_constant", "current", constant),
    ]
    return terms, probability


def largest(probability, ranges):
    order = np.argsort(-np.where(ranges.mask(), probability, -1), axis=1, kind="stable")[:, :11]
    return np.where(np.arange(11) < ranges.mask().sum(1, keepdims=True), order, -1)


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize(("softcap", "sink"), [(None, None), (3.0, None), (None, 2.5), (5.0, -1.0)])
def test_any_mask_cap_and_sink_come_back(name, softcap, sink, monkeypatch):
    monkeypatch.setitem(rounding.STEPS, "slope", 0.001)  # a second term by targets
    ranges = RANGES[name]
    terms, probability = any_head(ranges, softcap, sink)
    shard = attention.encode(
        3,
        5,
        terms,
        probability,
        np.ones(40, int),
        largest(probability, ranges),
        attention.Softmax(ranges, softcap, sink),
    )
    assert store.check(shard, "test").get("sink") == sink
    assert ("visible" in shard) == (name != "causal")
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    mask = ranges.mask()
    assert (decoded.probability[~mask] == 0).all()
    assert np.isneginf(decoded.score[~mask]).all()
    assert decoded.visible.as_json() == ranges.as_json()
    left = np.exp(sink - np.array(shard["log_normalizer"])) if sink is not None else 0
    assert np.abs(decoded.probability.sum(1) + left - 1).max() < 1e-5
    for given in terms:
        values, kept = given.values, decoded.terms[given.name].values
        assert np.abs(kept - values).max() <= (0.15 if given.per == "cell" else 0.0005) + 1e-9
    assert (decoded.terms["content"].values[~mask] == 0).all()
    capped = decoded.score if softcap is None else softcap * np.tanh(decoded.score / softcap)
    assert np.allclose(decoded.capped[mask], capped[mask])


def test_a_second_term_of_the_cells_is_as_exact_as_stated():
    ranges = Visible.causal(90)
    terms, _ = any_head(ranges, spread=1.5)
    one = [t for t in terms if t.name in ("content", "position")]
    score = np.where(ranges.mask(), one[0].values + one[1].values, -1e9)
    probability = softmax_rows(score)
    targets = largest(probability, ranges)
    shard = attention.encode(0, 0, one, probability, np.ones(90, int), targets)
    error = np.abs(attention.decode(shard).terms["position"].values - one[1].values)
    assert error.max() <= 100 * rounding.CELL_STEP / 2 + 1e-9
    shown = np.arange(90)[:, None].repeat(11, 1)[targets >= 0], targets[targets >= 0]
    assert error[shown].max() <= 10 * rounding.CELL_STEP / 2 + 1e-9
    assert error[probability >= 0.01].max() <= 10 * rounding.CELL_STEP / 2 + 1e-9


def products(length, spread=2.0, width=6):
    """A rotary head, whose content and position are products: its shard, terms, probabilities."""
    rng = np.random.default_rng(length)
    pairs = rng.normal(0, (spread / width**0.5) ** 0.5, (2, 2, length, width))
    lower = np.tril(np.ones((length, length), bool))
    terms = [
        term(name, "cell", (query @ key.T) * lower, (query, key))
        for name, (query, key) in zip(("content", "position"), pairs, strict=True)
    ]
    probability = softmax_rows(terms[0].values + terms[1].values)
    targets = largest(probability, Visible.causal(length))
    shard = attention.encode(3, 5, terms, probability, np.ones(length, int), targets)
    return shard, terms, probability


@pytest.mark.parametrize("spread", [0.5, 4.0, 20.0])
def test_terms_told_as_products_are_as_exact_as_cells(spread):
    shard, terms, probability = products(120, spread)
    assert all("product" in term for term in store.check(shard, "test")["terms"].values())
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    lower = np.tril(np.ones((120, 120), bool))
    finest = {"content": rounding.STEPS["content"], "position": rounding.CELL_STEP}
    slack = {"content": 50 * rounding.CELL_STEP, "position": 0}  # content takes up the others'
    for given in terms:
        error = np.abs(decoded.terms[given.name].values - given.values)
        assert error.max() <= 100 * finest[given.name] / 2 + slack[given.name] + 1e-9
    error = np.abs(decoded.score - terms[0].values - terms[1].values)[lower & (probability >= 0.2)]
    assert error.max() <= finest["content"] / 2 + 1e-9


def test_products_take_less_than_cells():
    shard, terms, probability = products(170, 6.0)
    for each in terms:
        each.pair = None
    targets = np.reshape(shard["largest_targets"], (170, 11))
    cells = attention.encode(3, 5, terms, probability, np.ones(170, int), targets)
    assert not any("product" in term for term in cells["terms"].values())
    sizes = [len(gzip.compress(store.dumps(each).encode(), 6)) for each in (shard, cells)]
    assert sizes[0] < 0.6 * sizes[1]


def test_a_model_that_tells_only_scores_has_one_term():
    terms, probability = head(50, 2.0)
    score = sum(attention.DecodedTerm(t.name, t.per, t.values).matrix() for t in terms)
    whole = [term("score", "cell", score)]
    shard = attention.encode(0, 0, whole, probability, np.ones(50, int), np.zeros((50, 11), int))
    decoded = attention.decode(store.check(shard, "test"))
    assert list(decoded.terms) == ["score"]
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR


@pytest.mark.parametrize(("rotary", "kilobytes"), [(False, 27), (True, 40)])
def test_a_shard_of_170_tokens_is_small(rotary, kilobytes):
    rng = np.random.default_rng(4)
    content, position = np.tril(rng.normal(0, 2.5, (2, 170, 170)))
    terms = [term("content", "cell", content), term("position", "cell", position)]
    if not rotary:
        terms[1:] = [
            term("bias", "target", rng.normal(0, 1, 170)),
            term("position", "target_difference", 0.1 * np.arange(170)),
        ]
    total = sum(attention.DecodedTerm(t.name, t.per, t.values).matrix() for t in terms)
    probability = softmax_rows(total)
    targets = largest(probability, Visible.causal(170))
    shard = attention.encode(0, 0, terms, probability, np.ones(170, int), targets)
    assert len(gzip.compress(store.dumps(shard).encode(), 6)) <= 1024 * kilobytes


def test_the_score_is_the_sum_of_its_terms():
    decoded = attention.decode(encoded(30, 1.0)[0])
    total = sum(t.matrix() for t in decoded.terms.values())
    lower = np.tril_indices(30)
    assert np.allclose(decoded.score[lower], total[lower])
    assert np.isneginf(decoded.score[np.triu_indices(30, 1)]).all()


def test_a_target_difference_is_the_targets_value_minus_the_current_tokens():
    values = np.array([0.0, 1.0, 3.0])
    term = attention.DecodedTerm("position", "target_difference", values)
    assert term.matrix().tolist() == [[0, 0, 0], [-1, 0, 0], [-3, -2, 0]]
    term = attention.DecodedTerm("position", "target_difference", values, Visible.full(3))
    assert term.matrix().tolist() == [[0, 1, 3], [-1, 0, 2], [-3, -2, 0]]


def test_a_constant_of_the_row_is_the_current_tokens():
    term = attention.DecodedTerm("row_constant", "current", np.array([4.0, 5.0]))
    assert term.matrix().tolist() == [[4, 0], [5, 5]]


def test_coarse_rounding_gives_way_where_it_would_cost_too_much():
    # One row whose mass lies in many equal targets of probability 0.009, all rounded the same way.
    length = 112
    content = np.zeros((length, length))
    content[-1] = 0.0049
    content[-1, 0] = 0.0
    terms = [term("content", "cell", content)]
    score = np.where(np.tril(np.ones((length, length), bool)), content, -np.inf)
    probability = softmax_rows(np.where(np.isinf(score), -1e9, score))
    targets = np.zeros((length, 11), int)
    shard = attention.encode(0, 0, terms, probability, np.ones(length, int), targets)
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR


def test_probabilities_that_do_not_belong_to_the_scores_are_refused():
    terms, probability = head(10, 1.0)
    probability[5, :6] = probability[5, :6][::-1]
    with pytest.raises(ReportError, match=r"layer 3 head 5: rounding moves a probability by"):
        attention.encode(3, 5, terms, probability, np.ones(10, int), np.zeros((10, 11), int))


@pytest.mark.parametrize("broken", [-3e7, np.nan])
def test_scores_of_no_working_model_are_refused_before_they_fill_the_memory(broken):
    terms, probability = head(10, 1.0)
    terms[0].values[7, 3] = broken
    with pytest.raises(ReportError, match=r"layer 3 head 5: the content term of a score is"):
        attention.encode(3, 5, terms, probability, np.ones(10, int), np.zeros((10, 11), int))


def test_a_shortened_column_is_refused_by_name():
    shard = encoded(12, 1.0)[0]
    shard["terms"]["bias"]["values"].pop()
    with pytest.raises(ReportError, match=r"layer 3 head 5: term 'bias' has 11 values, not 12"):
        attention.decode(shard)


def test_a_cut_off_text_is_refused_by_name():
    shard = encoded(12, 1.0)[0]
    shard["terms"]["content"]["packed"] += "?"
    with pytest.raises(ReportError, match=r"term 'content' has 79 values, not 78"):
        attention.decode(shard)


@pytest.mark.parametrize("part", ["coarse", "fine", "skipped", "missing"])
def test_a_product_of_other_tokens_is_refused_by_name(part):
    shard = products(120)[0]
    shard["terms"]["content"]["product"][part] += "?"
    with pytest.raises(ReportError, match="term 'content' does not have 120 queries and keys"):
        attention.decode(shard)


@pytest.mark.parametrize("text", ["c?", "? ?", '?"', "?\\"])
def test_the_schema_knows_the_characters(text):
    shard = encoded(1, 1.0)[0]
    shard["terms"]["content"]["packed"] = text
    with pytest.raises(ReportError, match="does not satisfy schema attention/3"):
        store.check(shard, "test")


def test_the_inputs_are_left_as_they_were():
    terms, probability = head(20, 1.0)
    before = [t.values.copy() for t in terms], probability.copy()
    attention.encode(0, 0, terms, probability, np.ones(20, int), np.zeros((20, 11), int))
    assert all((t.values == b).all() for t, b in zip(terms, before[0], strict=True))
    assert (probability == before[1]).all()


def of_scores(score):
    """The shard of a head of which nothing but its scores is known, and its probabilities."""
    probability = softmax_rows(score)
    rows = np.arange(len(score))
    targets = np.where(rows[:11] <= rows[:, None], rows[:11], -1)
    terms = [term("score", "cell", np.tril(score))]
    targets = np.pad(targets, ((0, 0), (0, 11 - targets.shape[1])), constant_values=-1)
    return attention.encode(
        0, 0, terms, probability, np.ones(len(score), int), targets
    ), probability


@pytest.mark.parametrize("size", [-110_208, 65_504, 0.99 * rounding.LARGEST_SCORE])
@pytest.mark.parametrize("spread", [1, 30_000])
def test_scores_as_large_as_a_file_holds_keep_their_probabilities(size, spread):
    """A constant of all scores of pythia-70m, and scores that are far apart."""
    limit = abs(size)
    score = np.random.default_rng(0).normal(size, spread, (9, 9)).clip(-limit, limit)
    shard, probability = of_scores(score)
    store.check(shard, "test")
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    seen = np.tril_indices(9)
    assert np.abs(decoded.score - score)[seen].max() <= 50 * rounding.STEPS["score"] + 1e-9


def test_a_score_beyond_what_a_file_holds_names_layer_head_and_term():
    with pytest.raises(ReportError, match=r"layer 0 head 0: the score term .* hold 268,435 at"):
        of_scores(np.full((3, 3), 1.01 * rounding.LARGEST_SCORE))
