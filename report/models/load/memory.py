"""How much memory there is, and one sentence where it was not enough."""

import errno
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
