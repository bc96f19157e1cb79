"""Falcon written down plainly from its weights: float64, numpy, one head and one row at a time."""

import math
from types import SimpleNamespace

import numpy as np


def bfloat16(value):
    """Round to 8 significant bits, ties to even."""
    if value == 0:
        return 0.0
    step = 2.0 ** (math.floor(math.log2(abs(value))) - 7)
    return round(value / step) * step  # Python rounds halves to even


def layer_norm(rows, weight, bias, epsilon):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias


def gelu(values):
    return values * 0.5 * (1 + np.vectorize(math.erf)(values / math.sqrt(2)))


def reference(model, token_ids):
    """Logits, and per layer and head everything that is measured, from the weights alone."""
    config = model.config
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    heads, size = config.num_attention_heads, config.hidden_size // config.num_attention_heads
    epsilon = config.layer_norm_epsilon
    hidden = weights["transformer.word_embeddings.weight"][token_ids]
    layers = []
    for layer in range(config.num_hidden_layers):
        own = {
            name.removeprefix(f"transformer.h.{layer}."): tensor
            for name, tensor in weights.items()
            if name.startswith(f"transformer.h.{layer}.")
        }
        normed = layer_norm(
            hidden, own["input_layernorm.weight"], own["input_layernorm.bias"], epsilon
        )
        measured = [one_head(own, normed, hidden, head, heads, size) for head in range(heads)]
        layers.append(measured)
        hidden = hidden + sum(head.update for head in measured)
        hidden = hidden + own.get("self_attention.dense.bias", 0)
        normed = layer_norm(
            hidden,
            own["post_attention_layernorm.weight"],
            own["post_attention_layernorm.bias"],
            epsilon,
        )
        inner = gelu(
            normed @ own["mlp.dense_h_to_4h.weight"].T + own.get("mlp.dense_h_to_4h.bias", 0)
        )
        hidden = hidden + inner @ own["mlp.dense_4h_to_h.weight"].T
        hidden = hidden + own.get("mlp.dense_4h_to_h.bias", 0)
    final = layer_norm(
        hidden, weights["transformer.ln_f.weight"], weights["transformer.ln_f.bias"], epsilon
    )
    return SimpleNamespace(logits=final @ weights["lm_head.weight"].T, layers=layers)


def one_head(own, normed, hidden, head, heads, size):
    length = len(normed)
    fused = own["self_attention.query_key_value.weight"]
    fused_bias = own.get("self_attention.query_key_value.bias", np.zeros(len(fused)))
    first = head * 3 * size
    parts = [slice(first + part * size, first + (part + 1) * size) for part in range(3)]
    (query, key, value) = (normed @ fused[part].T for part in parts)
    (query_bias, key_bias, value_bias) = (fused_bias[part] for part in parts)
    # slopes of Press et al. for a power of two of heads, in bfloat16 as Falcon has them
    slope = bfloat16(2.0 ** (-8 * (head + 1) / heads))
    alibi = [bfloat16(slope * bfloat16(j)) for j in range(length)]

    content = np.zeros((length, length))
    bias, position = np.zeros(length), np.zeros((length, length))
    probability, context = np.zeros((length, length)), np.zeros((length, size))
    for j in range(length):
        bias[j] = query_bias @ key[j] / math.sqrt(size)
    for i in range(length):
        row = []
        for j in range(i + 1):
            content[i, j] = query[i] @ key[j] / math.sqrt(size)
            position[i, j] = (alibi[j] - alibi[i]) / math.sqrt(size)
            with_bias = (query[i] + query_bias) @ (key[j] + key_bias)
            row.append((with_bias + alibi[j]) / math.sqrt(size))
        exponential = np.exp(np.array(row) - max(row))
        probability[i, : i + 1] = exponential / exponential.sum()
        context[i] = sum(probability[i, j] * (value[j] + value_bias) for j in range(i + 1))
    update = context @ own["self_attention.dense.weight"][:, head * size : (head + 1) * size].T
    norms = np.linalg.norm(update, axis=1), np.linalg.norm(hidden, axis=1)
    return SimpleNamespace(
        content=content,
        bias=bias,
        position=position,
        probability=probability,
        update=update,
        magnitude=norms[0] / norms[1],
        alignment=(update * hidden).sum(1) / (norms[0] * norms[1]),
    )
