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


def rotate(vector, place, theta):
    """Turn dimension n and n + half by place * theta^(-2n / size), as one complex number."""
    half = len(vector) // 2
    angle = place * theta ** (-np.arange(half) / half)
    turned = (vector[:half] + 1j * vector[half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag])


def reference(model, token_ids, first_layers=None):
    """Logits, and per layer and head everything that is measured, from the weights alone.

    first_layers: how many layers; the logits are then what these lead to. None: all
    """
    config = model.config
    weights = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    hidden = weights["transformer.word_embeddings.weight"][token_ids]
    layers = []
    for layer in range(first_layers or config.num_hidden_layers):
        own = {
            name.removeprefix(f"transformer.h.{layer}."): tensor
            for name, tensor in weights.items()
            if name.startswith(f"transformer.h.{layer}.")
        }

        def norm(rows, name, own=own):
            weight, bias = own[f"{name}.weight"], own[f"{name}.bias"]
            return layer_norm(rows, weight, bias, config.layer_norm_epsilon)

        two_norms = "ln_attn.weight" in own
        normed = norm(hidden, "ln_attn" if two_norms else "input_layernorm")
        heads = range(config.num_attention_heads)
        measured = [one_head(config, own, normed, hidden, head) for head in heads]
        layers.append(measured)
        attended = hidden + sum(head.update for head in measured)
        attended = attended + own.get("self_attention.dense.bias", 0)
        if two_norms:
            normed = norm(hidden, "ln_mlp")
        elif not config.parallel_attn:
            normed = norm(attended, "post_attention_layernorm")
        inner = gelu(
            normed @ own["mlp.dense_h_to_4h.weight"].T + own.get("mlp.dense_h_to_4h.bias", 0)
        )
        hidden = attended + inner @ own["mlp.dense_4h_to_h.weight"].T
        hidden = hidden + own.get("mlp.dense_4h_to_h.bias", 0)
    final = layer_norm(
        hidden,
        weights["transformer.ln_f.weight"],
        weights["transformer.ln_f.bias"],
        config.layer_norm_epsilon,
    )
    return SimpleNamespace(logits=final @ weights["lm_head.weight"].T, layers=layers)


def rows_of(config, head):
    """Where the query, key and value of a head are in the fused projection: heads that share a
    key and value follow each other, then come their key and their value."""
    size = config.hidden_size // config.num_attention_heads
    key_heads = 1 if config.multi_query else config.num_attention_heads
    if config.new_decoder_architecture:
        key_heads = config.num_kv_heads
    shared = config.num_attention_heads // key_heads
    first = (head // shared) * (shared + 2)
    return [
        slice(place * size, (place + 1) * size)
        for place in (first + head % shared, first + shared, first + shared + 1)
    ]


def one_head(config, own, normed, hidden, head):
    heads = config.num_attention_heads
    length, size = len(normed), config.hidden_size // heads
    fused = own["self_attention.query_key_value.weight"]
    fused_bias = own.get("self_attention.query_key_value.bias", np.zeros(len(fused)))
    parts = rows_of(config, head)
    (query, key, value) = (normed @ fused[part].T for part in parts)
    (query_bias, key_bias, value_bias) = (fused_bias[part] for part in parts)
    # slopes of Press et al. for a power of two of heads, in bfloat16 as Falcon has them
    slope = bfloat16(2.0 ** (-8 * (head + 1) / heads))
    alibi = [bfloat16(slope * bfloat16(j)) for j in range(length)]

    content, score = np.zeros((length, length)), np.zeros((length, length))
    bias, position = np.zeros(length), np.zeros((length, length))
    probability, context = np.zeros((length, length)), np.zeros((length, size))
    for j in range(length):
        bias[j] = query_bias @ key[j] / math.sqrt(size)
    for i in range(length):
        for j in range(i + 1):
            content[i, j] = query[i] @ key[j] / math.sqrt(size)
            full_query, full_key = query[i] + query_bias, key[j] + key_bias
            straight = full_query @ full_key / math.sqrt(size)
            if config.alibi:
                position[i, j] = (alibi[j] - alibi[i]) / math.sqrt(size)
                score[i, j] = straight + alibi[j] / math.sqrt(size)
            else:
                theta = config.rope_parameters["rope_theta"]
                turned = rotate(full_query, i, theta) @ rotate(full_key, j, theta)
                position[i, j] = turned / math.sqrt(size) - straight
                score[i, j] = turned / math.sqrt(size)
        exponential = np.exp(score[i, : i + 1] - score[i, : i + 1].max())
        probability[i, : i + 1] = exponential / exponential.sum()
        context[i] = sum(probability[i, j] * (value[j] + value_bias) for j in range(i + 1))
    update = context @ own["self_attention.dense.weight"][:, head * size : (head + 1) * size].T
    norms = np.linalg.norm(update, axis=1), np.linalg.norm(hidden, axis=1)
    return SimpleNamespace(
        content=content,
        bias=bias,
        position=position,
        score=score,
        probability=probability,
        update=update,
        magnitude=norms[0] / norms[1],
        alignment=(update * hidden).sum(1) / (norms[0] * norms[1]),
    )
