"""Read a checkpoint as if an adapter had been merged into it.

A layer over what reads the weights: whole models, models in part and layer by layer all read
through it, so all have the same numbers, whatever packages are installed. A weight W with the
matrices A [rank, inputs] and B [outputs, rank] becomes W + s B A, where s is alpha / rank, or
alpha / sqrt(rank) (rsLoRA, https://arxiv.org/abs/2312.03732). DoRA gives the weights of each
output a length of their own (https://arxiv.org/abs/2402.09353). Computed in float64, rounded once.
"""

from dataclasses import dataclass
from functools import cached_property

import torch

from report.models.find.adapters import WEIGHTS, Adapter
from report.models.find.weights import read_header
from report.models.partial.reader import Checkpoint


@dataclass
class Change:
    """What an adapter does to one stored tensor.

    instead: name, in the adapter's file, of a tensor that takes its place; None for none
    factors: names of A [rank, inputs] and B [outputs, rank]; None for none
    scale: what B A is multiplied with
    turned: whether the weight is [inputs, outputs]
    magnitude: name of the lengths [outputs] of DoRA; None for none
    """

    instead: str | None = None
    factors: tuple[str, str] | None = None
    scale: float = 1
    turned: bool = False
    magnitude: str | None = None


class AdaptedCheckpoint:
    """As the `Checkpoint` that it is made of, but with an adapter's changes.

    ranks: of the adapter's matrices, sorted; changes: dict of the checkpoint's name of a tensor to
        its `Change`
    """

    def __init__(self, base: Checkpoint, adapter: Adapter, changes: dict[str, Change]):
        self._base, self._file = base, AdapterFile(adapter.folder)
        self.changes = changes
        pairs = [change.factors for change in changes.values() if change.factors]
        self.ranks = sorted({self._file.entry(a).shape[0] for a, _ in pairs})

    def __getattr__(self, name):
        return getattr(self._base, name)

    def read(
        self, name: str, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """As `Checkpoint.read`; a changed tensor is float32 where no dtype is asked for."""
        if name not in self.changes:
            return self._base.read(name, out, dtype)
        numbers = self._changed(name, None)
        if out is None:
            return numbers.to(dtype or torch.float32)
        self._base.require_shape(name, out.shape)
        return out.copy_(numbers)

    def read_rows(
        self, name: str, rows: list[int], dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """As `Checkpoint.read_rows`."""
        if name not in self.changes:
            return self._base.read_rows(name, rows, dtype)
        return self._changed(name, rows).to(dtype or torch.float32)

    def _changed(self, name: str, rows: list[int] | None) -> torch.Tensor:
        """A changed tensor, or some rows of it, float32; rows are asked of embeddings alone."""
        change, double = self.changes[name], torch.float64
        held = self._base if change.instead is None else self._file
        source = change.instead or name
        if rows is None:
            numbers = held.read(source, dtype=double)
        else:
            numbers = held.read_rows(source, rows, double)
        if change.factors:
            a, b = (self._file.read(factor, dtype=double) for factor in change.factors)
            a = a if rows is None else a[:, rows]
            product = (b @ a).mul_(change.scale)
            numbers += product.T if change.turned else product
        if change.magnitude:
            norms = numbers.norm(dim=0 if change.turned else 1)
            factor = self._file.read(change.magnitude, dtype=double).flatten() / norms
            numbers *= factor if change.turned else factor[:, None]
        return numbers.float()


class AdapterFile(Checkpoint):
    """The tensors of an adapter."""

    @cached_property
    def files(self) -> dict[str, str]:
        return dict.fromkeys(read_header(self.folder / WEIGHTS), WEIGHTS)
