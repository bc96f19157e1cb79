"""The datasets of an atlas of heads, read lazily."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.read.heads import MeasuredHeads
from report.kinds.atlas import beside
from report.kinds.passage.data import PassageModels
from report.measures import Measure, shipped


def opened(paths: Iterable[Path], labels: Sequence[str | None] = ()) -> "AtlasData | AtlasModels":
    """The data of an article: `AtlasModels` if it is about several models.

    paths: folders, one a model; labels: what to call the models, None: by their names
    """
    models = [AtlasData(path) for path in paths]
    return models[0] if len(models) == 1 else AtlasModels(models, labels)


class AtlasData(MeasuredHeads):
    """Every measure of every head of one model, over many texts and over a control."""

    kind = "atlas"
    sources: ClassVar = {"corpus": "many texts", "control": beside.SHUFFLED}
    has_corpus = True

    @property
    def models(self) -> list["AtlasData"]:
        """Its one model: itself."""
        return [self]

    @functools.cached_property
    def words(self) -> dict[str, Measure]:
        """Name -> the words of each of `measures`; of a publication's own, the little that its
        dataset says."""
        return {name: self._words(name) for name in self.measures}

    def _words(self, name):
        known = beside.NUMBERS | shipped()
        if name in known:
            return known[name]
        shows = self._read(f"heads/{name}.json")["tables"]["heads"]["columns"][name]["description"]
        title = name.replace("_", " ").capitalize()
        return Measure(name, shows, None, title=title, axis=name.replace("_", " "))

    @property
    def texts(self) -> dict:
        """The manifest's corpus: texts, tokens and left_out, and perhaps a title."""
        return self.manifest["corpus"]

    @property
    def about(self) -> dict:
        """The manifest's atlas: sequences and their length, what effects were measured on or why
        they were not."""
        return self.manifest["atlas"]


class AtlasModels(PassageModels):
    """The atlases of several models."""

    kind = "atlas"


def verify(data: AtlasData) -> None:
    """ReportError if a table is not of every head, once over the texts and once over a control."""
    heads = data.layers * data.heads
    for name in data.measures:
        table = data.measured(name)
        if table["source"].tolist() != ["corpus"] * heads + ["control"] * heads:
            raise damaged(f"{data.path / 'heads' / name}.json: is not of {heads} heads, twice")
        place = np.arange(2 * heads) % heads
        if (table["layer"] * data.heads + table["head"] != place).any():
            raise damaged(f"{data.path / 'heads' / name}.json: heads are not in their order")
