"""Factors kept in a file, so that a passage takes no more memory the more layers are measured."""

import tempfile
from dataclasses import fields, replace

import torch

from report.errors import ReportError
from report.measurements.factors import Factors, Scores


def stored(factors: Factors | Scores) -> Factors | Scores:
    """The same Factors (or Scores) on the CPU, sharing no memory with the model.

    Tensors of three axes lie in a temporary file, so that only what is looked at is in memory. The
    file has no name and goes when they go. The other tensors are copied.
    raises: ReportError if there is no room for the file
    """
    values = {field.name: getattr(factors, field.name) for field in fields(factors)}
    tensors = {name: one.detach().cpu() for name, one in values.items() if torch.is_tensor(one)}
    large = {name: tensor for name, tensor in tensors.items() if tensor.dim() == 3}
    small = {name: tensor.clone() for name, tensor in tensors.items() if tensor.dim() < 3}
    visible = factors.visible and factors.visible.cpu()
    return replace(factors, **small, **in_file(large), visible=visible)


def in_file(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copies of tensors that lie in a temporary file, removed once nothing refers to them.

    tensors: dict of name to tensor on the CPU; returns the same with equal ones
    raises: ReportError if there is no room for the file
    """
    try:
        # Once it is mapped it needs no name: the file stays as long as the tensors do.
        with tempfile.NamedTemporaryFile(prefix="attention-") as file:
            for tensor in tensors.values():
                tensor.contiguous().flatten().view(torch.uint8).numpy().tofile(file)
            file.flush()
            size = sum(tensor.nbytes for tensor in tensors.values())
            mapped = torch.from_file(file.name, size=size, dtype=torch.uint8)
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
