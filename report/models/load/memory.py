"""How much memory there is, and where a model's weights go: whole into one device, over several, or
one layer at a time."""

import errno
import importlib.util
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from report.errors import ReportError

SHARE = 0.6
"""A model takes at most this share of the free memory; the rest is for what is measured."""

SAID = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")
"""Parts of the messages of torch's allocators and of CUDA's libraries."""


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Within the context, running out of memory is a ReportError that says what to reduce.

    what: what was going on, e.g. "loading the weights"
    Running out of memory that Linux had promised kills a process instead, which nobody can catch.
    """
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if not is_lack_of_memory(error):
            raise
        raise ReportError(
            f"out of memory while {what}: take a shorter passage, fewer layers (--layers 0-3), "
            "half the precision (--dtype bfloat16), or one layer at a time (--layer-by-layer)"
        ) from error


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return getattr(error, "errno", None) == errno.ENOMEM or any(part in str(error) for part in SAID)


def available(device: torch.device) -> float:
    """Bytes of free memory of a torch.device; infinite where nobody says."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min(_meminfo(Path("/proc/meminfo")), _control_group(Path("/sys/fs/cgroup")))


def free(name: str) -> float:
    """Bytes of free memory where weights may go, of all devices that `placement` spreads them over.

    name: of a device, as `device_named` takes it
    """
    device = device_named(name)
    if name == "auto" and device.type == "cuda":
        return sum(available(torch.device("cuda", at)) for at in range(torch.cuda.device_count()))
    return available(device)


def _meminfo(path):
    """Memory that Linux can give without swapping, from its own list, which is in KiB."""
    try:
        lines = path.read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return float("inf")


def _control_group(folder):
    """What a container's limit leaves; file caches count as used there, but can be freed."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        fields = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return limit - used + int(fields["inactive_file"])
    except (OSError, KeyError, ValueError):
        return float("inf")


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


def at_most_threads(number: int) -> None:
    """Let torch compute with no more threads than that, whatever the environment says."""
    torch.set_num_threads(min(number, torch.get_num_threads()))


def has_cuda() -> bool:
    """Whether this torch can use a GPU of this machine."""
    return torch.cuda.is_available()
