"""BLOOM: like Falcon with ALiBi, except that ALiBi is not scaled and is exact in float32.

Its attention modules also add the residual, after dropout; that stays as it is in transformers.
"""

from collections.abc import Callable

from torch import nn
from transformers.models.bloom.modeling_bloom import dropout_add

from report.measurements.factors import Factors
from report.models.attention.own.protocol import ComputeAttention, OwnForward


def measured_forward(
    module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1
) -> Callable:
    """See `MeasuredForward`; transformers itself counts ALiBi once."""
    shape = (module.num_heads, 3, module.head_dim)
    scale = module.inv_norm_factor

    def forward(hidden_states, residual, alibi, **_):
        fused = module.query_key_value(hidden_states)[0].unflatten(1, shape)
        query, key, value = fused.permute(2, 1, 0, 3)  # [heads, T, head_dim]
        bias = module.query_key_value.bias.detach().view(shape)
        position = alibi.reshape(module.num_heads, -1) * alibi_factor
        factors = Factors(query, key, bias[:, 0], bias[:, 1], position, scale)
        context = attention(factors, value)
        joined = context.transpose(0, 1).flatten(1)[None]  # [1, T, heads * head_dim]
        output = module.dense(joined)
        return dropout_add(output, residual, module.hidden_dropout, module.training), None

    return forward


FAMILY = OwnForward("bloom", measured_forward, unmasked=True)
