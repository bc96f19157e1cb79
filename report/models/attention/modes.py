"""How a model is run, and what is changed about it meanwhile and put back afterwards."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

_numbers = count()


def run_base(model: PreTrainedModel, token_ids: list[int] | torch.Tensor) -> Any:
    """One forward pass over a text, without a language-model head and without a cache.

    token_ids: list of int or int64 [T]
    """
    base = model.base_model
    parameters = inspect.signature(base.forward).parameters
    has_cache = "use_cache" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )
    input_ids = torch.as_tensor(token_ids, device=model.device)[None]
    with torch.no_grad():
        return base(input_ids=input_ids, **({"use_cache": False} if has_cache else {}))


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
def interface(model: PreTrainedModel, function: Callable) -> Iterator[None]:
    """Within the context, attention of `model` goes through `function`, its masks as for sdpa.

    function: as the attention interface of transformers takes it
    The mask has to be registered too: an unknown name gets none, and a sliding window is lost.
    """
    name = f"report_{next(_numbers)}"
    try:
        AttentionInterface.register(name, function)
        AttentionMaskInterface.register(name, sdpa_mask)
        with implementation(model, name):
            yield
    finally:
        AttentionInterface._global_mapping.pop(name, None)
        AttentionMaskInterface._global_mapping.pop(name, None)


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
