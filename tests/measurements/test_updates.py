"""Length and direction of updates, against the updates themselves."""

import pytest
import torch

from report.measurements.updates import HeadUpdate, triangle
from tests.close import require_close
from tests.measurements import plain


def prepared(weight, heads, gain=None):
    """The `HeadUpdate` of an output projection, float [hidden_size, heads * value_dim]."""
    return HeadUpdate(weight, triangle(weight, heads, gain), gain)


def test_one_head_by_hand():
    """W maps (1, 0) to (3, 4, 0): length 5; the hidden state (0, 2, 0) has length 2."""
    weight = torch.tensor([[3.0, 0.0], [4.0, 0.0], [0.0, 1.0]])
    update = prepared(weight, 1)
    magnitude, alignment = update.magnitude_and_alignment(
        torch.tensor([[[1.0, 0.0]]]), torch.tensor([[0.0, 2.0, 0.0]])
    )
    torch.testing.assert_close(magnitude, torch.tensor([[2.5]]))
    torch.testing.assert_close(alignment, torch.tensor([[0.8]]))


def test_many_heads_equal_the_updates_written_out():
    generator = torch.Generator().manual_seed(2)
    heads, length, size, hidden = 3, 6, 4, 12
    weight = torch.randn(hidden, heads * size, generator=generator, dtype=torch.float64)
    context = torch.randn(heads, length, size, generator=generator, dtype=torch.float64)
    hidden_state = torch.randn(length, hidden, generator=generator, dtype=torch.float64)
    before = weight.clone(), context.clone(), hidden_state.clone()
    magnitude, alignment = prepared(weight, heads).magnitude_and_alignment(context, hidden_state)
    for head in range(heads):
        for token in range(length):
            update = weight[:, head * size : (head + 1) * size] @ context[head, token]
            expected = update.norm() / hidden_state[token].norm()
            torch.testing.assert_close(magnitude[head, token], expected)
            expected = torch.cosine_similarity(update, hidden_state[token], dim=0)
            torch.testing.assert_close(alignment[head, token], expected)
    for tensor, copy in zip((weight, context, hidden_state), before, strict=True):
        assert torch.equal(tensor, copy)


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


@pytest.mark.parametrize("scale", [2.5, torch.tensor([0.5, 1.0, 2.0, 3.0])])
def test_effective_updates_equal_the_updates_written_out(scale):
    draw = plain.drawer(3)
    heads, length, size, hidden = 2, 4, 3, 10
    weight, context = draw(hidden, heads * size), draw(heads, length, size)
    hidden_state, gain = draw(length, hidden), draw(hidden)
    update = prepared(weight, heads, gain)
    magnitude, alignment = update.magnitude_and_alignment(context, hidden_state, scale)
    for head in range(heads):
        for token in range(length):
            factor = scale if isinstance(scale, float) else scale[token]
            raw = weight[:, head * size : (head + 1) * size] @ context[head, token]
            written = factor * gain * raw
            expected = written.norm() / hidden_state[token].norm()
            torch.testing.assert_close(magnitude[head, token], expected)
            expected = torch.cosine_similarity(written, hidden_state[token], dim=0)
            torch.testing.assert_close(alignment[head, token], expected)


def test_a_norm_is_linear_in_the_updates_once_its_scale_is_known():
    """What effective updates rest on: what arrives of all heads sums to the norm's output."""
    norm = torch.nn.RMSNorm(12, eps=1e-6, dtype=torch.float64)
    draw = plain.drawer(4)
    norm.weight.data = draw(12)
    parts = draw(5, 7, 12)  # heads, tokens, hidden
    total = parts.sum(0)
    scale = 1 / (total.square().mean(-1) + 1e-6).sqrt()
    arriving = scale[:, None] * norm.weight * parts
    torch.testing.assert_close(arriving.sum(0), norm(total))
