"""MPT: ALiBi that is not scaled, a scale of its own, clipped projections, no biases.

Its model turns the attention mask into a bool one that is true where a target is hidden, which is
right only for the float mask of eager attention: the implementation must stay "eager".
"""

from collections.abc import Callable

from torch import nn

from report.measurements.factors import Factors
from report.models.attention.own.protocol import ComputeAttention, OwnForward


def measured_forward(
    module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1
) -> Callable:
    """See `MeasuredForward`; transformers itself counts ALiBi once."""

    def forward(hidden_states, position_bias, **_):
        fused = module.Wqkv(hidden_states)[0]  # [T, 3 * heads * head_dim]
        if module.clip_qkv:
            fused = fused.clamp(min=-module.clip_qkv, max=module.clip_qkv)
        # ALiBi is float32 whatever the weights are, and so are the scores it is added to
        measured = fused.to(position_bias.dtype)
        query, key, value = measured.unflatten(1, (3, module.n_heads, -1)).permute(1, 2, 0, 3)
        # made for the longest text, ending in 0: this text's distances are at its end
        position = position_bias[:, 0, -len(fused) :] * alibi_factor
        factors = Factors(query, key, None, None, position, module.softmax_scale)
        context = attention(factors, value)
        joined = context.transpose(0, 1).flatten(1)[None]  # [1, T, heads * head_dim]
        return module.out_proj(joined.to(fused.dtype)), None

    return forward


FAMILY = OwnForward("mpt", measured_forward)
