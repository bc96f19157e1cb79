"""Falcon with ALiBi, as falcon-rw-1b: fused query, key and value per head, ALiBi scaled as scores.

The forward of its attention modules is replaced (it does not go through the attention interface of
transformers). The reference is the plain sdpa forward: asked for attentions, transformers adds
ALiBi twice, once in the mask and once in the scores. ALiBi is the tensor the model passes, which it
rounds to bfloat16 even in a float32 model.
"""

import math

import torch

from report.errors import ReportError
from report.measurements.decomposition import Factors

MODEL_TYPE = "falcon"


def require_supported(config):
    """Stop for the variants of Falcon that are not measured yet (rotary, shared keys)."""
    shared = config.num_kv_heads != config.num_attention_heads
    variants = {
        "alibi=False (rotary positions)": not config.alibi,
        "multi_query=True": config.multi_query,
        "new_decoder_architecture=True": config.new_decoder_architecture,
        "num_kv_heads different from num_attention_heads": shared,
    }
    found = [name for name, present in variants.items() if present]
    if found:
        raise ReportError(
            f"this Falcon has {', '.join(found)}, which is not measured yet; "
            "supported: alibi=True with one key and value head per head, as falcon-rw-1b"
        )


def layers(model):
    """The decoder layers, first to last; the input of each is the hidden state."""
    return list(model.transformer.h)


def attention(layer):
    """The attention module of a layer."""
    return layer.self_attention


def output_projection(layer):
    """The linear module after the heads; its weight is [hidden_size, heads * head_dim]."""
    return layer.self_attention.dense


def measured_forward(module, record):
    """A forward for the attention `module` that leaves the attention itself to `record`.

    record: called with (Factors, value [heads, T, head_dim]); returns context of value's shape
    """

    def forward(hidden_states, alibi=None, **_):
        heads, head_dim = module.num_heads, module.head_dim
        # [1, T, heads * 3 * head_dim] to [3, heads, T, head_dim]
        fused = module.query_key_value(hidden_states)[0].unflatten(1, (heads, 3, head_dim))
        query, key, value = fused.permute(2, 1, 0, 3)
        query_bias, key_bias = _biases(module)
        scale = 1 / math.sqrt(head_dim)
        position = alibi.reshape(heads, -1) * scale
        factors = Factors(query, key, query_bias, key_bias, position, scale)
        context = record(factors, value)
        joined = context.transpose(0, 1).flatten(1)[None]  # [1, T, heads * head_dim]
        return module.dense(joined), None

    return forward


def _biases(module):
    """The query and key parts of the fused bias, each [heads, head_dim]; zeros without one."""
    projection = module.query_key_value
    shape = (module.num_heads, 3, module.head_dim)
    fused = projection.bias
    if fused is None:
        fused = torch.zeros_like(projection.weight[:, 0])
    query_bias, key_bias, _ = fused.detach().view(shape).unbind(1)
    return query_bias, key_bias
