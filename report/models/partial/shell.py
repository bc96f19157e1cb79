"""What a model calls its layers with, found by running it with empty layers.

Masks and rotary tables differ between kinds of layers (Gemma 3 has two of each), so nothing is
assumed about them: they are taken as the model passes them.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from report.errors import ReportError
from report.models.attention.modes import run_base
from report.models.attention.structure import architecture

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
        for module, own in zip(modules, before, strict=True):
            del module.forward
            if own is not None:
                module.forward = own


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
