"""A file of cells gives back every probability and every term within the stated bounds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import attention, fitting, rounding
from report.datasets.formats.group import head_of_cells
from report.datasets.formats.visible import Visible
from report.errors import ReportError


def term(name, per, values):
    return SimpleNamespace(name=name, per=per, values=np.asarray(values, float))


def shard_of(terms, probability, targets, softmax=attention.Softmax(), where=(3, 5)):  # noqa: B008
    """The file of a head, checked against its schema."""
    count = np.ones(len(probability), int)
    made = head_of_cells(*where, terms, probability, count, targets, softmax)
    return store.check(fitting.encode_cells(made), "test")


def softmax_rows(score):
    """Plain loops: the probability of each target at or before the current token."""
    probability = np.zeros_like(score)
    for i in range(len(score)):
        weights = [np.exp(score[i, j] - score[i, : i + 1].max()) for j in range(i + 1)]
        probability[i, : i + 1] = np.array(weights) / sum(weights)
    return probability


def of_head(visible, seed=3):
    """A decoded head with random scores at the visible cells, and a sink."""
    rng, length = np.random.default_rng(seed), len(visible.first)
    score = np.where(visible.mask(), rng.normal(0, 2, (length, length)), -np.inf)
    sums = np.exp(score).sum(1, keepdims=True) + 0.5
    targets = np.argsort(-score, 1)[:, :11]
    targets = np.where(np.take_along_axis(visible.mask(), targets, 1), targets, -1)
    count = np.ones(length, int)
    return attention.DecodedAttention(
        0, 0, {}, score, np.exp(score) / sums, count, targets, visible, None, math.log(0.5)
    )


@pytest.mark.parametrize(
    "visible", [Visible.causal(17), Visible.causal(17, 4), Visible.full(17)], ids=str
)
def test_what_a_region_gives_is_a_sum_over_targets_and_a_mean_over_rows(visible):
    """In plain loops, and the top regions are the fewest that hold half, of those it sees."""
    head, firsts = of_head(visible), [0, 1, 4, 5, 11, 15, 16]
    found = attention.of_regions(head, firsts)
    spans = [range(a, b) for a, b in zip(firsts, [*firsts[1:], 17], strict=True)]
    for here in spans:
        given = [
            sum(sum(head.probability[q, k] for k in there) for q in here) / len(here)
            for there in spans
        ]
        seen = [any(visible.mask()[q, k] for q in here for k in there) for there in spans]
        ranked = sorted((-share, n) for n, share in enumerate(given) if seen[n])
        held = np.cumsum([-share for share, _ in ranked])
        marked = int(np.argmax(held >= 0.5)) + 1 if held[-1] >= 0.5 else len(ranked)
        for q in here:
            assert found.marker_count[q] == marked
            top = [n for n in found.largest_targets[q] if n >= 0]
            assert top == [firsts[n] for _, n in ranked]
            for n, there in enumerate(spans):
                assert found.probability[q, there] == pytest.approx(given[n], abs=1e-14)
                assert found.visible.mask()[q, there].tolist() == [seen[n]] * len(there)


def test_regions_of_single_tokens_are_the_tokens_in_every_bit():
    """Also where only some regions are of one token: what these give each other is the same."""
    head = of_head(Visible.causal(17))
    assert attention.of_regions(head, range(17)) is head
    found = attention.of_regions(head, [*range(15), 15])  # the last two are one
    assert (found.probability[:15, :15] == head.probability[:15, :15]).all()
    assert (found.visible.mask()[:15, :15] == head.visible.mask()[:15, :15]).all()


def head(length, spread, seed=0, slope=0.1):
    """Random terms of one head and their probabilities, computed apart from what writes them."""
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


def largest(probability, ranges):
    order = np.argsort(-np.where(ranges.mask(), probability, -1), axis=1, kind="stable")[:, :11]
    order = np.pad(order, ((0, 0), (0, 11 - order.shape[1])))
    return np.where(np.arange(11) < ranges.mask().sum(1, keepdims=True), order, -1)


def encoded(length, spread, **options):
    terms, probability = head(length, spread, **options)
    shard = shard_of(terms, probability, largest(probability, Visible.causal(length)))
    return shard, terms, probability


@pytest.mark.parametrize(
    ("length", "spread"), [(1, 0.3), (2, 40.0), (64, 0.0), (64, 10.0), (170, 2.0), (170, 40.0)]
)
def test_probabilities_are_within_the_bound_and_rows_sum_to_one(length, spread):
    shard, _, probability = encoded(length, spread, seed=length)
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    assert np.abs(decoded.probability.sum(1) - 1).max() < 1e-5
    assert (decoded.probability[np.triu_indices(length, 1)] == 0).all()
    assert (decoded.largest_targets == largest(probability, Visible.causal(length))).all()


RANGES = {
    "causal": Visible.causal(40),
    "window": Visible.causal(40, window=6),
    "chunks": Visible(np.arange(40) // 8 * 8, np.arange(40)),
    "full": Visible.full(40),
}


def any_head(ranges, softcap, sink, position, spread=2.0):
    """Every kind of term, and probabilities in plain loops."""
    rng, length = np.random.default_rng(1), len(ranges.first)
    content, rotary = rng.normal(0, spread, (2, length, length))
    bias, slope, constant = rng.normal(0, spread, (3, length))
    probability = np.zeros((length, length))
    for i in range(length):
        weight = {}
        for j in range(ranges.first[i], ranges.last[i] + 1):
            score = content[i, j] + bias[j] + constant[i]
            score += rotary[i, j] if position == "cell" else slope[j] - slope[i]
            weight[j] = math.exp(score if softcap is None else softcap * math.tanh(score / softcap))
        total = sum(weight.values()) + (0 if sink is None else math.exp(sink))
        for j, value in weight.items():
            probability[i, j] = value / total
    terms = [
        term("content", "cell", content * ranges.mask()),
        term("bias", "target", bias),
        term("position", position, rotary * ranges.mask() if position == "cell" else slope),
        term("row_constant", "current", constant),
    ]
    return terms, probability


@pytest.mark.parametrize("position", ["cell", "target_difference"])
@pytest.mark.parametrize(
    ("name", "softcap", "sink"),
    [("causal", None, None), ("window", 3.0, None), ("chunks", None, 2.5), ("full", 5.0, -1.0)],
)
def test_any_mask_cap_and_sink_come_back(name, softcap, sink, position):
    ranges = RANGES[name]
    terms, probability = any_head(ranges, softcap, sink, position)
    targets, softmax = largest(probability, ranges), attention.Softmax(ranges, softcap, sink)
    shard = shard_of(terms, probability, targets, softmax)
    assert shard.get("sink") == sink
    assert ("visible" in shard) == (name != "causal")
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    mask = ranges.mask()
    assert (decoded.probability[~mask] == 0).all()
    assert np.isneginf(decoded.score[~mask]).all()
    assert decoded.visible.as_json() == ranges.as_json()
    assert (decoded.largest_targets == targets).all()
    left = np.exp(sink - decoded.log_normalizer) if sink is not None else 0
    assert np.abs(decoded.probability.sum(1) + left - 1).max() < 1e-5
    rows, ranks = np.nonzero(targets >= 0)
    top = rows, targets[rows, ranks]
    for given in terms:
        error = np.abs(decoded.terms[given.name].values - given.values)
        if given.per != "cell":
            assert error.max() <= rounding.STEPS[given.name] / 2 + 1e-9
            continue
        beside = 1 + (given.name == "position")  # what it is beside content has the errors of both
        bound = rounding.ROTARY_CELL_ERROR if position == "cell" else rounding.CELL_ERROR
        assert error.max() <= beside * bound
        assert error[top].max() <= beside * rounding.TOP_ERROR + 1e-9
    assert (decoded.terms["content"].values[~mask] == 0).all()
    capped = decoded.score if softcap is None else softcap * np.tanh(decoded.score / softcap)
    assert np.allclose(decoded.capped[mask], capped[mask])


def test_a_model_that_tells_only_scores_has_one_term():
    terms, probability = head(50, 2.0)
    score = sum(attention.DecodedTerm(t.name, t.per, t.values).matrix() for t in terms)
    targets = largest(probability, Visible.causal(50))
    decoded = attention.decode(shard_of([term("score", "cell", score)], probability, targets))
    assert list(decoded.terms) == ["score"]
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    assert np.abs(decoded.terms["score"].values - score).max() <= rounding.CELL_ERROR


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


def test_many_errors_to_the_same_side_move_no_probability():
    """One row whose mass lies in many equal targets of 0.009, all rounded the same way."""
    length = 112
    content = np.zeros((length, length))
    content[-1, 1:] = 0.49 * rounding.NEAR_STEP
    probability = softmax_rows(content)
    targets = largest(probability, Visible.causal(length))
    shard = shard_of([term("content", "cell", content)], probability, targets)
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR


def test_probabilities_that_do_not_belong_to_the_scores_are_refused():
    terms, probability = head(10, 1.0)
    probability[5, :6] = probability[5, :6][::-1]
    with pytest.raises(ReportError, match=r"layer 3 head 5: the terms .* that is off by 0\.\d+"):
        shard_of(terms, probability, np.zeros((10, 11), int))


def test_a_probability_that_rounding_moves_too_far_is_refused(monkeypatch):
    monkeypatch.setattr(fitting, "PARTS_OF_BOUND", (0.5,))
    with pytest.raises(ReportError, match=r"layer 3 head 5: rounding moves a probability by"):
        encoded(170, 2.0)


@pytest.mark.parametrize("broken", [-3e7, np.nan])
def test_scores_of_no_working_model_are_refused_before_they_fill_the_memory(broken):
    terms, probability = head(10, 1.0)
    terms[0].values[7, 3] = broken
    with pytest.raises(ReportError, match=r"layer 3 head 5: the content term of a score is"):
        shard_of(terms, probability, np.zeros((10, 11), int))


def test_the_inputs_are_left_as_they_were():
    terms, probability = head(20, 1.0)
    before = [t.values.copy() for t in terms], probability.copy()
    shard_of(terms, probability, largest(probability, Visible.causal(20)))
    assert all((t.values == b).all() for t, b in zip(terms, before[0], strict=True))
    assert (probability == before[1]).all()


def of_scores(score):
    """The shard of a head of which nothing but its scores is known, and its probabilities."""
    probability = softmax_rows(score)
    targets = largest(probability, Visible.causal(len(score)))
    return shard_of([term("score", "cell", np.tril(score))], probability, targets), probability


@pytest.mark.parametrize("size", [-110_208, 65_504, 0.99 * rounding.LARGEST_SCORE])
@pytest.mark.parametrize("spread", [1, 30_000])
def test_scores_as_large_as_a_file_holds_keep_their_probabilities(size, spread):
    """A constant of all scores of pythia-70m, and scores that are far apart."""
    limit = abs(size)
    score = np.random.default_rng(0).normal(size, spread, (9, 9)).clip(-limit, limit)
    shard, probability = of_scores(score)
    decoded = attention.decode(shard)
    assert np.abs(decoded.probability - probability).max() <= rounding.PROBABILITY_ERROR
    seen = np.tril_indices(9)
    assert np.abs(decoded.score - score)[seen].max() <= rounding.CELL_ERROR


def test_a_score_beyond_what_a_file_holds_names_layer_head_and_term():
    with pytest.raises(ReportError, match=r"layer 3 head 5: a score is .* hold 268,435 at"):
        of_scores(np.full((3, 3), 1.01 * rounding.LARGEST_SCORE))


def test_a_window_cuts_off_what_is_long_past():
    visible = Visible.causal(4, window=2)
    assert visible.mask().tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, True, True, False],
        [False, False, True, True],
    ]
    assert (visible.count, visible.window) == (7, 2)
    assert visible.backward
    assert not visible.is_causal


def test_the_place_of_a_cell_follows_from_the_start_of_its_row():
    visible = Visible.causal(5, window=3)
    rows, targets = np.nonzero(visible.mask())
    assert (visible.starts[rows] + targets).tolist() == list(range(visible.count))


def test_causal_and_full_attention():
    causal, full = Visible.causal(3), Visible.full(3)
    assert causal.mask().tolist() == np.tril(np.ones((3, 3), bool)).tolist()
    assert causal.is_causal
    assert causal.window is None
    assert full.mask().all()
    assert not full.backward
    assert Visible.causal(3, window=3).is_causal  # a window that cuts nothing off


def test_ranges_come_from_any_object_or_are_causal():
    given = SimpleNamespace(first=[0, 0, 1], last=[0, 1, 2])
    assert Visible.of(given, 3).first.tolist() == [0, 0, 1]
    assert Visible.of(None, 3).is_causal
    assert Visible.of(given, 3).as_json() == {"first": [0, 0, 1], "last": [0, 1, 2]}
