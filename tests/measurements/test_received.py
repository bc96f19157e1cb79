"""What targets receive and what a filler takes, against loops in float64."""

import numpy as np
import pytest
import torch

from report.measurements.received import (
    Received,
    left_to_others,
    total_variation,
)
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


@pytest.mark.parametrize("name", plain.CASES)
def test_reductions_are_those_of_a_plain_loop(name):
    factors = plain.CASES[name]
    value = plain.drawer(3)(len(factors.key), factors.length, 5)
    wanted = [8, 2, 5]
    received = Received(factors.range(), factors.heads, wanted)
    streaming_attention(factors, value, received.add, rows=4)
    _, probability = plain.attention(factors)
    for reduction, expected in loops(probability, factors.range()).items():
        found = received.reductions()[reduction].numpy()
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=reduction)
    require_close(received.kept, probability[:, wanted], summed=1, dtype=torch.float32)


def test_total_variation_by_hand():
    one = torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.0, 0.0], [0.2, 0.2, 0.4], [0.0, 0.0, 0.0]])
    other = torch.tensor([[0.2, 0.2, 0.0], [0.0, 0.3, 0.0], [0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    found = total_variation(one, other)
    np.testing.assert_allclose(found, [0, 1, 0.25, 1], atol=1e-7)
    assert torch.equal(found, total_variation(other, one))


def test_lambda_is_what_the_filler_leaves_the_sink_included():
    probability = torch.tensor([[0.2, 0.3, 0.1, 0.3], [0.0, 0.0, 1.0, 0.0]])
    np.testing.assert_allclose(left_to_others(probability, [1, 2]), [0.6, 0.0], atol=1e-7)
