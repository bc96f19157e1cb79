"""Run many texts through a model layer by layer, with the weights of one layer in memory.

First every text goes through the model with empty layers (see `shell`). Then layer after
layer is read, called for every text with the hidden state that the layer before left, and let go.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from report.models.attention.capture import attached
from report.models.attention.modes import evaluating, unchanged
from report.models.attention.running import Run, output_of, require_all_called
from report.models.attention.structure import structure
from report.models.partial.shell import Call, layer_calls

if TYPE_CHECKING:
    from report.models.partial.model import Partial


@dataclass
class _Text:
    """A text on its way.

    hidden: float [1, T, hidden_size], what enters the next layer
    calls: list of Call, one a layer
    """

    run: Run
    hidden: torch.Tensor
    calls: list[Call]


def run_layer_by_layer(
    partial: "Partial", runs: list[Run], progress: Callable[..., None] | None = None
) -> list[torch.Tensor]:
    """Run texts through the measured layers of a model, layer by layer.

    partial: `Partial`; runs: list of Run
    progress: called with (texts done, texts), where a layer of all texts counts as its share
    returns: as `run_texts`
    """
    model, number = partial.model, len(partial.layers)
    parts = structure(model)[:number]
    with torch.no_grad(), evaluating(model):
        texts = _entered(partial, [part.module for part in parts], runs)
        for layer, part in enumerate(parts):
            step = _attention if layer == number - 1 else _whole
            tensors = partial.read(partial.layers[layer])
            with partial.assigned(tensors):
                part.keep_learned()
                for group in _by_recorder(texts):
                    _run_group(model, layer, part, group, step)
            partial.let_go(tensors)
            if progress:
                progress((layer + 1) * len(runs) // number, len(runs))
    return [text.hidden for text in texts]


def _entered(partial, modules, runs):
    """The texts before the first layer."""
    texts, shared = [], {}
    for run in runs:
        with _attached(partial.model, run, []), partial.rows(run.token_ids):
            texts.append(_Text(run, *layer_calls(partial.model, modules, run.token_ids, shared)))
    return texts


def _by_recorder(texts):
    """Neighbours that share a recorder, as lists: they are measured under one attachment."""

    def kind(text):
        return id(text.run.recorder), text.run.alibi_factor, text.run.attention

    same = groupby(texts, kind)
    return [list(group) for _, group in same]


def _run_group(model, layer, part, group, step):
    with _attached(model, group[0].run, [layer]) as calls:
        for text in group:
            with unchanged(part.module):
                text.hidden = step(part, text.calls[layer], text.hidden)
    if calls is not None:
        longest = max(len(text.run.token_ids) for text in group)
        require_all_called(model, calls, [layer] * len(group), longest)


def _attached(model, run, layers):
    if run.recorder is None:
        return run.untouched(model)
    return attached(model, run.recorder, layers, run.alibi_factor)


def _whole(part, call, hidden):
    """The hidden state that a layer leaves, float [1, T, hidden_size]."""
    output = call.of(part.module, hidden)
    return output[0] if isinstance(output, tuple | list) else output


def _attention(part, call, hidden):
    """The output of a layer's attention, float [T, hidden_size]; the layer is left there."""
    return output_of(part.output_projection, lambda: call.of(part.module, hidden))
