"""Whether a config and weights belong together, found out before memory is asked for."""

import copy
import math
from pathlib import Path

import torch
from transformers import PretrainedConfig, PreTrainedModel
from transformers.initialization import no_init_weights
from transformers.pytorch_utils import Conv1D

from report.errors import ReportError
from report.models.find import weights
from report.models.gguf.file import is_gguf
from report.models.load.sentences import one_sentence
from report.models.load.stated import layers_stated
from report.models.partial.packed import PackedCheckpoint, open_checkpoint
from report.models.partial.stored import stored_names, unused_names
from report.models.quantised.packing import UNMISTAKABLE
from report.text import count, quoted

DEEP = 200
"""A config may always state this many layers: some models run the same weights many times."""

TABLES = 1 << 26
"""Bytes that a model may always take for what is not in its weights: masks, tables of positions."""


def require_layers_held(config: PretrainedConfig, folder: str | Path, name: str) -> None:
    """Stop for a config that says many more layers than its weights have, in any of its parts.

    config: of the whole model; folder: of the checkpoint; name: of the model
    raises: ReportError naming both numbers
    """
    layers = {weights.layer_of(tensor) for tensor in weights.weight_map(folder)}
    number = max((layer for layer in layers if layer is not None), default=-1) + 1
    for key, stated in layers_stated(config.to_dict()).items():
        if stated > max(DEEP, number):
            raise ReportError(
                f"model '{name}': config.json says {stated:,} layers ({key}), its weights have "
                f"{number}; config.json belongs to other weights"
            )


def require_shapes(
    model_class: type,
    config: PretrainedConfig,
    folder: str | Path,
    name: str,
    renamed: dict[str, str] | None = None,
    whole: bool = True,
    **options,
) -> PreTrainedModel | None:
    """Stop for a config that no model can have, or that asks for other weights or more memory.

    model_class, config, options: as `skeleton.skeleton` takes them; renamed: as
        `stored.stored_names`
    whole: whether all weights are to be there; else files that are missing count for nothing
    returns: the model without its weights; None where code of its own cannot build it so
    raises: ReportError naming the first tensor that does not fit, or why none can be built
    """
    try:
        model = without_memory(model_class, config, name, options)
    except ReportError:
        if "trust_remote_code" in options:  # it may compute with numbers while it is built
            return None
        raise
    checkpoint = open_checkpoint(folder)
    headers = checkpoint.shapes(whole)
    _require_meant(checkpoint, model, headers, name)
    stored = stored_names(model, headers, renamed)
    asked = {own: list(tensor.shape) for own, tensor in model.state_dict().items()}
    lacking = [own for own in asked if own not in stored]
    for own, shape in asked.items():
        if own in stored and stored[own].converter is None:
            held = headers[stored[own].names[0]]
            if held != shape:
                raise ReportError(
                    f"model '{name}': its weights cannot be loaded: {own} is stored as {held}, "
                    f"config.json asks for {shape}; it belongs to other weights"
                )
    numbers = sum(map(math.prod, headers.values()))
    # tied to another one, or made by the model itself; never most of it
    if whole and sum(math.prod(asked[own]) for own in lacking) > numbers:
        raise ReportError(
            f"the weights of '{name}' lack {len(lacking)} tensors, the first is {lacking[0]}; "
            "nothing is filled in with random numbers"
        )
    tables = {own: buffer.nbytes for own, buffer in model.named_buffers() if own not in asked}
    if sum(tables.values()) > TABLES + numbers:
        raise ReportError(
            f"model '{name}': config.json asks for {sum(tables.values()):,} bytes of tables beside "
            f"its {numbers:,} weights, most of them for {max(tables, key=tables.get)}; it belongs "
            "to other weights"
        )
    return model


def _require_meant(checkpoint, model, headers, name):
    """Stop for packed weights of which nobody says how, or which are the other way round."""
    if not isinstance(checkpoint, PackedCheckpoint):
        packed = next(filter(UNMISTAKABLE.fullmatch, headers), None)
        if packed is not None:
            raise ReportError(
                f"model '{name}': its weights are packed ({quoted(packed)}), and its config.json "
                "does not say how; copy the whole folder again, or use the checkpoint that it was "
                "made from"
            )
    elif any(isinstance(module, Conv1D) for module in model.modules()):
        raise ReportError(
            f"model '{name}' is quantised, and its architecture holds matrices the other way "
            "round (Conv1D), of which packed weights do not tell; use the checkpoint that it was "
            "made from"
        )


def require_all_used(
    model: PreTrainedModel, folder: str | Path, name: str, renamed: dict[str, str] | None = None
) -> list[str]:
    """Stop for a tensor of a checkpoint that a model has no place for: its numbers would be left
    out without a word, as those of layers beyond the ones that config.json states. And for whole
    numbers in the place of a weight, which mean nothing without scales.

    model: its weights may have no memory; folder, name, renamed: as of `require_shapes`
    returns: names of tensors that are left out and lie beside all that is measured, as a head of
        another task
    raises: ReportError naming the first
    """
    checkpoint = open_checkpoint(folder)
    if is_gguf(folder):
        stored = stored_names(model, checkpoint.files, renamed)
        used = {source for each in stored.values() for source in each.names}
        if left := sorted(checkpoint.files.keys() - used):
            raise ReportError(
                f"model '{name}': its weights hold {left[0]}, for which a model of these settings "
                "has no place; use another file of this model, or its checkpoint in safetensors"
            )
        return []
    held = dict.fromkeys(checkpoint.files) | checkpoint.shapes(whole=False)
    asked = model.state_dict()
    for own, stored in stored_names(model, held, renamed).items():
        for source in stored.names if asked[own].is_floating_point() else ():
            if held[source] is None or checkpoint.entry(source).dtype.is_floating_point:
                continue
            raise ReportError(
                f"model '{name}': its weights hold {quoted(source)} as whole numbers "
                f"({checkpoint.entry(source).dtype}), and no scales for it; copy the checkpoint "
                "again, or use it in bfloat16 or float32"
            )
    unused, beside = unused_names(model, held, renamed)
    if unused := [one for one in unused if not _adds_nothing(checkpoint, one, held[one])]:
        raise ReportError(
            f"model '{name}' has {count(len(unused), 'tensor')} that its architecture leaves out, "
            f"the first is {quoted(unused[0])}; config.json and the weights do not belong "
            "together, so mend config.json (does it state fewer layers, or switch biases or norms "
            "off?)"
        )
    return beside


def _adds_nothing(checkpoint, name, shape):
    """Whether a tensor is a bias of zeros, as programs that pack weights give to every matrix."""
    is_bias = name.endswith(".bias") and shape is not None and len(shape) == 1
    return is_bias and not checkpoint.read(name).any()


def without_memory(
    model_class: type, config: PretrainedConfig, name: str, options: dict
) -> PreTrainedModel:
    """The model that a config describes, of shapes alone; as of `require_shapes`."""
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    with (
        one_sentence(f"'{name}/config.json' describes no model that can be built"),
        torch.device("meta"),
        no_init_weights(),
    ):
        return build(copy.deepcopy(config), **options)
