"""The stored tensors that make one weight, and what each format has to say about them.

A weight `q_proj.weight` may be stored as `q_proj.weight_packed`, `q_proj.weight_scale` and others.
What these names have in common is the stem (`q_proj`); what follows it is the part's ending.
Nothing that is stored is believed: a format states what it needs before it reads what is large.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from report.errors import ReportError
from report.text import quoted

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
"""What scales are stored as."""

Shape = tuple[int, ...]


class Entry(Protocol):
    """What is known of a stored tensor before it is read."""

    dtype: torch.dtype
    shape: Shape
    bytes: int


@dataclass(frozen=True)
class Parts:
    """The stored tensors that make one weight.

    weight: what the model calls it; names: dict of ending -> name of the stored tensor
    entry: function of a name -> `Entry`; read_tensor: function of a name and of the rows wanted
        (None for all) -> tensor as stored
    rows: of the weight, where only these are wanted
    """

    weight: str
    names: dict[str, str]
    entry: Callable[[str], Entry]
    read_tensor: Callable[[str, Sequence[int] | None], torch.Tensor]
    rows: tuple[int, ...] | None = None

    def __contains__(self, ending: str) -> bool:
        return ending in self.names

    def dtype(self, ending: str) -> torch.dtype:
        """The dtype of a part."""
        return self.entry(self.names[ending]).dtype

    def shape(self, ending: str) -> Shape:
        """The whole shape of a part, also where only some rows are wanted."""
        return tuple(self.entry(self.names[ending]).shape)

    def read(self, ending: str) -> torch.Tensor:
        """A part as stored, its wanted rows only."""
        return self.read_tensor(self.names[ending], self.rows)

    def of_rows(self, rows: Sequence[int]) -> "Parts":
        """The same parts, of which only these rows are read."""
        return replace(self, rows=tuple(rows))

    def require(self, ending: str, dtypes: Sequence[torch.dtype], shape: Shape | None = None):
        """Stop for a part of another dtype, or of another shape.

        raises: ReportError naming the tensor, and what it should be
        """
        if self.dtype(ending) not in dtypes:
            allowed = " or ".join(map(_word, dtypes))
            raise self.refused(ending, f"is {_word(self.dtype(ending))}, and should be {allowed}")
        if shape is not None and self.shape(ending) != tuple(shape):
            is_now, wanted = list(self.shape(ending)), list(shape)
            raise self.refused(ending, f"has the shape {is_now}, and should have {wanted}")

    def require_matrix(self, ending: str, dtypes: Sequence[torch.dtype]) -> Shape:
        """The shape of a part that has to be a matrix with something in it."""
        self.require(ending, dtypes)
        shape = self.shape(ending)
        if len(shape) != 2 or min(shape) < 1:
            raise self.refused(ending, f"has the shape {list(shape)}, and should be a matrix")
        return shape

    def require_groups(self, ending: str, numbers: int, group: int) -> None:
        """Stop where the numbers of a row, or of a column, of a part make no whole groups."""
        if numbers % group:
            raise self.refused(ending, f"has {numbers} numbers, no whole groups of {group}")

    def refused(self, ending: str, why: str) -> ReportError:
        """The ReportError about a part."""
        return ReportError(
            f"{quoted(self.weight)} cannot be unpacked: its part {quoted(self.names[ending])} "
            f"{why}; download or copy the checkpoint again, or use the one it was made from"
        )


class Format(Protocol):
    """How one weight is packed.

    stem: pattern of the name of the part by which the format is told, its first group the stem
    needed, optional: endings of the parts; made: what follows the stem in the weight's name
    by_rows: whether a row of the weight is made of the same row of every part
    """

    stem: re.Pattern[str]
    needed: tuple[str, ...]
    optional: tuple[str, ...]
    made: str
    by_rows: bool

    def shape(self, parts: Parts) -> Shape:
        """The shape of the weight; ReportError for parts that do not fit together."""

    def kind(self, parts: Parts) -> str:
        """What its numbers are, such as "INT4"; asked for after the shape."""

    def numbers(self, parts: Parts) -> torch.Tensor:
        """The numbers of the weight, float32, computed in float32; parts were asked for their
        shape before."""


def _word(dtype):
    return str(dtype).removeprefix("torch.")
