"""Run many texts through a model layer by layer, with the weights of one layer in memory.

First every text goes through the model with empty layers. Then layer after layer
is read, called for every text with the hidden state that the layer before left, and let go.

What layers are called with, such as masks and rotary tables, differs between kinds of layers
(Gemma 3 has two of each), so nothing is assumed: it is taken as the model passes it.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from report.errors import ReportError
from report.models.attention.capture import attached
from report.models.attention.modes import evaluating, run_base, unchanged
from report.models.attention.running import Run, output_of, require_all_called
from report.models.attention.structure import architecture, structure
from report.models.partial.model import Partial

BESIDE = object()
"""What an empty layer returns beside the hidden state: a model that hands it on to the next layer,
or computes with it, does more than to hand on the hidden state."""
STYLES = (
    lambda hidden: hidden,
    lambda hidden: (hidden,),
    lambda hidden: (hidden, BESIDE),
)
"""How layers of different families return the hidden state."""

FAILURES = (AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a model may raise over a style that is not its own."""


@dataclass
class Call:
    """What a layer is called with besides the hidden state.

    arguments: positional ones, the hidden state's place left empty; named: the others
    """

    arguments: tuple
    named: dict[str, Any]

    def of(self, module: nn.Module, hidden: torch.Tensor) -> Any:
        """The output of the layer `module` for a hidden state, float [1, T, hidden_size]."""
        if self.arguments:
            return module(hidden, *self.arguments[1:], **self.named)
        return module(**{**self.named, "hidden_states": hidden})


def layer_calls(
    model: PreTrainedModel, modules: list[nn.Module], token_ids: list[int], shared: dict
) -> tuple[torch.Tensor, list[Call]]:
    """Run a model as far as it takes to see every layer called, without computing any of them.

    modules: the layers, first to last; token_ids: list of int
    shared: dict, empty at first, that keeps the tensors that several calls or texts have in common
    returns: (hidden state that enters the first layer, float [1, T, hidden_size], list of Call)
    raises: ReportError if a model does more between its layers than to hand on the hidden state
    """
    reason = "it does more between its layers than to hand on the hidden state"
    for style in STYLES:
        seen = []
        try:
            with _empty(modules, style, seen):
                run_base(model, token_ids)
        except _SeenError:
            (hidden, _, _), *_ = seen
            return hidden, [Call(*_shared(call[1:], shared)) for call in seen]
        except _ChangedError:
            continue
        except FAILURES as error:
            reason = error
    raise ReportError(
        f"architecture {architecture(model)} cannot be run layer by layer ({reason}); load the "
        "whole model, or fewer layers"
    )


class _SeenError(Exception):
    """All layers were called."""


class _ChangedError(Exception):
    """A layer got something else than what the layer before it returned."""


@contextmanager
def _empty(modules, style, seen):
    """Within the context, layers return what they get, and their calls are added to `seen`."""
    before = [module.__dict__.get("forward") for module in modules]
    parts = [list(map(id, module.modules())) for module in modules]

    def forward(*arguments, **named):
        if arguments:
            hidden, arguments = arguments[0], (None, *arguments[1:])
        else:
            hidden = named.pop("hidden_states")
        if any(value is BESIDE for value in (*arguments, *named.values())):
            raise ReportError(
                "the layers of this model hand on more than the hidden state, so they cannot be "
                "run one at a time; load the whole model"
            )
        if seen and hidden is not seen[0][0]:
            raise _ChangedError
        seen.append((hidden, arguments, named))
        if len(seen) == len(modules):
            if parts != [list(map(id, module.modules())) for module in modules]:
                raise ReportError(
                    "the model exchanges parts of its layers for a text of this length, so it "
                    "cannot be run layer by layer; load the whole model"
                )
            raise _SeenError
        return style(hidden)

    try:
        for module in modules:
            module.forward = forward
        yield
    finally:
        for module, earlier in zip(modules, before, strict=True):
            del module.forward
            if earlier is not None:
                module.forward = earlier


def _shared(value, shared):
    """The same value, with every tensor that equals one seen before replaced by that one."""
    if isinstance(value, torch.Tensor):
        alike = shared.setdefault((value.shape, value.dtype), [])
        for other in alike:
            if other is value or torch.equal(other, value):
                return other
        alike.append(value)
        return value
    if isinstance(value, dict):
        return {key: _shared(part, shared) for key, part in value.items()}
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return type(value)(_shared(part, shared) for part in value)
    return value


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
    partial: Partial, runs: list[Run], progress: Callable[..., None] | None = None
) -> list[torch.Tensor]:
    """Run texts through the measured layers of a model, layer by layer.

    progress: called with (texts done, texts), where a layer of all texts counts as its share
    returns: as `running.run_whole`
    raises: ReportError as `Partial.run`, or for a model that cannot be run so
    """
    partial.hold(partial.before)
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
