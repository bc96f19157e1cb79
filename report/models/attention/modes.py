"""How a model is run, and what is changed about it meanwhile and put back afterwards."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import count
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle
from torch.utils.weak import WeakTensorKeyDictionary
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

from report.errors import ReportError

_numbers = count()
_BUFFERS = WeakTensorKeyDictionary()
"""Buffer -> its version, and a copy of its numbers."""

CONTAINERS = (dict, list, set)
"""What `unchanged` brings back the members of; torch keeps parameters, buffers and modules in
such, and hooks, which are nobody's state, in others."""


def run_base(model: PreTrainedModel, token_ids: list[int] | torch.Tensor) -> Any:
    """One forward pass over a text, without a language-model head and without a cache.

    token_ids: list of int or int64 [T]
    raises: ReportError if the pass overwrites a weight or a buffer
    """
    with unchanged(model):
        return run_as_it_is(model, token_ids)


def run_as_it_is(model: PreTrainedModel, token_ids: list[int] | torch.Tensor) -> Any:
    """The same, of a model that is looked after by an `unchanged` of whoever calls: to look at
    every module takes longer than a pass that ends early."""
    base = model.base_model
    parameters = inspect.signature(base.forward).parameters
    has_cache = "use_cache" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
    input_ids = torch.as_tensor(token_ids, device=model.device)[None]
    with torch.no_grad():
        return base(input_ids=input_ids, **({"use_cache": False} if has_cache else {}))


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Within the context, a model may change itself; afterwards it is as it was, so that no text
    is measured in the state that another one left.

    Some models exchange modules for a short text (BigBird), or rescale rotary frequencies for a
    long one (dynamic NTK), and keep that. What comes back are the classes of modules, what they
    and their configs hold (modules, tensors, plain values), the members of their containers, and
    the numbers of buffers.
    raises: ReportError if a weight was overwritten, of which no copy is kept
    """
    holders = [*model.modules(), *_configs(model)]
    before = [(one, type(one), dict(vars(one)), _contents(one)) for one in holders]
    buffers = [(buffer, _numbers_of(buffer)) for buffer in model.buffers()]
    versions = [(name, weight, weight._version) for name, weight in model.named_parameters()]
    try:
        yield
    finally:
        for buffer, (version, numbers) in buffers:
            if buffer._version != version:
                buffer.copy_(numbers)
        for one, kind, own, contents in before:
            one.__class__ = kind
            vars(one).clear()
            vars(one).update(own)
            for name, members in contents.items():
                own[name].clear()
                (own[name].extend if isinstance(members, list) else own[name].update)(members)
    for name, weight, version in versions:
        if weight._version != version:
            raise ReportError(
                f"a forward pass of {type(model).__name__} overwrites its {name}, so what a text "
                "gives depends on the texts before it; such models are not measured"
            )


def _numbers_of(buffer):
    """The version of a buffer, and a copy of its numbers, made anew only when they are others."""
    if buffer not in _BUFFERS or _BUFFERS[buffer][0] != buffer._version:
        _BUFFERS[buffer] = buffer._version, buffer.clone()
    return _BUFFERS[buffer]


def _contents(one):
    """The plain containers among the attributes of an object, copied."""
    return {name: copy(value) for name, value in vars(one).items() if type(value) in CONTAINERS}


@contextmanager
def evaluating(model: PreTrainedModel) -> Iterator[None]:
    """Within the context, the model is in evaluation mode; every module's own mode comes back."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def hooked(hooks: list[RemovableHandle]) -> Iterator[list[RemovableHandle]]:
    """Within the context, hooks act that were registered for it; more may be added to the list."""
    try:
        yield hooks
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def forwards(replaced: dict[nn.Module, Callable]) -> Iterator[None]:
    """Within the context, modules have other forwards.

    What a library had put on an instance before comes back; else the method of the class is seen.
    """
    before = {module: vars(module).get("forward") for module in replaced}
    try:
        for module, forward in replaced.items():
            module.forward = forward
        yield
    finally:
        for module, forward in before.items():
            vars(module).pop("forward", None)
            if forward is not None:
                module.forward = forward


@contextmanager
def interface(model: PreTrainedModel, function: Callable) -> Iterator[None]:
    """Within the context, attention of `model` goes through `function`, its masks as for sdpa.

    function: as the attention interface of transformers takes it
    The mask has to be registered too: an unknown name gets none, and a sliding window is lost.
    Of a model that runs with eager attention every mask is made: without one it attends to all.
    """
    name = f"report_{next(_numbers)}"
    eager = model.config._attn_implementation == "eager"
    try:
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, _every_mask if eager else sdpa_mask)
        with implementation(model, name):
            yield
    finally:
        AttentionInterface._global_mapping.pop(name, None)
        AttentionMaskInterface._global_mapping.pop(name, None)


def _every_mask(*args, **options):
    skips = "allow_is_causal_skip", "allow_is_bidirectional_skip"
    return sdpa_mask(*args, **(options | dict.fromkeys(skips, False)))


@contextmanager
def implementation(model: PreTrainedModel, name: str) -> Iterator[None]:
    """Within the context, every config of the model names `name` as its attention implementation.

    Set past the checks of transformers, which would log, refuse, or change what it then is.
    """
    before = [(config, config._attn_implementation_internal) for config in _configs(model)]
    try:
        for config, _ in before:
            config._attn_implementation_internal = name
        yield
    finally:
        for config, own in before:
            config._attn_implementation_internal = own


def _configs(model):
    """Every config object that a part of the model looks at, those inside others included."""
    configs = {}
    waiting = [module.config for module in model.modules() if hasattr(module, "config")]
    while waiting:
        config = waiting.pop()
        if id(config) not in configs and hasattr(config, "_attn_implementation_internal"):
            configs[id(config)] = config
            waiting += [getattr(config, name, None) for name in config.sub_configs]
    return list(configs.values())
