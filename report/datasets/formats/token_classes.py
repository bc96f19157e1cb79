"""What a target token is to a token of a table: the classes that attention is divided among.

A token of a cell sees its own cell, the cells above it in the same column, all other cells, names
of columns and delimiters. The first token is a class of its own, whatever it is. Every target
belongs to exactly one class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from report.models.text.cells import TokenPlace

CLASSES = {
    "first_token": "the first token of the text, whatever it is",
    "header": "the name of a column, wherever it stands",
    "delimiter": "what stands between names and cells, and the marks around them",
    "own_cell": "the cell that the current token belongs to, the token itself included",
    "same_column": "cells of the same column in earlier rows",
    "other_cells": "every other cell",
    "other": "tokens that the tokenizer added, but for the first; those over the edge of a cell or "
    "name; and what goes to no token",
}
"""Name of a class -> description, in the order of figures."""

FIRST_ROW = 1
"""Current tokens are those of cells from this row on (index from 0); cells of the row before have
no cell above them."""


def current_tokens(places: Sequence[TokenPlace]) -> list[int]:
    """The tokens whose attention is divided: those of cells that have a cell above.

    places: [T]
    """
    return [
        token
        for token, place in enumerate(places)
        if token and place.role == "value" and place.row >= FIRST_ROW
    ]


def token_classes(places: Sequence[TokenPlace], current: Sequence[int] | None = None) -> np.ndarray:
    """The class of every target for some current tokens.

    places: [T]
    current: default: those of `current_tokens`. For a token outside the cells, all cells are
        "other_cells"
    returns: int [current tokens, T], indices into `CLASSES`
    """
    current = current_tokens(places) if current is None else current
    names = list(CLASSES)
    role = np.array([place.role for place in places])
    row, column = (np.array([getattr(p, name) for p in places]) for name in ("row", "column"))
    current = np.array(current, int)
    here, same = row[current, None], column[current, None] == column
    classes = np.full((len(current), len(places)), names.index("other"))
    for name, belongs in (
        ("header", role == "header"),
        ("delimiter", role == "delimiter"),
        ("other_cells", role == "value"),
        ("same_column", (role == "value") & same & (row < here)),
        ("own_cell", (role == "value") & same & (row == here)),
    ):
        classes[np.broadcast_to(belongs, classes.shape)] = names.index(name)
    classes[:, 0] = names.index("first_token")
    return classes
