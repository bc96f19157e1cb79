"""Runs our code and transformers' in float64: a difference is then a mistake, not rounding."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode

GROUPED = ("grouped_mm", "_grouped_mm")
"""Products of experts, for which torch knows no float64."""


@contextmanager
def in_float64() -> Iterator[None]:
    """Whatever asks for float32 gets float64: our code, and that of transformers.

    Models compute norms, angles and softmaxes in float32 whatever their weights are; so it would
    not do to convert these. Models must be built inside.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Double():
            yield
    finally:
        torch.set_default_dtype(before)


class _Double(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = {name: _double(value) for name, value in kwargs.items()} if kwargs else {}
        if function is torch.Tensor.float:
            return args[0].double()
        if getattr(function, "__name__", "") in GROUPED:
            return _grouped(*args, **kwargs)
        return function(*map(_double, args), **kwargs)


def _double(value):
    return torch.float64 if value is torch.float32 else value


def _grouped(rows, weights, offs, **_):
    """Rows [n, inputs], in groups that end at `offs`, times each group's [inputs, outputs]."""
    starts = [0, *offs.tolist()]
    groups = zip(starts, starts[1:], weights, strict=False)
    return torch.cat([rows[start:end] @ weight for start, end, weight in groups])
