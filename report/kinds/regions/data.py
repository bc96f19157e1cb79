"""The datasets of an article about the regions of a text, read lazily."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import columnar
from report.datasets.formats.regions import CHOSEN, FILE, HEAD, MAP, RANDOM, STEP, decode
from report.datasets.read.model import ModelData, with_memory
from report.errors import ReportError
from report.kinds.passage.data import Token, tokens_of


def opened(paths: Sequence[Path], labels: Sequence[str | None] = ()) -> "RegionsData":
    """The data of an article; paths: one folder, as it is about one model."""
    return RegionsData(paths[0])


@dataclass(frozen=True)
class Region:
    """A part of the text."""

    index: int
    """Its place, from 0."""
    first: int
    """Its first token, from 0."""
    tokens: int
    """How many it has."""
    text: str
    """With everything invisible made visible."""
    added: bool
    """Whether the tokenizer added it, or a chat template wrote it, so that it is no part of the
    text."""

    @property
    def label(self) -> str:
        """What axes call it: how it begins, "“So the total…”"."""
        words = self.text if len(self.text) <= LABEL else f"{self.text[: LABEL - 1].rstrip()}…"
        return f"{self.index}  {words}"


LABEL = 18
"""Characters of a region's text on an axis, at most."""


class RegionsData(ModelData):
    """All datasets under one folder."""

    kind = "regions"

    @property
    def models(self) -> list["RegionsData"]:
        """It alone."""
        return [self]

    @property
    def about(self) -> dict:
        """The manifest's regions."""
        return self.manifest["regions"]

    @functools.cached_property
    def passage(self) -> dict:
        """The passage/1 dataset: name, title, source, licence, language, tokens."""
        return self._read("passage.json")

    @functools.cached_property
    def tokens(self) -> list[Token]:
        """The text in order."""
        return tokens_of(self.passage["tokens"])

    @property
    def what(self) -> str:
        """What the regions are, in words: "sentences"."""
        by = self.about["by"]
        return {"roles": "turns"}.get(by, by) if isinstance(by, str) else "regions"

    @functools.cached_property
    def _tables(self):
        try:
            return decode(self._read(FILE), self.layers, self.heads)
        except ReportError as error:
            if str(self.path) in str(error):
                raise
            raise damaged(f"{self.path / FILE}: {error}") from error

    @functools.cached_property
    def regions(self) -> list[Region]:
        """The regions in order."""
        table, template = self._tables["regions"], self.about.get("template", ())
        rows = zip(table["first"], table["tokens"], table["text"], strict=True)
        return [
            Region(at, int(a), int(b), str(text), at in template or self.tokens[int(a)].special)
            for at, (a, b, text) in enumerate(rows)
        ]

    @property
    def answer(self) -> list[Region]:
        """Those whose loss was asked."""
        first, last = self.about["answer"]
        return self.regions[first : last + 1]

    def of_heads(self, column: str) -> np.ndarray:
        """A number of every head, float [layers, heads]; NaN where there is none.

        column: "same", "first" or "last", "even_" before it; "unevenness", "unevenness_even",
            "unevenness_odd" or "reliability"
        raises: ReportError for another
        """
        table = self._tables["heads"]
        if column not in table:
            raise ReportError(f"{column!r} was not measured; measured are: {', '.join(table)}.")
        return np.asarray(table[column], float).reshape(self.layers, self.heads)

    @functools.cached_property
    def receivers(self) -> list[tuple[int, int]]:
        """(layer, head) of the receiver heads, the most uneven first."""
        values = self.of_heads("unevenness")
        places = np.argwhere(self.of_heads("receiver") == 1).tolist()
        return sorted(((a, b) for a, b in places), key=lambda place: -values[place])

    def received(self, column: str = "received") -> np.ndarray:
        """What regions receive: float [layers, heads, regions], NaN where it is not told.

        column: "received", "received_even" or "received_odd"
        """
        return self._tables["received"][column].reshape(self.layers, self.heads, -1)

    def between(self, layer: int, head: int) -> np.ndarray:
        """What region i gives to region j in one head: float [regions, regions]."""
        table = self.map(layer)
        shares = np.zeros((len(self.regions), len(self.regions)))
        shares[table["query"], table["key"]] = table[HEAD.format(head)]
        return shares

    @with_memory(lambda _: 4)
    def map(self, layer: int) -> dict[str, np.ndarray]:
        """The maps of a layer: query, key, and a column a head, as `formats.regions` has them."""
        return columnar.decode(self._read(MAP.format(layer=layer)))["map"]

    @property
    def sees_later(self) -> bool:
        """Whether regions see later ones: an encoder."""
        table = self.map(0)
        return bool((table["key"] > table["query"]).any())

    def rises(self, by: str) -> tuple[float, np.ndarray]:
        """The rise of the loss on the answer without the receiver heads; and without each set of
        random heads of their layers: float [sets], nats a token.

        by: "zero" or "mean", what stands in the place of a head's context
        raises: ReportError if heads could not be replaced
        """
        table = self._tables["ablated"]
        here = table["by"] == by
        if not here.any():
            raise ReportError(f"no head was replaced by {by}: {self.about['reason']}.")
        values = {name: table["rise"][here & (table["heads"] == name)] for name in (CHOSEN, RANDOM)}
        return float(values[CHOSEN][0]), values[RANDOM]


def verify(data: RegionsData) -> None:
    """Verify the datasets of an article about regions, beyond their schemas.

    raises: ReportError if the regions are not all tokens, one after the other; if what a region
        gives is more than 1; or if sets of random heads are missing
    """
    ends = [region.first + region.tokens for region in data.regions]
    if [region.first for region in data.regions] != [0, *ends[:-1]] or ends[-1] != len(data.tokens):
        raise damaged(f"{data.path / FILE}: its regions are not all tokens, one after the other")
    for layer, head in np.ndindex(data.layers, data.heads):
        most = data.between(layer, head).sum(1).max()
        if most > 1 + STEP * len(data.regions):
            name = MAP.format(layer=layer)
            raise damaged(f"{data.path / name}: a region gives {most:.3f}, which is more than 1")
    for by in ("zero", "mean") if not data.about["reason"] else ():
        if len(data.rises(by)[1]) != data.about["draws"]:
            raise damaged(f"{data.path / FILE}: has not {data.about['draws']} sets of random heads")
