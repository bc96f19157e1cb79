"""A score as a sum of terms: content, bias, position and a constant of the row.

With query and key as projected, q = a_q + b_q and k = a_k + b_k (b = the projection's bias), the
scale s, the rotation R of rotary positions (the identity without them) and ALiBi A, the score of
current token i for target token j is

    score_ij = s (R_i q_i) . (R_j k_j) + A_j
             = content_ij + bias_j + row_constant_i + position_ij

    content_ij     = s a_q,i . a_k,j
    bias_j         = s b_q . a_k,j
    row_constant_i = s q_i . b_k  (+ A_i)
    position_ij    = A_j - A_i                                 with ALiBi (Press et al. 2022)
                   = s (R_i q_i) . (R_j k_j) - s q_i . k_j     with RoPE (Su et al. 2021)

Softmax runs over j, so the row constant changes no probability and is dropped, except where the
scores are capped (Gemma 2) or a sink takes part in the softmax (gpt-oss): there it counts.

Positions that are added to the embeddings (GPT-2, BERT) are in every hidden state, and so inside
the product of a and a, which then is called mixed and not content. In the first layer they can be
told apart: a = c + p there, p being what positions put in, c all the rest (see
`report/models/attention/positions.py`), and

    mixed_ij = s c_q,i . c_k,j + s c_q,i . p_k,j + s p_q,i . c_k,j + s p_q,i . p_k,j
             = content_ij + content_position_ij + position_content_ij + position_position_ij

Heads are written as queries and keys, not as terms; the same split is then made by who reads them:
`report/datasets/formats/attention.py`.
"""

from dataclasses import dataclass, replace

import torch

from report.measurements.factors import Factors, Scores

PLACED = ("content", "content_position", "position_content", "position_position")
"""The terms of a first layer whose positions are told apart, in order: the query's part is named
first. Together they are what is "mixed" in other layers."""


@dataclass(frozen=True)
class Term:
    """One term of the scores, with what its values are indexed by.

    name: "content", "bias", "position", "row_constant"; "mixed", or the names of `PLACED`, where
        positions are added to the embeddings; or "score" where nothing is split
    per: "cell": values [..., T, T], term_ij = values[i, j] (0 where j is not visible);
        "target": values [..., T], term_ij = values[j];
        "target_difference": values [..., T], term_ij = values[j] - values[i];
        "current": values [..., T], term_ij = values[i]
    """

    name: str
    per: str
    values: torch.Tensor

    def matrix(self) -> torch.Tensor:
        """The term of every cell, [..., T, T], whether visible or not."""
        row, column = self.values[..., None, :], self.values[..., :, None]
        length = self.values.shape[-1]
        if self.per == "cell":
            return self.values
        if self.per == "target":
            return row.expand(*row.shape[:-2], length, length)
        if self.per == "current":
            return column.expand(*column.shape[:-2], length, length)
        return row - column


def score(factors: Factors | Scores) -> torch.Tensor:
    """The scores before softcap and softmax, float [heads, T, T], of visible targets or not.

    score_ij = s q_i . k_j + A_j
    """
    if isinstance(factors, Scores):
        return factors.score
    product = factors.scale * _product(factors.query, factors.key)
    return product if factors.position is None else product + factors.position[:, None, :]


def probability(factors: Factors | Scores) -> torch.Tensor:
    """The attention, float [heads, T, T], 0 where a target is not visible.

    Each row sums to 1; with a sink, to what the sink leaves.
    """
    return _softmax(factors, score(factors), factors.range().mask())


def row(factors: Factors | Scores, token: int) -> torch.Tensor:
    """What one current token gives to all targets, float64 [heads, T]: a row of `probability`, in
    the time of a row."""
    seen, only = factors.range(), slice(token, token + 1)
    if isinstance(factors, Scores):
        scores = factors.score[:, only].double()
    else:
        query, key = factors.query[:, only].double(), factors.key.double()
        scores = score(replace(factors, query=query, key=key))
    targets = torch.arange(factors.length, device=scores.device)
    mask = (targets >= seen.first[token]) & (targets <= seen.last[token])
    return _softmax(factors, scores, mask)[:, 0]


def _softmax(factors, scores, seen):
    if factors.softcap is not None:
        scores = factors.softcap * torch.tanh(scores / factors.softcap)
    scores = scores.masked_fill(~seen, -torch.inf)
    if factors.sink is None:
        return scores.softmax(-1)
    sink = factors.sink[:, None, None].expand(-1, scores.shape[1], 1)
    return torch.cat([scores, sink], -1).softmax(-1)[..., :-1]


def terms(factors: Factors | Scores) -> list[Term]:
    """The terms whose sum is the score, up to a constant of the row that softmax removes.

    returns: list of Term with values [heads, T, T] or [heads, T]: content, mixed or those of
        `PLACED` always; bias where the query projection has one; position with ALiBi or RoPE;
        row_constant where it counts. Of `Scores`, the one term "score".
    """
    if isinstance(factors, Scores):
        return [Term("score", "cell", _kept(factors, factors.score))]
    name = "mixed" if factors.mixed else "content"
    parts = [Term(name, "cell", _kept(factors, content(factors)))]
    if factors.query_place is not None:
        parts = [
            Term(name, "cell", _kept(factors, _product(*pair)))
            for name, pair in placed_pairs(factors).items()
        ]
    if factors.query_bias is not None:
        parts.append(Term("bias", "target", bias(factors)))
    if factors.position is not None:
        parts.append(Term("position", "target_difference", factors.position))
    elif factors.unrotated_query is not None:
        parts.append(Term("position", "cell", _kept(factors, rotary_position(factors))))
    counts = factors.softcap is not None or factors.sink is not None
    if counts and not (factors.key_bias is None and factors.position is None):  # then it is 0
        parts.append(Term("row_constant", "current", row_constant(factors)))
    return parts


def content(factors: Factors) -> torch.Tensor:
    """The part of the score that both hidden states determine together, float [heads, T, T].

    content_ij = s (q_i - b_q) . (k_j - b_k), not rotated
    """
    return _product(*content_pair(factors))


def content_pair(factors: Factors) -> tuple[torch.Tensor, torch.Tensor]:
    """Query and key whose product `content` is: float [heads, T, d], [key_heads, T, d]."""
    query, key = _unrotated(factors)
    return factors.scale * _less(query, factors.query_bias), _less(key, factors.key_bias)


def placed_pairs(factors: Factors) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """The terms `PLACED`, which together are `content`, by name: the pairs whose products they are,
    float [heads, T, d], [key_heads, T, d]."""
    query, key = content_pair(factors)
    query_place, key_place = factors.scale * factors.query_place, factors.key_place
    queries, keys = (query - query_place, query_place), (key - key_place, key_place)
    pairs = [(one, other) for one in queries for other in keys]
    return dict(zip(PLACED, pairs, strict=True))


def bias(factors: Factors) -> torch.Tensor:
    """The part of the score that the target token alone determines, float [heads, T].

    bias_j = s b_q . (k_j - b_k), not rotated; 0 without a query bias
    """
    _, key = _unrotated(factors)
    if factors.query_bias is None:
        return key.new_zeros(factors.heads, factors.length)
    return factors.scale * _product(
        factors.query_bias[:, None], _less(key, factors.key_bias)
    ).squeeze(1)


def rotary_position(factors: Factors) -> torch.Tensor:
    """What the rotation of RoPE adds to the score, float [heads, T, T]; 0 on the diagonal.

    position_ij = s (R_i q_i) . (R_j k_j) - s q_i . k_j
    """
    query, key = _unrotated(factors)
    both = factors.scale * torch.cat([factors.query, -query], -1)
    return _product(both, torch.cat([factors.key, key], -1))


def rotary_terms(factors: Factors | Scores) -> dict[str, torch.Tensor] | None:
    """The four-way split of a rotated score with query and key biases, all parts rotated.

    score_ij = s (R_i a_q,i).(R_j a_k,j) + s (R_i b_q).(R_j a_k,j) + s (R_i a_q,i).(R_j b_k)
               + s (R_i b_q).(R_j b_k)

    returns: dict of "content", "query_bias", "key_bias" and "distance" to float [heads, T, T]; the
        last is a function of i - j alone, what ALiBi is to other models; None where a model has no
        rotation or not both biases
    """
    if isinstance(factors, Scores):
        return None
    if factors.rotated_query_bias is None or factors.rotated_key_bias is None:
        return None
    query_bias, key_bias = factors.rotated_query_bias, factors.rotated_key_bias
    query, key = factors.query - query_bias, factors.key - key_bias
    pairs = {
        "content": (query, key),
        "query_bias": (query_bias, key),
        "key_bias": (query, key_bias),
        "distance": (query_bias, key_bias),
    }
    return {name: _kept(factors, factors.scale * _product(*pair)) for name, pair in pairs.items()}


def row_constant(factors: Factors) -> torch.Tensor:
    """The part that the current token alone determines, float [heads, T].

    row_constant_i = s q_i . b_k, not rotated, + A_i
    """
    query, _ = _unrotated(factors)
    constant = query.new_zeros(factors.heads, factors.length)
    if factors.key_bias is not None:
        constant = factors.scale * _product(query, factors.key_bias[:, None]).squeeze(-1)
    return constant if factors.position is None else constant + factors.position


def _unrotated(factors):
    if factors.unrotated_query is None:
        return factors.query, factors.key
    return factors.unrotated_query, factors.unrotated_key


def _less(values, bias):
    return values if bias is None else values - bias[:, None]


def _kept(factors, values):
    return values.masked_fill(~factors.range().mask(), 0)


def _product(query, key):
    """query [heads, n, d] times key [key_heads, m, d], each key head shared by its group."""
    group = query.shape[0] // key.shape[0]
    grouped = query.unflatten(0, (key.shape[0], group))  # [key_heads, group, n, d]
    return (grouped @ key[:, None].transpose(2, 3)).flatten(0, 1)
