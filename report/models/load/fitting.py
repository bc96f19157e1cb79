"""Whether a config and weights belong together, found out before memory is asked for."""

import copy
import math
from pathlib import Path

import torch
from transformers import PretrainedConfig

from report.errors import ReportError
from report.models.find import weights
from report.models.partial.stored import stored_names

DEEP = 200
"""Layers that a config may say beyond those of the weights: some models use a layer many times."""


def require_layers_held(config: PretrainedConfig, folder: str | Path, name: str) -> None:
    """Stop for a config that says many more layers than its weights have.

    config: of the text part; folder: of the checkpoint; name: of the model
    """
    held = {weights.layer_of(tensor) for tensor in weights.weight_map(folder)}
    number = max((each for each in held if each is not None), default=-1) + 1
    if config.num_hidden_layers > max(DEEP, number):
        raise ReportError(
            f"model '{name}': config.json says {config.num_hidden_layers:,} layers, its weights "
            f"have {number}; config.json belongs to other weights"
        )


def require_shapes(
    model_class: type,
    config: PretrainedConfig,
    folder: str | Path,
    name: str,
    renamed: dict[str, str] | None = None,
    **options,
) -> None:
    """Stop for weights of other shapes than a config asks for, or of far fewer tensors.

    model_class, config, options: as `partial_skeleton.skeleton` takes them; renamed: as
        `partial_names.stored_names`
    """
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    try:
        with torch.device("meta"):  # shapes, and no memory
            model = build(copy.deepcopy(config), **options)
    except Exception:  # what cannot be built so is told by who loads it
        return
    headers = {
        tensor: facts["shape"]
        for path in weights.weight_files(folder)
        for tensor, facts in weights.read_header(path).items()
    }
    stored = stored_names(model, headers, renamed)
    asked = {own: list(tensor.shape) for own, tensor in model.state_dict().items()}
    lacking = [own for own in asked if own not in stored]
    for own, shape in asked.items():
        if own in stored and stored[own].converter is None:
            found = headers[stored[own].names[0]]
            if found != shape:
                raise ReportError(
                    f"model '{name}': its weights cannot be loaded: {own} is stored as {found}, "
                    f"config.json asks for {shape}; it belongs to other weights"
                )
    # tied to another one, or made by the model itself; never most of it
    if sum(math.prod(asked[own]) for own in lacking) > sum(map(math.prod, headers.values())):
        raise ReportError(
            f"the weights of '{name}' lack {len(lacking)} tensors, the first is {lacking[0]}; "
            "nothing is filled in with random numbers"
        )
