"""Factors kept in a file, so that a long passage takes no more memory the more layers it has."""

import tempfile
from dataclasses import fields, replace

import numpy as np
import torch

from report.errors import ReportError
from report.measurements.factors import Factors, Scores

IN_MEMORY = 2**25
"""Bytes of a passage that stay in memory. To write them to a file takes ten times as long."""


def stored(factors: Factors | Scores, layers: int = 1) -> Factors | Scores:
    """The same Factors (or Scores) on the CPU, sharing no memory with the model.

    layers: how many such layers there will be. If all of them together have more than `IN_MEMORY`
        bytes, tensors of three axes lie in a temporary file, so that only what is looked at is in
        memory. The file has no name and goes when they go. All other tensors are copied.
    raises: ReportError if there is no room for the file
    """
    values = {field.name: getattr(factors, field.name) for field in fields(factors)}
    tensors = {name: one.detach().cpu() for name, one in values.items() if torch.is_tensor(one)}
    large = {name: tensor for name, tensor in tensors.items() if tensor.dim() == 3}
    filed = layers * sum(tensor.nbytes for tensor in large.values()) > IN_MEMORY
    found = in_file(large) if filed else {}
    for name in tensors.keys() - found.keys():
        found[name] = tensors[name].clone(memory_format=torch.contiguous_format)
    return replace(factors, **found, visible=factors.visible and factors.visible.cpu())


def in_file(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies of tensors that lie in a temporary file, removed once nothing refers to them.

    tensors: dict of name to tensor on the CPU; returns the same with equal ones
    raises: ReportError if there is no room for the file
    """
    try:
        # It has no name, so nothing is left of it, whatever ends this process.
        with tempfile.TemporaryFile() as file:
            for tensor in tensors.values():
                tensor.contiguous().flatten().view(torch.uint8).numpy().tofile(file)
            file.flush()
            mapped = torch.from_numpy(np.memmap(file, np.uint8, "c"))
    except OSError as error:
        raise ReportError(
            f"no room for what is measured: {error}; free some space in "
            f"'{tempfile.gettempdir()}', or set TMPDIR to a folder on a larger disk"
        ) from error
    parts = mapped.split([tensor.nbytes for tensor in tensors.values()])
    return {
        name: part.view(tensor.dtype).view(tensor.shape)
        for (name, tensor), part in zip(tensors.items(), parts, strict=True)
    }
