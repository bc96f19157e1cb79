"""What determines one layer's scores: queries, keys and positions, or the scores themselves."""

from dataclasses import dataclass, fields

import torch

from report.measurements.visible import Visible


@dataclass(frozen=True)
class Factors:
    """Everything that determines one layer's scores, about 3 * T * hidden_size floats.

    query: float [heads, T, head_dim], as it enters the product (rotated, biases included)
    key: float [key_heads, T, head_dim]; head h uses key head h // (heads // key_heads)
    query_bias, key_bias: float [heads or key_heads, head_dim], not rotated; None where there are
        none, or where they cannot be told from the rest
    position: float [heads, T], ALiBi as the model passes it, times the model's scale for it, or
        None without ALiBi
    scale: what the product of query and key is multiplied by
    unrotated_query, unrotated_key: as query and key, but every token rotated as token 0; None where
        nothing is rotated
    softcap: scores become softcap * tanh(score / softcap), or None
    sink: float [heads], a score that takes part in every softmax without being a target, or None
    visible: which targets a token sees; None is causal
    rotated_query_bias, rotated_key_bias: float [heads or key_heads, T, head_dim], the biases as
        each token rotates them, for `rotary_terms`; None where there are no biases or no rotation
    query_place, key_place: float [heads or key_heads, T, head_dim], the parts of query and key that
        come of positions added to the embeddings; None but in a first layer where they are known
    mixed: whether the model adds positions to its embeddings, so that what the layer reads holds
        both what tokens are and where they stand
    """

    query: torch.Tensor
    key: torch.Tensor
    query_bias: torch.Tensor | None
    key_bias: torch.Tensor | None
    position: torch.Tensor | None
    scale: float
    unrotated_query: torch.Tensor | None = None
    unrotated_key: torch.Tensor | None = None
    softcap: float | None = None
    sink: torch.Tensor | None = None
    visible: Visible | None = None
    rotated_query_bias: torch.Tensor | None = None
    rotated_key_bias: torch.Tensor | None = None
    query_place: torch.Tensor | None = None
    key_place: torch.Tensor | None = None
    mixed: bool = False

    @property
    def heads(self) -> int:
        """Number of (query) heads."""
        return self.query.shape[0]

    @property
    def length(self) -> int:
        """Number of tokens, T."""
        return self.query.shape[1]

    def range(self) -> Visible:
        """`visible`, with causal attention filled in."""
        return self.visible or Visible.causal(self.length, device=self.query.device)

    def head(self, head: int) -> "Factors":
        """The factors of one head, in float64 and with a heads axis of length 1."""
        key_head = head // (self.heads // self.key.shape[0])
        shared = ("key", "unrotated_key", "key_bias", "rotated_key_bias", "key_place")

        def one(name, value):
            if not isinstance(value, torch.Tensor):
                return value
            start = key_head if name in shared else head
            return value[start : start + 1].double()

        return Factors(
            **{field.name: one(field.name, getattr(self, field.name)) for field in fields(self)}
        )


@dataclass(frozen=True)
class Scores:
    """One layer's scores where nothing but them could be reached (a model's own softmax).

    score: float [heads, T, T], what enters the softmax; whatever it holds at targets that are not
        visible does not count
    visible: as in `Factors`
    """

    score: torch.Tensor
    visible: Visible

    sink = None
    softcap = None

    @property
    def heads(self) -> int:
        """Number of heads."""
        return self.score.shape[0]

    @property
    def length(self) -> int:
        """Number of tokens, T."""
        return self.score.shape[1]

    def range(self) -> Visible:
        """`visible`."""
        return self.visible

    def head(self, head: int) -> "Scores":
        """The scores of one head, in float64 and with a heads axis of length 1."""
        return Scores(self.score[head : head + 1].double(), self.visible)
