"""Forward passes of our own, for families whose attention can be reached in no other way.

A function here makes the forward of an attention module, which takes and returns what the module's
own does, and leaves the attention itself to a function:

    module: the attention module; it is not changed
    attention: called with a layer's `Factors` and value, float [key_heads, T, value_dim]; returns
        the context, float [heads, T, value_dim], with which the forward goes on
    alibi_factor: what ALiBi is multiplied by

It counts once `OWN_FORWARDS` has it.
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from transformers.models.bloom.modeling_bloom import dropout_add
from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb

from report.errors import ReportError
from report.measurements.factors import Factors

ComputeAttention = Callable[[Factors, torch.Tensor], torch.Tensor]


def of_bloom(module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1) -> Callable:
    """BLOOM: like Falcon with ALiBi, except that ALiBi is not scaled and is exact in float32.

    Its attention modules also add the residual, after dropout; that stays as it is in transformers,
    which counts ALiBi once.
    """
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


def of_falcon(module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1) -> Callable:
    """Falcon: query, key and value fused per group of heads; ALiBi (falcon-rw) or rotary (7b, 40b).

    It does not go through the attention interface of transformers. The reference is the plain sdpa
    forward: asked for attentions, transformers adds ALiBi twice, once in the mask and once in the
    scores, as an ALiBi factor of 2 does. ALiBi is the tensor the model passes, which it rounds to
    bfloat16 even in a float32 model; Falcon scales it as it scales the scores.

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


def of_mpt(module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1) -> Callable:
    """MPT: ALiBi that is not scaled, a scale of its own, clipped projections, no biases.

    Its model turns the attention mask into a bool one that is true where a target is hidden, which
    is right only for the float mask of eager attention: the implementation must stay "eager".
    transformers counts ALiBi once.
    """

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


OWN_FORWARDS = {"bloom": of_bloom, "falcon": of_falcon, "mpt": of_mpt}
"""model_type of a config -> what makes the forward of its attention modules."""

WITHOUT_MASK = {"bloom", "falcon"}
"""Those that need no mask, [1, heads, T, T]: it would take 537 MB at 2048 tokens and 32 heads in
float32, so the model need not build one."""
