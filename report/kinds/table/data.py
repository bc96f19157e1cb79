"""The datasets of an article about a table: its CSV as a passage, and all renderings."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from report.datasets.formats import columnar, renderings
from report.datasets.formats.renderings import RenderedTable
from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.errors import ReportError
from report.kinds.passage.data import PassageData


def opened(paths: Iterable[Path]) -> "TableData":
    """The data of an article: of its own model, with those beside it.

    paths: folders, one a model
    """
    first, *others = map(TableData, paths)
    first.beside = others
    return first


class TableData(PassageData):
    """All datasets under one folder; the passage and its attention are of the first rendering."""

    kind = "table"
    beside: Sequence["TableData"] = ()
    """The same table as other models read it."""

    @property
    def models(self) -> list["TableData"]:
        """It, and those beside it."""
        return [self, *self.beside]

    @functools.cached_property
    def about(self) -> dict:
        """The renderings/1 dataset: table, columns, rows."""
        return self._read("renderings.json")

    @functools.cached_property
    def renderings(self) -> dict[str, RenderedTable]:
        """Name -> rendering, in order."""
        return {rendering.name: rendering for rendering in renderings.decode(self.about)}

    @functools.cached_property
    def class_shares(self) -> dict[str, np.ndarray]:
        """Table "heads": column -> array [rows]."""
        return self._decode("class_shares.json", columnar.decode)["heads"]

    @functools.cached_property
    def targets(self) -> list[str]:
        """Names of the classes of targets that occur, always in the same order."""
        names = set(self.class_shares["target"].tolist())
        return [name for name in CLASSES if name in names]

    @functools.cached_property
    def current(self) -> list[int]:
        """Tokens of the passage whose attention is divided among the classes."""
        return current_tokens(self.first.tokens)

    @functools.cached_property
    def classes(self) -> np.ndarray:
        """The class of every target for every token of the passage, int [T, T], see `CLASSES`."""
        return token_classes(self.first.tokens, range(self.length))

    def shares(self, target: str, rendering: str) -> np.ndarray:
        """What every head gives to a class of targets, mean over current tokens: [layer, head].

        raises: ReportError if the class or the rendering does not occur
        """
        return self._column("probability", target, rendering)

    def even(self, target: str, rendering: str) -> np.ndarray:
        """What even attention would give to a class, float [layer]; raises as `shares`."""
        return self._column("even", target, rendering)[:, 0]

    @property
    def first(self) -> RenderedTable:
        """The `RenderedTable` that is the passage."""
        return next(iter(self.renderings.values()))

    def _column(self, name, target, rendering):
        table = self.class_shares
        here = (table["target"] == target) & (table["rendering"] == rendering)
        if np.count_nonzero(here) != self.layers * self.heads:
            raise ReportError(
                f"nothing was measured of targets {target!r} in rendering {rendering!r}; targets: "
                f"{', '.join(self.targets)}; renderings: {', '.join(self.renderings)}."
            )
        return table[name][here].reshape(self.layers, self.heads)


def verify(data: TableData) -> None:
    """Verify the datasets of one article about a table, beyond their schemas.

    raises: ReportError if tokens lie outside the table, or if the first rendering has others than
        the passage
    """
    rows, columns = data.about["rows"], len(data.about["columns"])
    for text in data.renderings.values():
        for token in text.tokens:
            needed = {"value": token.row >= 0 <= token.column, "header": token.column >= 0}
            inside = token.row < rows and token.column < columns
            if not (inside and needed.get(token.role, token.row == token.column == -1)):
                raise ReportError(
                    f"rendering {text.name!r}: token {token.index} is a {token.role} of row "
                    f"{token.row}, column {token.column}, in a table of {rows} rows and {columns} "
                    "columns"
                )
    first = data.first
    if [token.id for token in first.tokens] != [token.id for token in data.tokens]:
        raise ReportError(f"rendering {first.name!r} has other tokens than the passage")
