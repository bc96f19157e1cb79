"""Attention computed block by block of rows, so that every score is seen and none is kept."""

import torch

from report.errors import ReportError

BLOCK = 64
"""Rows at a time; 32 to 64 are fastest, and fit the cache at 2048 tokens."""


def streaming_attention(factors, value, observe, layer=0, block=BLOCK):
    """Causal attention of one layer; every block of rows is shown to `observe` on the way.

    factors: Factors (query, key [heads, T, head_dim], position [heads, T])
    value: float [heads, T, head_dim]
    observe: called with (start, score, probability), both [heads, rows, keys]; row r is current
        token start + r, keys end with the block; score is the dtype's minimum and probability 0
        at later targets. The tensors are the kernel's own and must not be changed.
    layer: only for the error message
    returns: context, float [heads, T, head_dim]
    raises: ReportError naming layer and head where a score, probability or context is NaN or
        infinite
    """
    query, key = factors.query, factors.key.transpose(1, 2)  # [heads, T, d], [heads, d, T]
    heads, length, _ = query.shape
    context = torch.empty_like(value)
    total = query.new_zeros(heads)
    later = torch.ones(block, block, dtype=torch.bool, device=query.device).triu(1)
    lowest = torch.finfo(query.dtype).min
    for start in range(0, length, block):
        end = min(start + block, length)
        rows = end - start
        score = torch.baddbmm(
            factors.position[:, None, :end].expand(heads, rows, end),
            query[:, start:end],
            key[:, :, :end],
            alpha=factors.scale,
        )
        total += score.sum((1, 2))  # finite only if every score is
        score[:, :, start:].masked_fill_(later[:rows, :rows], lowest)
        probability = torch.softmax(score, dim=-1)
        context[:, start:end] = probability @ value[:, :end]
        observe(start, score, probability)
    require_finite(total[:, None], layer, "attention score")
    require_finite(context, layer, "context")
    return context


def require_finite(values, layer, what):
    """Stop where `values` [heads, ...] of a layer hold NaN or infinity, naming the first head."""
    broken = ~torch.isfinite(values).flatten(1).all(1)
    if broken.any():
        heads = broken.nonzero().flatten().tolist()
        others = f" (and {len(heads) - 1} more heads)" if len(heads) > 1 else ""
        raise ReportError(
            f"layer {layer}, head {heads[0]}{others}: the {what} is NaN or infinite; "
            "check the weights, and measure in float32"
        )
