"""What a model computes when nobody measures it, to compare measurements with.

Two untouched passes of transformers' own code: as the model comes (sdpa where it has it), for its
output, and eager with `output_attentions=True`, for its attention and everything around it. Nothing
here uses the code that measures, except to find the parts of a layer.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.structure import structure

SOFTMAX = (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax)


@dataclass
class Layer:
    """One layer of the eager pass.

    score: what entered the softmax, float [heads, T, T], with one more target where there is a sink
    probability: float [heads, T, T], as the model returns it
    hidden_state: float [T, hidden_size], what entered the layer
    context: float [T, heads * value_dim], what entered the output projection
    attention_output: float [T, hidden_size], what left it
    normed: float [T, hidden_size], the same after the norm that follows; None without one
    states: every float [T, hidden_size] that entered a module of the layer, and what is left of the
        layer's output without each module's; among them is the hidden state with attention added
    """

    score: torch.Tensor = None
    probability: torch.Tensor = None
    hidden_state: torch.Tensor = None
    context: torch.Tensor = None
    attention_output: torch.Tensor = None
    normed: torch.Tensor = None
    states: list[torch.Tensor] = field(default_factory=list)


def plain_logits(model: PreTrainedModel, token_ids: list[int]) -> torch.Tensor:
    """Logits [T, vocabulary] of the model as it comes."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([token_ids]), use_cache=False).logits[0]


def reference(
    model: PreTrainedModel, token_ids: list[int], alibi_twice: bool = False
) -> list[Layer]:
    """The layers of an eager pass over `token_ids`: list of Layer.

    model: a fresh one, made eager and changed by this
    alibi_twice: whether transformers' eager code counts ALiBi twice (Falcon): in the mask, from
        which it is taken away here, and in the scores
    raises: ReportError if the eager pass is not what the model computes otherwise
    """
    plain = plain_logits(model, token_ids)
    layers = [Layer() for _ in structure(model)]
    with ExitStack() as undo:
        for layer, part in zip(layers, structure(model), strict=True):
            _watch(layer, part, undo)
        output, scores = eager_pass(model, token_ids, alibi_twice, output_attentions=True)
    summed, size = summed_by([model], len(token_ids)), plain.abs().max().clamp(min=1)
    if (output.logits[0] - plain).abs().max() > tolerance(summed, size, plain.dtype):
        raise ReportError("transformers' eager pass differs from its plain one; no reference")
    if not len(layers) == len(scores) == len(output.attentions):
        raise ReportError(
            f"transformers' eager pass shows {len(scores)} softmaxes and {len(output.attentions)} "
            f"attentions of {len(layers)} layers; no reference"
        )
    for layer, score, attention in zip(layers, scores, output.attentions, strict=True):
        layer.score, layer.probability = score, attention[0]
    return layers


def eager_pass(
    model: PreTrainedModel, token_ids: list[int], alibi_twice: bool = False, **options
) -> tuple[Any, list[torch.Tensor]]:
    """What transformers' eager code returns, and what enters the softmax of each layer.

    options: more arguments for the model
    returns: (output of the model, list of float [heads, T, T], or T + 1 targets with a sink)
    """
    model.config._attn_implementation = "eager"
    parts = structure(model)
    with ExitStack() as undo:
        if alibi_twice:
            for part in parts:
                hook = part.attention.register_forward_pre_hook(_without_alibi, with_kwargs=True)
                undo.callback(hook.remove)
        spy = undo.enter_context(_Softmax(len(token_ids), parts[0].heads))
        undo.enter_context(torch.no_grad())
        ids = torch.tensor([token_ids])
        return model(input_ids=ids, use_cache=False, **options), spy.scores


class _Softmax(TorchFunctionMode):
    """Keeps what enters each softmax of attention: [heads, T, T], or T + 1 with a sink."""

    def __init__(self, length, heads):
        super().__init__()
        square = [(heads, length, length + sink) for sink in (0, 1)]
        self.shapes = [*square, *((1, *shape) for shape in square)]
        self.scores = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in SOFTMAX and tuple(args[0].shape) in self.shapes:
            self.scores.append(args[0].flatten(0, -3).clone())
        return function(*args, **kwargs or {})


def _watch(layer, part, undo):
    """Hooks that fill `layer` during a pass; `undo` removes them."""
    outputs = []

    def entering(name, module, args, kwargs):
        state = _of_tokens(args[0] if args else kwargs.get("hidden_states"))
        if state is None:
            return
        if not name:
            layer.hidden_state = state
        if module is part.output_projection:
            layer.context = state
        layer.states.append(state)

    def leaving(name, module, _, output):
        output = _of_tokens(output[0] if isinstance(output, tuple) else output)
        if output is None:
            return
        if module is part.output_projection:
            layer.attention_output = output
        if module is part.norm_after:
            layer.normed = output
        if name:
            outputs.append(output)
        else:
            layer.states += [output - other for other in outputs if other.shape == output.shape]

    for name, module in part.module.named_modules():
        for hook in (
            module.register_forward_pre_hook(partial(entering, name), with_kwargs=True),
            module.register_forward_hook(partial(leaving, name)),
        ):
            undo.callback(hook.remove)


def _of_tokens(value):
    """A copy [T, size] of a tensor [1, T, size] or [T, size] (some are changed later), or None."""
    if not isinstance(value, torch.Tensor) or value.dim() not in (2, 3):
        return None
    return value.reshape(-1, value.shape[-1]).clone()


def _without_alibi(module, args, kwargs):
    """Take ALiBi out of the mask; targets that are not visible stay so."""
    if kwargs.get("alibi") is None:
        return None
    mask = kwargs["attention_mask"]
    return args, kwargs | {"attention_mask": mask.where(mask < -1e30, torch.zeros_like(mask))}
