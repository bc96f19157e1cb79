"""Length and direction of updates, against the updates themselves."""

import pytest
import torch

from report.measurements.updates import HeadUpdate, triangle
from tests.close import require_close
from tests.measurements import plain


def prepared(weight, heads, gain=None):
    """The `HeadUpdate` of an output projection, float [hidden_size, heads * value_dim]."""
    return HeadUpdate(weight, triangle(weight, heads, gain), gain)


@pytest.mark.parametrize("hidden", [511, 512, 513, 1200])
def test_a_hidden_state_longer_than_a_piece_gives_the_same(hidden):
    draw = plain.drawer(6)
    weight, context, hidden_state = draw(hidden, 6), draw(2, 3, 3), draw(3, hidden)
    _, alignment = prepared(weight, 2).magnitude_and_alignment(context, hidden_state)
    for head in range(2):
        update = context[head] @ weight[:, 3 * head : 3 * head + 3].T
        expected = torch.cosine_similarity(update, hidden_state, dim=-1)
        torch.testing.assert_close(alignment[head], expected)


def test_a_head_whose_slice_lacks_full_rank_is_measured():
    weight = torch.ones(6, 4)  # rank 1
    magnitude, alignment = prepared(weight, 2).magnitude_and_alignment(
        torch.ones(2, 1, 2), torch.ones(1, 6)
    )
    torch.testing.assert_close(magnitude, torch.full((2, 1), 2.0))
    torch.testing.assert_close(alignment, torch.ones(2, 1))


def test_an_update_of_length_zero_has_alignment_zero():
    magnitude, alignment = prepared(torch.eye(4), 2).magnitude_and_alignment(
        torch.zeros(2, 1, 2), torch.ones(1, 4)
    )
    assert magnitude.tolist() == alignment.tolist() == [[0.0], [0.0]]


def test_alignment_never_leaves_its_range():
    weight = torch.eye(8) * 3e-4
    context = torch.rand(1, 500, 8, generator=torch.Generator().manual_seed(1))
    _, alignment = prepared(weight, 1).magnitude_and_alignment(context, context[0])
    assert alignment.max() <= 1
    require_close(alignment, torch.ones(1, 500), summed=3 * 8)  # a product and two lengths


@pytest.mark.parametrize(
    ("scale", "gain"),
    [(1.0, None), (2.5, plain.drawer(5)(10)), (torch.tensor([0.5, 1.0, 2.0, 3.0]), None)],
)
def test_many_heads_equal_the_updates_written_out(scale, gain):
    draw = plain.drawer(3)
    heads, length, size, hidden = 2, 4, 3, 10
    weight, context = draw(hidden, heads * size), draw(heads, length, size)
    hidden_state = draw(length, hidden)
    given = [weight, context, hidden_state]
    before = [tensor.clone() for tensor in given]
    update = prepared(weight, heads, gain)
    magnitude, alignment = update.magnitude_and_alignment(context, hidden_state, scale)
    assert all(torch.equal(tensor, other) for tensor, other in zip(given, before, strict=True))
    for head in range(heads):
        for token in range(length):
            factor = scale if isinstance(scale, float) else scale[token]
            raw = weight[:, head * size : (head + 1) * size] @ context[head, token]
            written = factor * (1 if gain is None else gain) * raw
            expected = written.norm() / hidden_state[token].norm()
            torch.testing.assert_close(magnitude[head, token], expected)
            expected = torch.cosine_similarity(written, hidden_state[token], dim=0)
            torch.testing.assert_close(alignment[head, token], expected)
