"""How well a model predicts a text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import PreTrainedModel

from report.models.attention.modes import unchanged
from report.models.attention.running import require_sound_logits

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def predicts(loaded: "LoadedModel") -> bool:
    """Whether a model predicts the next token and is loaded whole."""
    name = type(loaded.model).__name__
    return ("CausalLM" in name or "LMHead" in name) and loaded.partial is None


@torch.no_grad()
def token_losses(model: PreTrainedModel, token_ids: Sequence[int]) -> np.ndarray:
    """Negative log probability of every token but the first, in nats: float64 [tokens - 1].

    model: of transformers, that predicts the next token
    token_ids: int [tokens]; the model reads it as a batch of one
    """
    batch = torch.as_tensor(token_ids)[None].to(model.device)
    with unchanged(model):
        logits = require_sound_logits(model(batch, use_cache=False).logits[0, :-1]).double()
    return torch.nn.functional.cross_entropy(logits, batch[0, 1:], reduction="none").cpu().numpy()


def text_loss(model: PreTrainedModel, token_ids: Sequence[int]) -> float:
    """The sum of `token_losses`, float."""
    return float(token_losses(model, token_ids).sum())


def mean_loss(model: PreTrainedModel, texts: Sequence[Sequence[int]]) -> float:
    """Mean negative log probability of every token but each text's first, in nats a token.

    texts: list of lists of token ids
    """
    total = sum(text_loss(model, text) for text in texts)
    return total / sum(len(text) - 1 for text in texts)
