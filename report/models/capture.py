"""Attach to a model so that every layer's attention is measured, and undo everything afterwards."""

from contextlib import contextmanager

import torch

from report.errors import ReportError
from report.models import falcon

FAMILIES = {family.MODEL_TYPE: family for family in (falcon,)}
"""How to reach a family's tensors, by the model_type of its config. A new family is one file."""

UNMASKED = "report_measured"
"""A name under which transformers knows no mask: the model then builds no [1, heads, T, T] mask."""


def family_of(config):
    """The family module for a model's config; ReportError if it is not supported."""
    family = FAMILIES.get(config.model_type)
    if family is None:
        raise ReportError(
            f"architecture '{config.model_type}' is not supported; "
            f"supported: {', '.join(sorted(FAMILIES))}"
        )
    family.require_supported(config)
    return family


@contextmanager
def attached(model, record):
    """Within the context, every layer's attention of `model` is computed by `record`.

    record: called with (layer, hidden_state, factors, value): layer int; hidden_state float
        [T, hidden_size], what enters the layer; Factors; value float [heads, T, head_dim];
        returns the context [heads, T, head_dim]
    yields: the list of layers measured so far, in the order of the calls
    The model is as before afterwards, also when an exception passes: forwards, hooks, attention
    implementation, and every module's training mode (within, the model is in evaluation mode).
    """
    family = family_of(model.config)
    calls = []
    modules = list(model.modules())
    training = [module.training for module in modules]
    implementation = model.config._attn_implementation_internal
    undo = []
    try:
        model.eval()
        model.config._attn_implementation_internal = UNMASKED
        for index, layer in enumerate(family.layers(model)):
            undo.append(_attach_layer(family, index, layer, record, calls))
        yield calls
    finally:
        for undo_layer in undo:
            undo_layer()
        model.config._attn_implementation_internal = implementation
        for module, mode in zip(modules, training, strict=True):
            module.training = mode


def _attach_layer(family, index, layer, record, calls):
    """Hook one layer and replace its attention's forward; returns the function that undoes both."""
    entering = {}

    def remember(_, args, kwargs):
        hidden_states = args[0] if args else kwargs["hidden_states"]
        entering["hidden_state"] = hidden_states[0]

    def record_layer(factors, value):
        calls.append(index)
        hidden_state = entering.pop("hidden_state")
        if not torch.isfinite(hidden_state).all():
            raise ReportError(
                f"layer {index}, every head: the hidden state that enters the layer is NaN or "
                "infinite; check the weights, and measure in float32"
            )
        return record(index, hidden_state, factors, value)

    module = family.attention(layer)
    before = module.__dict__.get("forward")  # set where a library has wrapped the instance
    hook = layer.register_forward_pre_hook(remember, with_kwargs=True)
    module.forward = family.measured_forward(module, record_layer)

    def undo():
        hook.remove()
        del module.forward  # the method of the class is visible again
        if before is not None:
            module.forward = before

    return undo


def run_measured(model, token_ids, record, logits=False):
    """One forward pass over `token_ids` [T] with `record` attached; gradients and cache are off.

    returns: logits float [T, vocabulary] if asked for, otherwise None (the language-model head is
        not computed)
    raises: ReportError if not every layer's attention came through `record` exactly once
    """
    input_ids = torch.as_tensor(token_ids, device=model.device)[None]
    forward = model if logits else model.base_model
    with torch.no_grad(), attached(model, record) as calls:
        output = forward(input_ids=input_ids, use_cache=False)
    expected = model.config.num_hidden_layers
    if calls != list(range(expected)):
        raise ReportError(
            f"measured attention was called for layers {calls}, expected each of 0 to "
            f"{expected - 1} once; this version of transformers reaches attention in another way"
        )
    return output.logits[0] if logits else None
