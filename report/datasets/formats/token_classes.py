"""What a target token is to a token of a table: the classes that attention is divided among.

A token of a cell has, of everything that it sees, its own cell and the cells above it in the same
column; the names of columns; delimiters; all other cells; and the first token, which is a class of
its own whatever it says. Every target is of one class.
"""

import numpy as np

CLASSES = {
    "first_token": "the first token of the text, whatever it is",
    "header": "the name of a column, wherever it stands",
    "delimiter": "what stands between names and cells, and the marks around them",
    "own_cell": "the cell that the current token belongs to, the token itself included",
    "same_column": "cells of the same column in earlier rows",
    "other_cells": "every other cell",
    "other": "tokens that the tokenizer added, but for the first; and what goes to no token",
}
"""Name -> what it is, in the order in which figures list them."""

FIRST_ROW = 1
"""Current tokens are those of cells from this row on (index from 0): above the row before it
there is no cell of the same column."""


def current_tokens(places):
    """The tokens whose attention is divided: those of cells that have a cell above.

    places: [T], objects with role, row and column, see `report.models.text.cells.TokenPlace`
    returns: list of int
    """
    return [
        token
        for token, place in enumerate(places)
        if token and place.role == "value" and place.row >= FIRST_ROW
    ]


def token_classes(places, current=None):
    """The class of every target for some current tokens.

    places: as of `current_tokens`; current: list of int, default: those of `current_tokens`. For a
        token that is no part of a cell, all cells are other cells.
    returns: int [current tokens, T], indices into `CLASSES`
    """
    current = current_tokens(places) if current is None else current
    names = list(CLASSES)
    role = np.array([place.role for place in places])
    row, column = (np.array([getattr(p, name) for p in places]) for name in ("row", "column"))
    current = np.array(current, int)
    here, same = row[current, None], column[current, None] == column
    found = np.full((len(current), len(places)), names.index("other"))
    for name, is_one in (
        ("header", role == "header"),
        ("delimiter", role == "delimiter"),
        ("other_cells", role == "value"),
        ("same_column", (role == "value") & same & (row < here)),
        ("own_cell", (role == "value") & same & (row == here)),
    ):
        found[np.broadcast_to(is_one, found.shape)] = names.index(name)
    found[:, 0] = names.index("first_token")
    return found
