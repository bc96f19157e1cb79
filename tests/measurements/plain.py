"""Attention written out: float64, one current token and one target at a time, for comparison."""

import math
from dataclasses import replace

import torch

from report.measurements.decomposition import Factors
from report.measurements.visible import Visible

HEADS, KEY_HEADS, LENGTH, SIZE = 4, 2, 9, 6


def drawer(seed=0, dtype=torch.float64):
    """A function of a shape to random normal numbers."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=dtype)


def rotated(vectors, first=0):
    """RoPE written out on [..., T, size]: pairs (2k, 2k + 1) turned by position / 10**k."""
    result = vectors.clone()
    for place in range(vectors.shape[-2]):
        for pair in range(vectors.shape[-1] // 2):
            angle = (first + place) / 10**pair
            x, y = vectors[..., place, 2 * pair], vectors[..., place, 2 * pair + 1]
            result[..., place, 2 * pair] = x * math.cos(angle) - y * math.sin(angle)
            result[..., place, 2 * pair + 1] = x * math.sin(angle) + y * math.cos(angle)
    return result


def biased(seed=0, key_heads=HEADS, length=LENGTH):
    """Factors with query and key biases, their key heads shared by groups."""
    draw = drawer(seed)
    query_bias, key_bias = draw(HEADS, SIZE), draw(key_heads, SIZE)
    query = draw(HEADS, length, SIZE) + query_bias[:, None]
    key = draw(key_heads, length, SIZE) + key_bias[:, None]
    return Factors(query, key, query_bias, key_bias, None, 0.4)


def with_alibi(seed=0, **options):
    """The same with ALiBi, a function of the head and the target."""
    factors = biased(seed, **options)
    slopes = torch.arange(1, HEADS + 1, dtype=torch.float64)[:, None] / 10
    return replace(factors, position=slopes * torch.arange(factors.length))


def with_rotation(seed=0, **options):
    """The same with RoPE."""
    plain = biased(seed, **options)
    length = plain.length
    return replace(
        plain,
        query=rotated(plain.query),
        key=rotated(plain.key),
        unrotated_query=plain.query,
        unrotated_key=plain.key,
        rotated_query_bias=rotated(plain.query_bias[:, None].repeat(1, length, 1)),
        rotated_key_bias=rotated(plain.key_bias[:, None].repeat(1, length, 1)),
    )


CASES = {
    "biases": biased(),
    "shared keys": biased(key_heads=KEY_HEADS),
    "one key head": biased(key_heads=1),
    "no biases": replace(biased(), query_bias=None, key_bias=None),
    "query bias only": replace(biased(), key_bias=None),
    "ALiBi": with_alibi(),
    "ALiBi, shared keys": with_alibi(key_heads=KEY_HEADS),
    "rotation": with_rotation(),
    "rotation, shared keys": with_rotation(key_heads=KEY_HEADS),
    "softcap": replace(with_rotation(), softcap=1.5),
    "sink": replace(biased(key_heads=KEY_HEADS), sink=drawer(5)(HEADS)),
    "softcap and ALiBi": replace(with_alibi(), softcap=1.5),
    "window": replace(with_rotation(), visible=Visible.causal(LENGTH, window=3)),
    "full square": replace(biased(), visible=Visible.full(LENGTH)),
    "two chunks": replace(
        biased(),
        visible=Visible(torch.tensor([0, 0, 0, 0, 4, 4, 4, 4, 4]), torch.arange(LENGTH)),
    ),
}
"""Name -> Factors of every kind of layer that is measured."""


def attention(factors):
    """Scores before the cap, and probabilities, both [heads, T, T], cell by cell."""
    shared = factors.heads // len(factors.key)
    shape = factors.heads, factors.length, factors.length
    score, probability = torch.zeros(2, *shape, dtype=torch.float64)
    visible = factors.visible or Visible.causal(factors.length)
    for head in range(factors.heads):
        for i in range(factors.length):
            weights = []
            for j in range(factors.length):
                pairs = factors.query[head, i] * factors.key[head // shared, j]
                score[head, i, j] = factors.scale * sum(pairs.tolist())
                if factors.position is not None:
                    score[head, i, j] += factors.position[head, j]
                seen = visible.first[i] <= j <= visible.last[i]
                weights.append(math.exp(capped(score[head, i, j], factors.softcap)) * bool(seen))
            total = sum(weights)
            if factors.sink is not None:
                total += math.exp(factors.sink[head])
            probability[head, i] = torch.tensor(weights, dtype=torch.float64) / total
    return score, probability


def capped(score, softcap):
    """softcap * tanh(score / softcap), or the score."""
    return float(score) if softcap is None else softcap * math.tanh(float(score) / softcap)
