"""Finds the parts of a model by what runs: no family is known by its name."""

import torch
from torch import nn
from transformers import PreTrainedModel

from report.effects.passing import RowRecorder, kept, logits_of
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.models.attention.capture import attached
from report.models.attention.modes import hooked
from report.models.attention.probe import architecture, text_config
from report.models.attention.structure import LayerStructure


def require_one_way(model: PreTrainedModel, token_ids: list[int], logits: torch.Tensor) -> None:
    """Stop for encoders, by what they do: another last token changes what is said at the first.

    raises: ReportError
    """
    other = [*token_ids[:-1], (token_ids[-1] + 1) % text_config(model).vocab_size]
    off = (logits_of(model, other)[0] - logits[0]).abs().max()
    if off > tolerance(summed_by([model], len(token_ids)), float(logits.abs().max()), logits.dtype):
        raise ReportError(
            f"architecture {architecture(model)} reads in both directions (an encoder), so it "
            "predicts no next token, and heads have no effect on one"
        )


def feed_forward_of(
    part: LayerStructure, layer: int, kept_layer: dict, rest: torch.Tensor, limit: float
) -> tuple[nn.Module, float]:
    """The module whose output is what a layer adds beside its attention, and what multiplies it.

    kept_layer: module -> what left it, float [T, hidden_size]
    rest: what left the layer less what entered it and the attention's update, the same shape
    raises: ReportError if there is none
    """
    for factor in {1.0, part.residual_multiplier}:
        for module, output in kept_layer.items():
            if output.shape == rest.shape:
                off = float((factor * output.double() - rest).abs().max())
                if off <= limit:
                    return module, factor
    raise ReportError(
        f"layer {layer}: what leaves it is not the sum of what entered it, its attention's update "
        "and its feed-forward's, as in models with a norm after each sum; its parts cannot be told "
        "apart, and direct effects are not measured"
    )


def final_norm(
    model: PreTrainedModel, layers: nn.ModuleList, last: torch.Tensor, token_ids: list[int]
) -> nn.Module:
    """The norm that takes the last layer's output.

    last: float [T, hidden_size], the last layer's output
    raises: ReportError if there is none
    """
    inside = {id(module) for layer in layers for module in layer.modules()}
    outside = [
        module
        for module in model.modules()
        if id(module) not in inside and "norm" in type(module).__name__.lower()
    ]
    with kept({module: (module, "in") for module in outside}, len(token_ids)) as found:
        logits_of(model, token_ids)
    for module, state in found.items():
        if state.shape == last.shape and torch.equal(state, last):
            return module
    raise ReportError(
        f"architecture {architecture(model)} has no norm after its last layer, so its logits "
        "cannot be shared out by one; direct effects are not measured"
    )


def factor_between(before: torch.Tensor, after: torch.Tensor, limit: float) -> float | None:
    """The number that makes `after` of `before`, 1.0 where they are equal; None if none does."""
    if before.shape != after.shape:
        return None
    before, after = before.double(), after.double()
    factor = float((before * after).sum() / (before * before).sum())
    factor = 1.0 if abs(factor - 1) < limit else factor
    close = float((factor * before - after).abs().max()) <= limit * float(after.abs().max())
    return factor if close else None


def value_biases(
    model: PreTrainedModel, parts: list[LayerStructure], token_ids: list[int]
) -> tuple[list[torch.Tensor | None], set[int]]:
    """What heads write for tokens of which they are told nothing: zeros instead of hidden states.

    returns: (a layer each: float [heads * value_dim], None if all 0; the layers with sinks)
    """

    def nothing(_, args, kwargs):
        if args:
            return (torch.zeros_like(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": torch.zeros_like(kwargs["hidden_states"])}

    recorder = RowRecorder([0])
    contexts = {index: (part.output_projection, "in") for index, part in enumerate(parts)}
    hooks = [part.attention.register_forward_pre_hook(nothing, with_kwargs=True) for part in parts]
    with hooked(hooks), attached(model, recorder), kept(contexts, len(token_ids), [0]) as found:
        logits_of(model, token_ids)
    biases = []
    for index, part in enumerate(parts):
        bias, value = found[index][0], recorder.values[index]
        if value is not None:  # a sink would take its share of the context
            bias = value[:, 0].repeat_interleave(part.heads // len(value), 0).flatten()
        biases.append(bias if bias.any() else None)
    return biases, recorder.sinks
