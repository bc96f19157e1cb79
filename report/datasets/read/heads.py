"""The tables of heads of a model: one a measure, over some texts each."""

import functools
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import columnar, head_statistics
from report.datasets.read.model import ModelData, with_memory
from report.measures import Measure, named


class MeasuredHeads(ModelData):
    """Datasets with a table of heads for each measure."""

    sources: ClassVar[Mapping[str, str]]
    """What a row of a table may be measured on -> the same in words."""
    by_author: Mapping[str, Measure] = MappingProxyType({})
    """The publication's own measures, by name. Their words are in no dataset."""

    def own_words(self, name: str, shows: str) -> Measure:
        """The words of a measure that does not ship; shows: its description in the dataset, which
        is all there is once the publication has no file of it."""
        title = name.replace("_", " ").capitalize()
        return self.by_author.get(name) or Measure(
            name, shows, None, title=title, axis=title.lower()
        )

    @functools.cached_property
    def measures(self) -> list[str]:
        """Names of the measures of heads that were taken, sorted; see `report.measures`."""
        before, after = head_statistics.FILE.split("{}")
        names = [name for name in self.manifest["files"] if name.startswith(before)]
        return sorted(name.removeprefix(before).removesuffix(after) for name in names)

    def measured(self, measure: str) -> dict[str, np.ndarray]:
        """A measure of all heads: column -> array [source x layer x head].

        Its columns are source, layer, head, the measure, and rank_, error_, spread_ and even_ with
        its name: place in the layer, standard error and standard deviation over texts, and what
        even attention would give.
        raises: ReportError for a measure that was not taken, or a damaged dataset
        """
        return self._measured(named(measure, self.measures))

    @with_memory(lambda _: math.inf)
    def _measured(self, measure):
        name = head_statistics.FILE.format(measure)
        heads = self._decode(name, columnar.decode).get("heads", {})
        wanted = {"source", "layer", "head", measure, f"rank_{measure}"}
        if missing := sorted(wanted - heads.keys()):
            raise damaged(f"{self.path / name}: has no column {missing[0]!r}")
        return heads

    def of_heads(self, column: str, measure: str, source: str) -> np.ndarray:
        """A column of a measure's table over one of `sources`: float [layer, head]."""
        return self._of_heads(column, named(measure, self.measures), source)

    @with_memory(lambda _: math.inf)
    def _of_heads(self, column, measure, source):
        table = self._measured(measure)
        values = table[column][table["source"] == source].reshape(self.layers, self.heads)
        values.setflags(write=False)  # all who ask get the same
        return values

    @functools.cached_property
    def head_statistics(self) -> dict[str, np.ndarray]:
        """All measures in one table: column -> array [source x layer x head]."""
        return {
            name: values
            for measure in self.measures
            for name, values in self.measured(measure).items()
        }


def require_heads(data: MeasuredHeads) -> None:
    """ReportError if a table is not of every head, once of what was measured, once of a control."""
    heads = data.layers * data.heads
    for name in data.measures:
        table = data.measured(name)
        if table["source"].tolist() != ["corpus"] * heads + ["control"] * heads:
            raise damaged(f"{data.path / 'heads' / name}.json: is not of {heads} heads, twice")
        place = np.arange(2 * heads) % heads
        if (table["layer"] * data.heads + table["head"] != place).any():
            raise damaged(f"{data.path / 'heads' / name}.json: heads are not in their order")
