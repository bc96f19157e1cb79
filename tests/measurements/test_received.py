"""What targets receive and what a filler takes, against loops in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors
from report.measurements.received import (
    Received,
    affine_error,
    left_to_others,
    seen_by,
    total_variation,
)
from report.measurements.visible import Visible
from report.models.attention.kernel import streaming_attention
from tests.close import require_close
from tests.measurements import plain


def loops(probability, visible):
    """The three reductions over current tokens, one target at a time."""
    heads, length, _ = probability.shape
    found = {name: np.zeros((heads, length)) for name in ("mean", "last", "all")}
    for head in range(heads):
        for j in range(length):
            column = [float(probability[head, i, j]) for i in range(length)]
            seen = [column[i] for i in range(length) if visible.first[i] <= j <= visible.last[i]]
            found["mean"][head, j] = sum(seen) / len(seen)
            found["last"][head, j] = column[-1]
            found["all"][head, j] = sum(column) / length
    return found


@pytest.mark.parametrize("rows", [1, 4, 64])
@pytest.mark.parametrize("name", plain.CASES)
def test_reductions_are_those_of_a_plain_loop(name, rows):
    factors = plain.CASES[name]
    value = plain.drawer(3)(len(factors.key), factors.length, 5)
    wanted = [8, 2, 5]
    received = Received(factors.range(), factors.heads, wanted)
    streaming_attention(factors, value, received.add, rows=rows)
    _, probability = plain.attention(factors)
    for reduction, expected in loops(probability, factors.range()).items():
        found = received.reductions()[reduction].numpy()
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=reduction)
    require_close(received.kept, probability[:, wanted], summed=1, dtype=torch.float32)


@pytest.mark.parametrize(
    "visible",
    [Visible.causal(7), Visible.causal(7, window=3), Visible.full(7), Visible.causal(1)],
)
def test_how_many_see_a_target(visible):
    assert seen_by(visible).tolist() == visible.mask().sum(0).tolist()


def test_total_variation_by_hand():
    one = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.0, 0.0], [0.2, 0.2, 0.4], [0.0, 0.0, 0.0]])
    other = torch.tensor([[0.2, 0.2, 0.0], [0.0, 0.3, 0.0], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    found = total_variation(one, other)
    np.testing.assert_allclose(found, [0, 1, 0.25, 1], atol=1e-7)
    assert torch.equal(found, total_variation(other, one))


def test_lambda_is_what_the_filler_leaves_the_sink_included():
    probability = torch.tensor([[0.2, 0.3, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(left_to_others(probability, [1, 2]), [0.6, 0.0], atol=1e-7)


LENGTH, MORE = plain.LENGTH, 6
SLOPES = torch.arange(1, plain.HEADS + 1, dtype=torch.float64)[:, None] / 10


def no_positions(query, key):
    return Factors(query, key, None, None, None, 0.4)


def sink(query, key):
    return replace(no_positions(query, key), sink=plain.drawer(5)(plain.HEADS))


def softcap(query, key):
    return replace(no_positions(query, key), softcap=1.5)


def alibi(query, key):
    return replace(no_positions(query, key), position=SLOPES * torch.arange(query.shape[1]))


def rotation(query, key):
    return no_positions(plain.rotated(query), plain.rotated(key))


class Changed:
    """Attention of nine tokens without and with six more, which stand before token `at`."""

    def __init__(self, positions, at):
        old = plain.drawer(1)
        query, key, value = old(4, LENGTH, 6), old(2, LENGTH, 6), old(2, LENGTH, 5)
        self.old, self.old_context = self._attention(positions, query, key, value)
        new = plain.drawer(2)
        more = [
            torch.cat([each[:, :at], new(len(each), MORE, each.shape[2]), each[:, at:]], 1)
            for each in (query, key, value)
        ]
        self.new, self.context = self._attention(positions, *more)
        self.filler = list(range(at, at + MORE))
        self.kept = [*range(at), *range(at + MORE, LENGTH + MORE)]  # old tokens, in order
        self.rows = range(at, LENGTH)
        self.value = more[2]

    def _attention(self, positions, query, key, value):
        probability = decomposition.probability(positions(query, key))
        return probability, probability @ value.repeat_interleave(2, 0)

    def error(self):
        """The affine error, [head, old row after the filler]."""
        left = left_to_others(self.new, self.filler)[:, self.kept]
        value = self.value.repeat_interleave(2, 0)[:, self.filler]
        from_filler = (self.new[..., self.filler] @ value)[:, self.kept]
        context = self.context[:, self.kept]
        return affine_error(context, self.old_context, left, from_filler)[:, self.rows]

    def variation(self, targets):
        """Total variation of the pattern over some of the old targets, [head, row]."""
        targets = list(targets)
        new = self.new[:, self.kept][..., [self.kept[target] for target in targets]]
        return total_variation(self.old[..., targets], new)[:, self.rows]


@pytest.mark.parametrize("at", [0, 4, 8])
@pytest.mark.parametrize("positions", [no_positions, sink, softcap])
def test_the_affine_reading_is_exact_without_positions(positions, at):
    changed = Changed(positions, at)
    assert left_to_others(changed.new, changed.filler)[:, -1].max() < 0.95
    assert changed.error().max() < 1e-12
    assert changed.variation(range(LENGTH)).max() < 1e-12


@pytest.mark.parametrize("positions", [alibi, rotation])
def test_it_is_exact_where_distances_count_and_the_filler_comes_first(positions):
    changed = Changed(positions, 0)
    assert changed.error().max() < 1e-12
    assert changed.variation(range(LENGTH)).max() < 1e-12


@pytest.mark.parametrize("positions", [alibi, rotation])
def test_with_the_filler_in_the_middle_targets_on_this_side_keep_their_pattern(positions):
    changed = Changed(positions, 4)
    assert changed.variation(range(4, LENGTH)).max() < 1e-12
    assert changed.variation(range(LENGTH)).max() > 0.01
    assert changed.error().max() > 0.01


def test_alibi_takes_one_factor_from_all_targets_beyond_the_filler():
    """Such a target is six tokens further away: e^(-6 slope) of its odds are left."""
    changed = Changed(alibi, 4)
    assert changed.variation(range(4)).max() < 1e-12
    new = changed.new[:, changed.kept][..., changed.kept]

    def odds(probability):
        return (probability[..., :4].sum(-1) / probability[..., 4:].sum(-1))[:, 4:]

    np.testing.assert_allclose(odds(new), odds(changed.old) * torch.exp(-MORE * SLOPES), rtol=1e-12)


def test_a_rotation_turns_the_scores_of_targets_beyond_the_filler():
    assert Changed(rotation, 4).variation(range(4)).max() > 0.01
