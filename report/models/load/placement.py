"""Where a model's weights go: whole into one device, over several, or one layer at a time."""

import importlib.util
import re

import torch

from report.errors import ReportError
from report.models.load.memory import SHARE, available

DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")


def device_named(name: str) -> torch.device:
    """The torch.device that a name stands for; one that is there.

    name: "cpu", "cuda", "cuda:1", or "auto": CUDA where there is one
    raises: ReportError for another name, or a device that is not there
    """
    if not DEVICE.fullmatch(name):
        raise ReportError(f"device {name!r} is not known; choose auto, cpu, cuda, or cuda:1")
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ReportError(
            f"device {name!r} is not there: torch sees {torch.cuda.device_count()} CUDA devices; "
            "choose auto or cpu"
        )
    return device


def placement(
    size: int, name: str, device: torch.device, layer_by_layer: bool | None = None
) -> str:
    """How weights are kept.

    size: their bytes as computed with; name: of the device as asked for; device: what it stands for
    layer_by_layer: True or False as asked for; None: only if nothing else fits
    returns: "whole", "several devices" or "layer by layer"
    raises: ReportError where several devices need a package that is not installed
    """
    if layer_by_layer is not None:
        return "layer by layer" if layer_by_layer else "whole"
    if size <= SHARE * available(device):
        return "whole"
    gpus = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    spread = name == "auto" and device.type == "cuda"
    if not spread or size > SHARE * sum(map(available, gpus)):
        return "layer by layer"
    if importlib.util.find_spec("accelerate") is None:
        raise ReportError(
            f"{size / 1e9:.1f} GB of weights do not fit on one of the "
            f"{len(gpus)} GPUs, and spreading them needs the package accelerate; "
            "`pip install accelerate`, or keep one layer in memory at a time (--layer-by-layer)"
        )
    return "several devices"


def use_threads(number: int) -> None:
    """Let torch compute with so many threads in this process."""
    torch.set_num_threads(number)


def has_cuda() -> bool:
    """Whether this torch can use a GPU of this machine."""
    return torch.cuda.is_available()
