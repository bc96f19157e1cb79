"""Verifies the terms of scores: what would the scores be without rotation, or without biases?

A wrong split still adds up, so `verify.py` alone, which compares whole scores, would not notice it.
The terms of the first layer, whose input does not depend on them, are compared with the scores of a
model that really lacks what a term stands for. Scores are split in `measurements/decomposition.py`.
"""

from collections.abc import Iterator

import torch

from report import families
from report.families.reference import eager_pass
from report.measurements import decomposition
from report.measurements.factors import Factors, Scores
from report.models.attention.structure import structure


def split_pairs(
    name: str, seed: int, token_ids: list[int], factors: Factors | Scores, alibi_twice: bool
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of scores that should be equal, each float [heads, cells]: measured, and computed.

    factors: of the first layer of the model as it is
    alibi_twice: see `reference`
    """
    if isinstance(factors, Scores):
        return
    content = decomposition.content(factors)
    rotates, biased = factors.unrotated_query is not None, factors.query_bias is not None
    total = content
    if factors.position is not None:
        total = total + factors.position[:, None]
    model = families.tiny(name, seed)
    if biased:
        yield _pair(
            factors, total, _first_scores(_unbiased(model), token_ids, alibi_twice, rotates)
        )
    if rotates:
        total = content + decomposition.bias(factors)[:, None]
        total = total + decomposition.row_constant(factors)[..., None]
        model = families.tiny(name, seed)
        yield _pair(factors, total, _first_scores(model, token_ids, alibi_twice, rotates))


def _pair(factors, total, expected):
    """Both where a target is visible; `total` capped, a sink's score taken off both."""
    seen = factors.range().mask()
    if factors.softcap is not None:
        total = factors.softcap * torch.tanh(total / factors.softcap)
    if factors.sink is not None:
        total = total - factors.sink[:, None, None]
        expected = expected[..., :-1] - expected[..., -1:]
    return total[:, seen], expected[:, seen]


def _first_scores(model, token_ids, alibi_twice, at_one_place):
    """The eager scores of the first layer; `at_one_place`: with every token at position 0."""
    zeros = torch.zeros(1, len(token_ids), dtype=torch.long)
    options = {"position_ids": zeros, "attention_mask": zeros + 1} if at_one_place else {}
    return eager_pass(model, token_ids, alibi_twice, **options)[1][0]


def _unbiased(model):
    """The model, its first attention without biases."""
    with torch.no_grad():
        for name, parameter in structure(model)[0].attention.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return model
