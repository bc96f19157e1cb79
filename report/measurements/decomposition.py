"""A score as a sum of terms: content, bias, position and a constant of the row.

With query and key projections q = a_q + b_q, k = a_k + b_k (b = the projection's bias), the scale s
and ALiBi A, the score of current token i for target token j is

    score_ij = s q_i . k_j + A_j
             = content_ij + bias_j + row_constant_i + (A_j - A_i) + A_i

Softmax runs over j, so row_constant_i and A_i change no probability and are dropped.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Factors:
    """Everything that determines one layer's scores, about 3 * T * hidden_size floats.

    query, key: float [heads, T, head_dim], as projected, biases included, not scaled
    query_bias, key_bias: float [heads, head_dim], zero for a model without them
    position: float [heads, T], ALiBi as the model passes it, times the model's scale for it
    scale: what the product of query and key is multiplied by (1 / sqrt(head_dim) for Falcon)
    """

    query: torch.Tensor
    key: torch.Tensor
    query_bias: torch.Tensor
    key_bias: torch.Tensor
    position: torch.Tensor
    scale: float

    def head(self, head):
        """The factors of one head, in float64 and with a heads axis of length 1."""
        tensors = (self.query, self.key, self.query_bias, self.key_bias, self.position)
        return Factors(*(tensor[head : head + 1].double() for tensor in tensors), self.scale)


def score(factors):
    """The scores before softmax, float [heads, T, T]; the half above the diagonal is not masked.

    score_ij = s q_i . k_j + A_j
    """
    product = factors.query @ factors.key.transpose(1, 2)
    return factors.scale * product + factors.position[:, None, :]


def content(factors):
    """The part of the score that both tokens determine together, float [heads, T, T].

    content_ij = s (q_i - b_q) . (k_j - b_k)
    """
    query = factors.query - factors.query_bias[:, None]
    key = factors.key - factors.key_bias[:, None]
    return factors.scale * query @ key.transpose(1, 2)


def bias(factors):
    """The part of the score that the target token alone determines, float [heads, T].

    bias_j = s b_q . (k_j - b_k)
    """
    key = factors.key - factors.key_bias[:, None]
    return factors.scale * torch.einsum("hd,hjd->hj", factors.query_bias, key)


def position(factors):
    """The part that the distance determines, as A in position_ij = A_j - A_i, float [heads, T].

    A is the tensor that the model adds (Falcon rounds it to bfloat16), never slope times position.
    """
    return factors.position


def row_constant(factors):
    """The part that the current token alone determines, which softmax removes, float [heads, T].

    row_constant_i = s ((q_i - b_q) . b_k + b_q . b_k) = s q_i . b_k
    """
    return factors.scale * torch.einsum("hid,hd->hi", factors.query, factors.key_bias)
