"""The datasets of an article about the regions of a text, read lazily."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import columnar
from report.datasets.formats import needle as of_needle
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
        return self._decode(FILE, decode, self.layers, self.heads)

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
        return self._decode(MAP.format(layer=layer), columnar.decode)["map"]

    @property
    def sees_later(self) -> bool:
        """Whether regions see later ones: an encoder."""
        table = self.map(0)
        return bool((table["key"] > table["query"]).any())

    @property
    def needle(self) -> dict:
        """The manifest's needle: lengths, depths, facts, texts, sets, reason."""
        return self.manifest["needle"]

    @property
    def no_needle(self) -> str:
        """Why nothing is known of facts in a long text, a sentence; "" if it is."""
        if "needle" not in self.manifest:
            return "No fact was hidden in a long text: the article says no `needle`."
        reason = self.needle["reason"]
        return f"Heads were not measured on facts in a long text: {reason}." if reason else ""

    @functools.cached_property
    def _needle(self):
        if self.no_needle:
            raise ReportError(self.no_needle)
        shape = self.layers, self.heads, len(self.needle["lengths"]), self.needle["depths"]
        return self._decode(of_needle.FILE, of_needle.decode, shape)

    def needle_heads(self, column: str) -> np.ndarray:
        """A number of every head at every length: float [layers, heads, lengths].

        column: "answer", "question"; with "_elsewhere" or "_error" behind it, see `formats.needle`
        """
        return np.asarray(self._needle["heads"][column], float).reshape(self.layers, self.heads, -1)

    def needle_depths(self, column: str) -> np.ndarray:
        """The same by depth: float [layers, heads, lengths, depths]; "answer" or
        "answer_elsewhere"."""
        shape = self.layers, self.heads, len(self.needle["lengths"]), self.needle["depths"]
        return self._needle["depths"][column].reshape(shape)

    def needle_score(self, tokens: str = "answer") -> np.ndarray:
        """How much more a head gives to a fact than to its place, the mean over lengths:
        float [layers, heads]; tokens: "answer" or "question", from which it looks."""
        more = self.needle_heads(tokens) - self.needle_heads(f"{tokens}_elsewhere")
        return more.mean(-1)

    @property
    def finders(self) -> list[tuple[int, int]]:
        """(layer, head) of those that were chosen by the first fact, by their score over all."""
        chosen = np.argwhere(self.needle_heads("chosen")[..., 0] == 1).tolist()
        score = self.needle_score()
        return sorted(((a, b) for a, b in chosen), key=lambda place: -score[place])

    def needle_losses(self) -> np.ndarray:
        """Of the answers, nats a token: float [facts, lengths, depths + 1]; the last: without the
        fact."""
        shape = len(self.needle["facts"]), len(self.needle["lengths"]), self.needle["depths"] + 1
        return self._needle["losses"]["loss"].reshape(shape)

    def needle_rises(self) -> tuple[np.ndarray, np.ndarray]:
        """The rise of the loss of the answers but the first without the `finders`, then without
        each set of random heads, and its standard error: float [lengths, 1 + sets] each."""
        table, number = self._needle["rises"], len(self.needle["lengths"])
        return table["rise"].reshape(number, -1), table["error"].reshape(number, -1)

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
    if not data.no_needle and data.needle_rises()[0].shape[1] != 1 + data.needle["sets"]:
        raise damaged(f"{data.path / of_needle.FILE}: has not {data.needle['sets']} random sets")
    for by in ("zero", "mean") if not data.about["reason"] else ():
        if len(data.rises(by)[1]) != data.about["draws"]:
            raise damaged(f"{data.path / FILE}: has not {data.about['draws']} sets of random heads")
