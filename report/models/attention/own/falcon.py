"""Falcon: query, key and value fused per group of heads; ALiBi (falcon-rw) or rotary (7b, 40b).

The forward of its attention modules is replaced (it does not go through the attention interface of
transformers). The reference is the plain sdpa forward: asked for attentions, transformers adds
ALiBi twice, once in the mask and once in the scores. ALiBi is the tensor the model passes, which it
rounds to bfloat16 even in a float32 model; Falcon scales it as it scales the scores.
"""

import math
from collections.abc import Callable

from torch import nn
from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb

from report.errors import ReportError
from report.measurements.factors import Factors
from report.models.attention.own.protocol import ComputeAttention, OwnForward


def measured_forward(
    module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1
) -> Callable:
    """See `MeasuredForward`; an ALiBi factor of 2 is what transformers' eager attention computes.

    raises: ReportError for a factor other than 1 where positions are rotary
    """
    if alibi_factor != 1 and not module.config.alibi:
        raise ReportError(
            f"alibi_factor={alibi_factor:g} is for models with ALiBi; the positions of this Falcon "
            "are rotary; leave it at 1"
        )
    scale = 1 / math.sqrt(module.head_dim)

    def forward(hidden_states, alibi=None, position_embeddings=None, **_):
        parts = _split(module, module.query_key_value(hidden_states)[0])
        query, key, value = (part.transpose(0, 1) for part in parts)  # [heads, T, head_dim]
        biases = _biases(module)
        if alibi is None:
            factors = _rotated(query, key, biases, position_embeddings, scale)
        else:
            position = alibi.reshape(module.num_heads, -1) * (scale * alibi_factor)
            factors = Factors(query, key, *biases, position, scale)
        context = attention(factors, value)
        joined = context.transpose(0, 1).flatten(1)[None]  # [1, T, heads * head_dim]
        return module.dense(joined), None

    return forward


FAMILY = OwnForward("falcon", measured_forward, unmasked=True)
"""It needs no mask, which would take 537 MB at 2048 tokens and 32 heads in float32."""


def _split(module, fused):
    """[..., fused] to query [..., heads, head_dim], key and value [..., key_heads, head_dim].

    A group is some query heads and the key and value that they share: one query head without
    shared keys, all of them with multi_query.
    """
    groups = fused.unflatten(-1, (module.num_kv_heads, -1, module.head_dim))
    return groups[..., :-2, :].flatten(-3, -2), groups[..., -2, :], groups[..., -1, :]


def _biases(module):
    """The query and key parts of the fused bias, each [heads, head_dim]; or None and None."""
    bias = module.query_key_value.bias
    return (None, None) if bias is None else _split(module, bias.detach())[:2]


def _rotated(query, key, biases, rotation, scale):
    """The factors of a rotary Falcon; not rotated means rotated as token 0 is.

    rotation: cosine and sine, each [1, T, head_dim]
    """
    first = [part[:, :1] for part in rotation]
    query_bias = key_bias = rotated_query_bias = rotated_key_bias = None
    if biases[0] is not None:
        biases = [bias[:, None] for bias in biases]  # [heads, 1, head_dim]
        query_bias, key_bias = (bias[:, 0] for bias in _rotate(biases, first))
        rotated_query_bias, rotated_key_bias = _rotate(biases, rotation)
    unrotated_query, unrotated_key = _rotate((query, key), first)
    query, key = _rotate((query, key), rotation)
    return Factors(
        query,
        key,
        query_bias,
        key_bias,
        position=None,
        scale=scale,
        unrotated_query=unrotated_query,
        unrotated_key=unrotated_key,
        rotated_query_bias=rotated_query_bias,
        rotated_key_bias=rotated_key_bias,
    )


def _rotate(pair, rotation):
    """Query and key, each [heads, T or 1, head_dim], rotated as the model does."""
    rotated = apply_rotary_pos_emb(pair[0][None], pair[1][None], *rotation)
    return [part[0] for part in rotated]
