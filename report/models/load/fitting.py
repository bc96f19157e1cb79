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
"""A config may always state this many layers: some models run the same weights many times."""


def require_layers_held(config: PretrainedConfig, folder: str | Path, name: str) -> None:
    """Stop for a config that says many more layers than its weights have.

    config: of the text part; folder: of the checkpoint; name: of the model
    raises: ReportError naming both numbers
    """
    layers = {weights.layer_of(tensor) for tensor in weights.weight_map(folder)}
    number = max((layer for layer in layers if layer is not None), default=-1) + 1
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

    model_class, config, options: as `skeleton.skeleton` takes them; renamed: as
        `stored.stored_names`
    raises: ReportError naming the first tensor that does not fit
    """
    build = getattr(model_class, "_from_config", None) or model_class.from_config
    try:
        with torch.device("meta"):  # shapes, and no memory
            model = build(copy.deepcopy(config), **options)
    except Exception:  # loading the model says what is wrong
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
            held = headers[stored[own].names[0]]
            if held != shape:
                raise ReportError(
                    f"model '{name}': its weights cannot be loaded: {own} is stored as {held}, "
                    f"config.json asks for {shape}; it belongs to other weights"
                )
    # tied to another one, or made by the model itself; never most of it
    if sum(math.prod(asked[own]) for own in lacking) > sum(map(math.prod, headers.values())):
        raise ReportError(
            f"the weights of '{name}' lack {len(lacking)} tensors, the first is {lacking[0]}; "
            "nothing is filled in with random numbers"
        )
