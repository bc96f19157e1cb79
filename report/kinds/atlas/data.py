"""The datasets of an atlas of heads, read lazily."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from report.datasets import store
from report.datasets.damaged import damaged
from report.datasets.formats import columnar, portraits
from report.datasets.read.heads import MeasuredHeads, require_heads
from report.datasets.read.model import ModelData
from report.kinds.atlas import beside
from report.kinds.atlas.composition import Composition
from report.kinds.atlas.copying import Copying
from report.kinds.atlas.successor import Successor
from report.kinds.passage.data import PassageModels
from report.measures import Measure, shipped
from report.text import isolated

APART = {each.kind: each for each in (Composition, Copying, Successor)}
"""Name -> the class of what is measured apart, and is an attribute of that name."""


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
    composition: Composition | None = None
    """Which heads compose; None where it was not measured, or cannot be."""
    why_not_composed: str = ""
    """Why that cannot be measured of this model."""
    copying: Copying | None = None
    """What heads write for what they read; its scores are then among `measures`."""
    successor: Successor | None = None
    """Successor scores, which are then one of `measures`; None where they were not measured."""

    @property
    def apart(self) -> Sequence[ModelData]:
        """What was measured apart."""
        return [each for each in (self.composition, self.copying, self.successor) if each]

    def with_apart(self, paths: Iterable[Path]) -> "AtlasData":
        """The same with what was measured apart of this model; paths: folders of any model."""
        data = AtlasData(self.path)
        for manifest, path in ((ModelData(path).manifest, path) for path in paths):
            if manifest["model"]["name"] == self.manifest["model"]["name"]:
                part = APART[manifest["kind"]](path)
                if reason := getattr(part, "reason", ""):
                    data.why_not_composed = reason
                else:
                    setattr(data, manifest["kind"], part)
        return data

    @functools.cached_property
    def measures(self) -> list[str]:
        """Names of the measures of heads that were taken, sorted; see `report.measures`."""
        apart = [each.measures for each in self.apart if isinstance(each, MeasuredHeads)]
        return sorted(chain(super().measures, *apart))

    def _read(self, name):
        for each in self.apart:
            if name in each.manifest["files"]:
                return store.read_measured(each.path, name, each.manifest)
        return super()._read(name)

    @functools.cached_property
    def words(self) -> dict[str, Measure]:
        """Name -> the words of each of `measures`; see `own_words`."""
        return {name: self._words(name) for name in self.measures}

    def _words(self, name):
        known = beside.OF_WEIGHTS | beside.NUMBERS | shipped()
        if name in known:
            return known[name]
        shows = self._read(f"heads/{name}.json")["tables"]["heads"]["columns"][name]["description"]
        return self.own_words(name, shows)

    @property
    def texts(self) -> dict:
        """The manifest's corpus: texts, tokens and left_out, and perhaps a title."""
        return self.manifest["corpus"]

    @property
    def about(self) -> dict:
        """The manifest's atlas: sequences and their length, what effects were measured on or why
        they were not."""
        return self.manifest["atlas"]

    @functools.cached_property
    def portraits(self) -> dict[str, dict[str, np.ndarray]]:
        """Table -> column -> array, as `report.datasets.formats.portraits` describes them."""
        return self._decode(portraits.FILE, columnar.decode)

    @property
    def has_examples(self) -> bool:
        """Whether texts are shown, and tokens named."""
        return "examples" in self.portraits

    def portrait(self, table: str, layer: int, head: int) -> dict[str, np.ndarray]:
        """The rows of a table that are of one head: column -> array."""
        columns = self.portraits[table]
        here = (columns["layer"] == layer) & (columns["head"] == head)
        return {name: values[here] for name, values in columns.items()}

    @functools.cached_property
    def _spelt(self):
        words = self.portraits["words"]
        return dict(zip(words["token"].tolist(), words["text"].tolist(), strict=True))

    def word(self, token: int) -> str:
        """The text of a token; its bytes, "⟨e2 80⟩", where it is not whole characters, or ▯ in
        datasets that do not have them."""
        return isolated(self._spelt[token].replace("\ufffd", "▯"))

    def scores(self, layer: int, head: int) -> dict[int, float]:
        """Number of each text of the sample -> how strong a head is in it, 0 to 1."""
        texts, place = self.portraits["sample"]["text"].tolist(), layer * self.heads + head
        scores = self.portraits["scores"]["score"][place * len(texts) :][: len(texts)]
        return dict(zip(texts, scores.tolist(), strict=True))

    def examples(self, layer: int, head: int) -> list["Example"]:
        """The texts that a head is shown with: the best first, then ever weaker ones."""
        of = self.portrait("examples", layer, head)
        return [self._example(of, n) for n in range(len(of["text"]))]

    @functools.cached_property
    def _places(self):
        """(layer, head, text) of an example -> where its tokens begin in the table of looks."""
        of = self.portraits["examples"]
        begins = np.cumsum(of["tokens"]) - of["tokens"]
        return {
            each: int(at)
            for *each, at in zip(of["layer"], of["head"], of["text"], begins, strict=True)
            for each in [tuple(map(int, each))]
        }

    @functools.cached_property
    def _ids(self):
        """Number of a text -> (its first token that is kept, its token ids from there on)."""
        texts, ids = self.portraits["texts"], self.portraits["ids"]["token"]
        ends = np.cumsum(texts["tokens"])
        return {
            int(number): (int(start), ids[end - tokens : end].tolist())
            for number, start, tokens, end in zip(
                texts["text"], texts["start"], texts["tokens"], ends, strict=True
            )
        }

    @functools.cached_property
    def _parts(self):
        """(number of a text, place of a token) -> which part of which character it is."""
        columns = self.portraits.get("parts")
        if columns is None:  # of datasets that were frozen before there was such a table
            return {}
        places = zip(columns["text"].tolist(), columns["place"].tolist(), strict=True)
        return dict(zip(places, map(isolated, columns["part"].tolist()), strict=True))

    def _example(self, of, n):
        layer, head, text, start, tokens = (
            int(of[name][n]) for name in ("layer", "head", "text", "start", "tokens")
        )
        at, looks = self._places[layer, head, text], self.portraits["looks"]
        first, ids = self._ids[text]
        return Example(
            text,
            int(of["best"][n]),
            int(of["above"][n]),
            float(of["score"][n]),
            start,
            [
                self._parts.get((text, place)) or self.word(token)
                for place, token in enumerate(ids[start - first :][:tokens], start)
            ],
            looks["strength"][at : at + tokens] / 100,
            looks["target"][at : at + tokens],
        )


@dataclass(frozen=True)
class Example:
    """A part of a text as a head reads it.

    text: number of the text; best: its place among all texts, 0 if it is not among the best
    above: per cent of the texts of the sample that are weaker
    score: mean strength over the whole text; a token's strength is the largest probability that it
        gives to another token than the first of the text
    start: the first token of the part; words: its tokens' texts
    strength: float [tokens]; target: int [tokens], places in the text, -1 for none
    """

    text: int
    best: int
    above: int
    score: float
    start: int
    words: list[str]
    strength: np.ndarray
    target: np.ndarray


class AtlasModels(PassageModels):
    """The atlases of several models."""

    kind = "atlas"

    @property
    def apart(self) -> Sequence[ModelData]:
        """What was measured apart."""
        return [each for model in self.models for each in model.apart]

    def with_apart(self, paths: Sequence[Path]) -> "AtlasModels":
        """The same with what was measured apart; paths: folders, of any of the models."""
        models = AtlasModels(self.models)
        models.__dict__ |= vars(self) | {"models": [each.with_apart(paths) for each in self.models]}
        return models


def verify(data: AtlasData) -> None:
    """ReportError if a table is not of every head, once over the texts and once over a control."""
    require_heads(data)
    _verify_portraits(data)


def _verify_portraits(data):
    """ReportError if portraits are not of all heads, or name what is not there."""
    where, heads, tables = data.path / portraits.FILE, data.layers * data.heads, data.portraits
    distances, shares = (tables["distances"][name] for name in ("distance", "share"))
    bins = len({*distances})
    if len(shares) != heads * bins or (distances.reshape(heads, bins) != distances[:bins]).any():
        raise damaged(f"{where}: distances are not of {heads} heads and {bins} bins")
    if shares.min() < 0 or shares.reshape(heads, bins).sum(1).max() > 1 + bins * portraits.STEP:
        raise damaged(f"{where}: a head gives more than all its attention")
    if not data.has_examples:
        return
    examples, sample = tables["examples"], tables["sample"]["text"]
    if len(tables["scores"]["score"]) != heads * len(sample):
        raise damaged(f"{where}: scores are not of {heads} heads and {len(sample)} texts")
    if examples["tokens"].sum() != len(tables["looks"]["target"]):
        raise damaged(f"{where}: examples have {examples['tokens'].sum()} tokens")
    if missing := {*tables["ids"]["token"], *tables["tokens"]["token"]} - {
        *tables["words"]["token"]
    }:
        raise damaged(f"{where}: has no text of token {min(missing)}")
    for layer, head in np.ndindex(data.layers, data.heads):
        for example in data.examples(layer, head):
            if len(example.words) != len(example.target):
                raise damaged(f"{where}: text {example.text} lacks tokens of an example")
