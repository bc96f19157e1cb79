"""A model without its weights, in which nothing can be computed with weights that nobody read.

Parameters are on torch's meta device (shapes, no memory), and so are the floating-point buffers
that checkpoints store. All other buffers (rotary frequencies, embedding scales, position ids) are
real, as the model makes them for itself.
"""

from contextlib import contextmanager

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

from report.errors import ReportError

ALWAYS_FLOAT32 = "_keep_in_fp32_modules_strict"
"""Where a class of transformers names the parameters that are never rounded to 16 bits."""


def skeleton(
    model_class: type,
    config: PretrainedConfig,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
    **options,
) -> PreTrainedModel:
    """A model in evaluation mode without weights; its own buffers are on `device`.

    model_class: of transformers, an automatic one or not
    options: as its `from_config` takes them (attn_implementation; trust_remote_code)
    Calling a part whose weights were not assigned raises a ReportError that names them.
    """
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    with _parameters_without_memory():
        model = build(config, dtype=dtype, **options)
    for path, module in model.named_modules():
        for name, buffer in module.named_buffers(recurse=False):
            stored = name not in module._non_persistent_buffers_set
            without = stored and buffer.is_floating_point()
            module._buffers[name] = buffer.to("meta" if without else device)
        if module._parameters or module._buffers:
            module.register_forward_pre_hook(_guard(path))
    for name, parameter in model.named_parameters():
        if any(part in name for part in getattr(model, ALWAYS_FLOAT32, None) or ()):
            assign(model, name, parameter.float())
    return model.eval()


def assign(model: PreTrainedModel, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Put a tensor in place of the parameter or buffer of that name; returns what was there."""
    path, _, leaf = name.rpartition(".")
    module = model.get_submodule(path)
    if leaf in module._parameters:
        before = module._parameters[leaf]
        if not isinstance(tensor, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=False)
        module._parameters[leaf] = tensor
    else:
        before, module._buffers[leaf] = module._buffers[leaf], tensor
    return before


@contextmanager
def _parameters_without_memory():
    """Within the context, parameters of new modules are on the meta device; buffers are real."""
    register = nn.Module.register_parameter

    def on_meta(module, name, parameter):
        if parameter is not None and not parameter.is_meta:
            parameter = nn.Parameter(parameter.to("meta"), requires_grad=False)
        register(module, name, parameter)

    nn.Module.register_parameter = on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _guard(path):
    """A hook that stops a module from running without its weights."""

    def require_weights(module, _):
        own = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        lacking = [name for name, tensor in own if tensor.is_meta]
        if lacking and "forward" not in vars(module):  # somebody else computes it
            raise ReportError(
                f"'{path}.{lacking[0]}' is needed but not in memory, as this model was loaded in "
                "part; measure fewer layers, or load the whole model"
            )

    return require_weights
