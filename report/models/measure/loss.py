"""How well a model predicts a text."""

import torch


def predicts(loaded):
    """Whether a model gives the probability of the next token, and all of it is here."""
    name = type(loaded.model).__name__
    return ("CausalLM" in name or "LMHead" in name) and loaded.partial is None


@torch.no_grad()
def token_losses(model, token_ids):
    """Negative log probability of every token but the first, in nats: float64 [tokens - 1].

    model: of transformers, that predicts the next token
    token_ids: int [tokens]; the model reads it as a batch of one
    """
    batch = torch.as_tensor(token_ids)[None].to(model.device)
    logits = model(batch, use_cache=False).logits[0, :-1].double()
    return torch.nn.functional.cross_entropy(logits, batch[0, 1:], reduction="none").cpu().numpy()


def text_loss(model, token_ids):
    """The sum of `token_losses`, float."""
    return float(token_losses(model, token_ids).sum())


def mean_loss(model, texts):
    """Mean negative log probability of every token but each text's first, in nats a token.

    texts: list of lists of token ids
    """
    total = sum(text_loss(model, text) for text in texts)
    return total / sum(len(text) - 1 for text in texts)
