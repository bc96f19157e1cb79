"""What a model's attention is handed to while it is measured."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch

from report.measurements.factors import Factors, Scores


class Recorder(ABC):
    """Gets each layer's attention while a model runs, and returns the context that goes on.

    wants_factors: whether biases and unrotated queries and keys are filled in; if not, measuring
        costs no projection and no rotation more than the model's own pass
    wants_rotary_terms: whether the rotated biases are filled in too
    updates: None, or a method called with (layer, hidden_state, context, attention_output) once the
        output projection has run: what enters the layer, float [T, hidden_size]; what enters the
        projection, float [heads, T, value_dim]; and what leaves it, float [T, hidden_size]. Never
        called for models whose updates cannot be told, see `LayerStructure.measures_updates`.
    """

    wants_factors: bool = True
    wants_rotary_terms: bool = False
    updates: Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], None] | None = None

    @abstractmethod
    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Take one layer's attention.

        value: float [key_heads, T, value_dim]; None with Scores
        returns: the context, float [heads, T, value_dim]; None with Scores
        """
