"""The datasets of an article about two models, or of several beside one, read lazily."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from report.datasets import store
from report.datasets.damaged import damaged
from report.datasets.formats import attention_pair, changes, columnar
from report.datasets.formats.attention import DecodedAttention
from report.datasets.read.heads import MeasuredHeads
from report.datasets.read.model import with_memory
from report.errors import ReportError
from report.kinds.difference.beside import APART, BOTH, EFFECT, MAGNITUDE
from report.kinds.passage.data import PassageModels, Token, tokens_of
from report.measures import Measure, named, shipped


def opened(
    paths: Iterable[Path], labels: Sequence[str | None] = ()
) -> "DifferenceData | DifferenceModels":
    """The data of an article: `DifferenceModels` if several models are compared with one.

    paths: folders, one a model; labels: what to call the models, None: by their names
    """
    models = [DifferenceData(path) for path in paths]
    return models[0] if len(models) == 1 else DifferenceModels(models, labels)


class DifferenceData(MeasuredHeads):
    """Every head of a model beside the same head of the reference."""

    kind = "difference"
    sources: ClassVar = {"corpus": "the texts"}
    has_corpus = False
    """Nothing to choose from: all is measured on the same texts."""

    @property
    def about(self) -> dict:
        """The manifest's difference: the reference, the halves of the texts, losses."""
        return self.manifest["difference"]

    @property
    def reference(self) -> str:
        """The reference's name in titles, without the owner that it has on the hub."""
        return self.about["reference"]["name"].rpartition("/")[2]

    @property
    def texts(self) -> dict:
        """The manifest's corpus: texts, tokens and left_out, and perhaps a title."""
        return self.manifest["corpus"]

    @functools.cached_property
    def _changes(self) -> dict[str, np.ndarray]:
        return self._decode(changes.FILE, columnar.decode)["changes"]

    @functools.cached_property
    def words(self) -> dict[str, Measure]:
        """Name -> the words of each measure that was taken in both models; see `own_words`."""
        beginning = changes.CHANGE.format("")
        names = [name.removeprefix(beginning) for name in self._changes if beginning in name]
        return {name: self._words(name) for name in names}

    def _words(self, name):
        known = shipped() | BOTH
        if name in known:
            return known[name]
        column = self._read(changes.FILE)["tables"]["changes"]["columns"]
        shows = column[changes.REFERENCE.format(name)]["description"]
        return self.own_words(name, shows)

    def column(self, which: str, measure: str) -> np.ndarray:
        """A column of a measure: float [layer, head]; NaN where it does not apply.

        which: "reference_{}", "change_{}", "error_{}" or "halves_{}"
        raises: ReportError for a measure that was not taken
        """
        values = self._changes[which.format(named(measure, self.words))]
        return values.reshape(self.layers, self.heads)

    @property
    def has_updates(self) -> bool:
        """Whether updates of both models could be measured."""
        return MAGNITUDE.name in self.words

    @property
    def no_effects(self) -> str:
        """Why direct effects on next tokens are not known, a sentence; "" if they are."""
        if EFFECT.name in self.words:
            return ""
        reason = self.about.get("no_effects")
        return (
            f"Direct effects were not measured: {reason}"
            if reason
            else "Direct effects were not measured when these datasets were made."
        )

    @property
    def mapped(self) -> list[tuple[int, int]]:
        """(layer, head) of those whose attention over a text is kept, the one that moved most over
        all texts first."""
        return [tuple(each) for each in self.about.get("maps", [])]

    @property
    def no_maps(self) -> str:
        """Why no head's attention over a text is kept, a sentence; "" if it is."""
        if self.mapped:
            return ""
        if "maps" not in self.about:
            return "The attention of single heads was not kept when these datasets were made."
        return (
            f"No text has {attention_pair.LONGEST} tokens or fewer, so none is short enough for a "
            "map of its tokens."
        )

    @functools.cached_property
    def tokens(self) -> list[Token]:
        """The text over which heads' attention is kept, in order; none where it is of no head."""
        return tokens_of(self._read("passage.json")["tokens"]) if self.mapped else []

    @with_memory(lambda _: 16)
    def pair(self, place: int) -> tuple[DecodedAttention, DecodedAttention]:
        """The attention of a head over that text, in the reference and in the model.

        place: among `mapped`
        raises: ReportError for a place that there is not, or if the file is damaged
        """
        if not 0 <= place < len(self.mapped):
            raise ReportError(
                f"head {place} of those with a map is asked for; there are {len(self.mapped)}, "
                "counted from 0"
            )
        name = attention_pair.FILE.format(place)
        dataset = self._read(name)
        for of in ("reference", "model"):
            store.check(dataset[of], f"{self.path / name}: {of}")
        try:
            return attention_pair.decode(dataset)
        except ReportError as error:
            raise damaged(f"{self.path / name}: {error}") from error


class DifferenceModels(PassageModels):
    """Several models beside one reference."""

    kind = "difference"

    @property
    def reference(self) -> str:
        """The reference's name in titles."""
        return self.models[0].reference


def verify(data: DifferenceData) -> None:
    """ReportError if a table is not of every head, in order, the reference has other heads, or a
    map is of another head or text than the manifest says."""
    heads, reference = data.layers * data.heads, data.about["reference"]
    if (reference["num_hidden_layers"], reference["num_attention_heads"]) != (
        data.layers,
        data.heads,
    ):
        raise damaged(f"{data.path / 'manifest.json'}: the reference has not the model's heads")
    tables = {changes.FILE: data._changes}
    tables |= {f"heads/{name}.json": data.measured(name) for name in data.measures}
    for file, table in tables.items():
        place = np.asarray(table["layer"]) * data.heads + table["head"]
        if place.tolist() != list(range(heads)):
            raise damaged(f"{data.path / file}: is not of {heads} heads in their order")
    for place, head in enumerate(data.mapped):
        before, _ = data.pair(place)
        if (before.layer, before.head) != head or len(before.score) != len(data.tokens):
            name = attention_pair.FILE.format(place)
            raise damaged(f"{data.path / name}: is not of L{head[0]}H{head[1]} over the text")
    if missing := [name for name in APART if data.has_updates and name not in data.measures]:
        raise damaged(f"{data.path}: has no {missing[0]}")
