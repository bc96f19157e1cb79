"""The streaming kernel against attention as torch computes it."""

import pytest
import torch

from report.errors import ReportError
from report.measurements.decomposition import Factors
from report.models.kernel import streaming_attention

HEADS, LENGTH, SIZE = 3, 70, 8


def random_layer(seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    zero = torch.zeros(HEADS, SIZE, dtype=dtype)
    query, key, value = (2 * draw(HEADS, LENGTH, SIZE) for _ in range(3))
    return Factors(query, key, zero, zero, draw(HEADS, LENGTH), 0.35), value


@pytest.mark.parametrize("block", [1, 16, 64, 70, 200])
def test_context_and_probabilities_equal_attention_of_torch(block):
    factors, value = random_layer()
    probability = torch.zeros(HEADS, LENGTH, LENGTH, dtype=torch.float64)

    def observe(start, _, of_block):
        rows, keys = of_block.shape[1:]
        assert keys == start + rows
        probability[:, start : start + rows, :keys] = of_block

    context = streaming_attention(factors, value, observe, block=block)
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    mask = factors.position[:, None, :].expand(HEADS, LENGTH, LENGTH)
    expected = torch.nn.functional.scaled_dot_product_attention(
        factors.query,
        factors.key,
        value,
        attn_mask=mask.masked_fill(later, -torch.inf),
        scale=factors.scale,
    )
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(probability @ value, expected)
    assert not probability[:, later].any()


def test_scores_below_any_fixed_mask_value_are_still_ordered():
    """Where every score is far below zero, a later token must not win through the mask."""
    factors, value = random_layer(dtype=torch.float32)
    shifted = Factors(
        factors.query,
        factors.key,
        factors.query_bias,
        factors.key_bias,
        factors.position - 1e6,
        factors.scale,
    )
    seen = []
    streaming_attention(shifted, value, lambda *block: seen.append(block))
    _, _, probability = seen[0]
    assert not probability[:, torch.ones(64, 64, dtype=torch.bool).triu(1)].any()
    torch.testing.assert_close(probability.sum(-1), torch.ones(HEADS, 64))


def test_inputs_are_unchanged():
    factors, value = random_layer()
    again, same_value = random_layer()
    streaming_attention(factors, value, lambda *_: None)
    assert torch.equal(value, same_value)
    assert torch.equal(factors.query, again.query)
    assert torch.equal(factors.position, again.position)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("heads", [[1], [0, 2]])
def test_not_a_number_names_the_first_head_and_counts_the_others(bad, heads):
    factors, value = random_layer()
    factors.query[heads, 66, 3] = bad
    others = r" \(and 1 more heads\)" if len(heads) > 1 else ""
    with pytest.raises(
        ReportError, match=f"layer 5, head {heads[0]}{others}: the attention score is NaN"
    ):
        streaming_attention(factors, value, lambda *_: None, layer=5)
