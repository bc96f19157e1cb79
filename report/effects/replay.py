"""Runs a part of a model: from hidden states of a layer on, or from the last layer to the logits.

Layers that are left out hand on the states that they are told to; everything else is the model's
own, so masks, positions, multipliers and caps are what they always are.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from weakref import WeakKeyDictionary

import torch
from transformers import Cache, PreTrainedModel

from report.models.attention.modes import evaluating, forwards, run_base, unchanged
from report.models.attention.structure import structure

_TUPLES = WeakKeyDictionary()
NUMBERS = 2**25
"""Logits that are computed at once, at most: 128 MB."""

TOKENS = 4096
"""Of all texts of a batch, at most."""


def entering(
    model: PreTrainedModel, layer: int, states: torch.Tensor
) -> AbstractContextManager[None]:
    """Within the context, `states` enter a layer, and the layers before it are not computed.

    layer: its index; the number of layers stands for what comes after the last
    states: float [texts, T, hidden_size]; into layer 0 go the model's own embeddings
    """
    output = (states, None) if gives_tuples(model) else states
    before = structure(model)[:layer]
    return forwards({part.module: lambda *_, **__: output for part in before})


def logits_from(
    model: PreTrainedModel, states: torch.Tensor, tokens: Sequence[int] | None = None
) -> torch.Tensor:
    """What the model makes of hidden states that leave its last layer: its own logits.

    states: float [rows, hidden_size], of any tokens; each is a text of its own
    tokens: of the vocabulary, whose logits alone are computed; a model that compares the logits of
        several tokens on the way may give others then
    returns: float [rows, vocabulary or tokens]
    """
    output = model.get_output_embeddings()
    vocabulary, found = output.weight.shape[0], []
    some = nullcontext() if tokens is None else forwards({output: _of_tokens(output, tokens)})
    with evaluating(model), torch.no_grad(), some:
        for few in states.split(max(1, NUMBERS // vocabulary)):
            with entering(model, len(structure(model)), few[:, None]):
                ids = torch.zeros(len(few), 1, dtype=torch.long, device=model.device)
                with unchanged(model):
                    found.append(model(input_ids=ids, use_cache=False).logits[:, 0])
    logits = found[0] if len(found) == 1 else torch.cat(found)  # no copy of many numbers
    all_there = tokens is not None and logits.shape[-1] == vocabulary  # it has another way to them
    return logits[:, list(tokens)] if all_there else logits


def _of_tokens(output, tokens):
    """What stands in the place of the output's forward, for some tokens of the vocabulary."""
    bias = getattr(output, "bias", None)
    weight, bias = output.weight[tokens], None if bias is None else bias[tokens]
    return lambda states: torch.nn.functional.linear(states, weight, bias)


def last_states(
    model: PreTrainedModel,
    token_ids: Sequence[int] | torch.Tensor,
    texts: int,
    prefix: Cache | None = None,
) -> torch.Tensor:
    """What leaves the last layer, float [texts, T, hidden_size], of a text so many times at once.

    token_ids: of the text; or of all texts at once, int [all, T], of which `texts` follow each
        other that go on from the same text of the prefix
    prefix: the model's own cache of the tokens before the text, which is left as it is
    It is run as the model is at this moment, perhaps `entering` a later layer.
    """
    options = {"use_cache": False}
    if prefix is not None:
        options = {"past_key_values": deepcopy(prefix), "use_cache": True}
        options["past_key_values"].batch_repeat_interleave(texts)
    ids = torch.as_tensor(token_ids, device=model.device)
    ids = ids if ids.dim() == 2 else ids[None].expand(texts, -1)
    left = []
    module = structure(model)[-1].module
    hook = module.register_forward_hook(lambda _, __, output: left.append(output))
    with hook, evaluating(model), unchanged(model), torch.no_grad():
        model.base_model(input_ids=ids, **options)
    return left[0][0] if isinstance(left[0], tuple) else left[0]


def gives_tuples(model: PreTrainedModel) -> bool:
    """Whether the layers return tuples, of which the hidden state is the first; found by a run."""
    if model not in _TUPLES:
        hook = structure(model)[0].module.register_forward_hook(
            lambda _, __, output: _TUPLES.__setitem__(model, isinstance(output, tuple))
        )
        with hook, evaluating(model):
            run_base(model, [0, 0])
    return _TUPLES[model]
