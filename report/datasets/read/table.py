"""The datasets of an article about a table: a passage, which is its CSV, and all renderings."""

import functools

import numpy as np

from report.datasets.formats import columnar, renderings
from report.datasets.formats.token_classes import CLASSES, current_tokens, token_classes
from report.datasets.read.passage import PassageData
from report.errors import ReportError


def opened(paths):
    """`TableData` of an article; paths: its one folder."""
    return TableData(*paths)


class TableData(PassageData):
    """All datasets under one folder; the passage and its attention are of the first rendering."""

    kind = "table"

    @functools.cached_property
    def about(self):
        """The renderings/1 dataset: table, columns, rows."""
        return self._read("renderings.json")

    @functools.cached_property
    def renderings(self):
        """dict of name to `RenderedTable`, in order."""
        return {each.name: each for each in renderings.decode(self.about)}

    @functools.cached_property
    def class_shares(self):
        """Columns of the table "heads": dict of column to array."""
        return columnar.decode(self._read("class_shares.json"))["heads"]

    @functools.cached_property
    def targets(self):
        """The classes of targets that occur, names in the order of `CLASSES`."""
        found = set(self.class_shares["target"].tolist())
        return [name for name in CLASSES if name in found]

    @functools.cached_property
    def current(self):
        """Tokens of the passage whose attention is divided among the classes, list of int."""
        return current_tokens(self.first.tokens)

    @functools.cached_property
    def classes(self):
        """What every target is to every token of the passage, int [T, T], see `CLASSES`."""
        return token_classes(self.first.tokens, range(self.length))

    def shares(self, target, rendering):
        """What every head gives to a class of targets, mean over current tokens: [layer, head]."""
        return self._column("probability", target, rendering)

    def even(self, target, rendering):
        """What even attention would give to a class, float [layer]."""
        return self._column("even", target, rendering)[:, 0]

    @property
    def first(self):
        """The `RenderedTable` that is the passage."""
        return next(iter(self.renderings.values()))

    def _column(self, name, target, rendering):
        table = self.class_shares
        here = (table["target"] == target) & (table["rendering"] == rendering)
        if np.count_nonzero(here) != self.layers * self.heads:
            raise ReportError(
                f"nothing is known of targets {target!r} in rendering {rendering!r}; targets: "
                f"{', '.join(self.targets)}; renderings: {', '.join(self.renderings)}."
            )
        return table[name][here].reshape(self.layers, self.heads)
