"""A self-check that was passed: what it depends on, what is kept of it, and how that is taken."""

import math
import os
import platform
from typing import TYPE_CHECKING, Any

import torch

from report.models.attention.self_check import SEED, SUMMED
from report.models.attention.structure import route_of

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

VARIABLES = (
    "ATEN_",
    "CUBLAS",
    "CUDA_",
    "CUDNN",
    "DNNL",
    "KMP_",
    "MKL_",
    "NVIDIA_",
    "ONEDNN",
    "OMP_",
)
VARIABLES += ("OPENBLAS", "PYTORCH", "TORCH")
"""Beginnings of the names of variables that say how libraries compute."""


def computes(loaded: "LoadedModel") -> dict[str, Any]:
    """How this process computes with a model: processor, devices, precision, settings of torch."""
    found = {
        "torch": torch.__config__.show(),
        "threads": torch.get_num_threads(),
        "processor": [platform.machine(), torch.backends.cpu.get_cpu_capability()],
        "matrices": [str(torch.get_default_dtype()), torch.get_float32_matmul_precision()],
        "dtype": loaded.identity["dtype"],
        "device": loaded.identity["device"],
        "variables": {
            name: os.environ[name] for name in sorted(os.environ) if name.startswith(VARIABLES)
        },
    }
    if "cuda" in found["device"]:
        places = range(torch.cuda.device_count())
        found["cards"] = [torch.cuda.get_device_name(place) for place in places]
    return found


def outcome(loaded: "LoadedModel") -> dict[str, Any]:
    """What a model that has passed is known by: JSON of its `checked`, and of each layer whether
    updates are measured."""
    return {
        "checked": loaded.checked,
        "measures_updates": [part.measures_updates for part in loaded.structure],
    }


def take(loaded: "LoadedModel", found: Any) -> bool:
    """Whether an earlier outcome can be this model's and is that of a check that was passed; then
    the model counts as checked.

    found: of any form
    """
    try:
        checked, updates = found["checked"], found["measures_updates"]
        differences, limits = checked["differences"], checked["limits"]
        passed = (
            len(differences) > 0
            and differences.keys() == limits.keys() <= SUMMED.keys()
            and all(0 <= differences[name] <= limits[name] < math.inf for name in limits)
            and (checked["seed"], checked["layers_called"]) == (SEED, loaded.measured_layers)
            and checked["capabilities"]["route"] == route_of(loaded.model)
            and [type(each) for each in updates] == [bool] * len(loaded.structure)
        )
    except (KeyError, TypeError, AttributeError):
        return False
    if passed:
        for part, measures in zip(loaded.structure, updates, strict=True):
            part.measures_updates = measures
        loaded.checked = checked
        loaded.identity["capabilities"] = checked["capabilities"]
    return passed
