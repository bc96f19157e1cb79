"""The datasets of an article about two prompts, read lazily."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats.pair import CHANNELS, ERROR, FILE, HEADS, LEAST, STEP, decode
from report.datasets.read.model import ModelData
from report.errors import ReportError
from report.kinds.passage.data import Token, tokens_of
from report.kinds.prediction.pieces import Part


def opened(paths: Sequence[Path], labels: Sequence[str | None] = ()) -> "PairData":
    """The data of an article; paths: one folder, as it is about one model."""
    return PairData(paths[0])


@dataclass(frozen=True)
class Prompt:
    """One of the two; of a set of pairs, what they have in common."""

    text: str
    """Of a set with the names of places, such as {name}."""
    tokens: list[Token]
    """Of a set the name of its place stands for a token that is in one."""
    difference: float
    """Logit of the answer less that of the other; of a set the mean."""


@dataclass(frozen=True)
class OnePair:
    """A pair of a set, its places filled."""

    clean: str
    corrupted: str
    answer: str
    other: str
    differences: tuple[float, float]
    """As of `Prompt`, after the clean prompt and after the corrupted one."""


@dataclass(frozen=True)
class Edge:
    """What a head reads of an earlier part."""

    sender: Part
    layer: int
    head: int
    """Of the receiver."""
    by: str
    """ "Q", "K" or "V"."""
    value: float
    """Share of the way from the corrupted run to the clean one."""
    error: float | None = None
    """Its standard error over pairs; None of a single pair."""

    @property
    def receiver(self) -> tuple[int, int]:
        """(layer, head) of the receiver."""
        return self.layer, self.head


@dataclass(frozen=True)
class Receiver:
    """A head whose edges were measured."""

    layer: int
    head: int
    matched: bool
    """Whether it is a random head of a receiver's layer, to compare with."""
    senders: int
    """Parts before its layer that write something else in the clean run."""
    whole: dict[str, float]
    """ "Q", "K", "V" and "all" -> what comes back if it reads all of the clean run by that."""

    @property
    def place(self) -> tuple[int, int]:
        """(layer, head)."""
        return self.layer, self.head


class PairData(ModelData):
    """All datasets under one folder."""

    kind = "pair"

    @property
    def about(self) -> dict:
        """The manifest's pair."""
        return self.manifest["pair"]

    @functools.cached_property
    def clean(self) -> Prompt:
        """The prompt that the answer goes on from."""
        return self._prompt("clean")

    @functools.cached_property
    def corrupted(self) -> Prompt:
        """The same with something exchanged."""
        return self._prompt("corrupted")

    def _prompt(self, name):
        about, tokens = self.about[name], tokens_of(self.about[name]["tokens"])
        if "set" in self.about:
            places = self.about["set"]["places"][name]
            if len(places) != len(tokens):
                raise damaged(f"{self.path}: its places are not those of the {name} prompts")
            tokens = [_placed(*each) for each in zip(tokens, places, strict=True)]
        return Prompt(about["text"], tokens, about["difference"])

    @functools.cached_property
    def pairs(self) -> list[OnePair]:
        """All pairs; the only one, where it is no set."""
        if "set" not in self.about:
            of = self.clean, self.corrupted
            answers = self.about["answer"], self.about["other"]
            differences = tuple(item.difference for item in of)
            return [OnePair(*(item.text for item in of), *answers, differences)]
        each = self.about["set"]["pairs"]
        return [OnePair(**item | {"differences": tuple(item["differences"])}) for item in each]

    @property
    def start(self) -> int:
        """The first token that differs, from 0; before it both runs are the same."""
        return self.about["start"]

    @property
    def changed(self) -> range:
        """The tokens from there on."""
        return range(self.start, len(self.clean.tokens))

    @functools.cached_property
    def _tables(self):
        about = self.layers, self.heads, self.changed, len(self.pairs) > 1
        return self._decode(FILE, decode, *about)

    def at_tokens(self, way: str) -> np.ndarray:
        """What patching each head at each token alone does, float [layers, heads, changed tokens].

        way: "restored" or "lost"; of a set a mean over pairs
        """
        return self._tables["tokens"][way].reshape(self.layers, self.heads, len(self.changed))

    def errors_at_tokens(self, way: str) -> np.ndarray | None:
        """Standard errors of the same over pairs; None of a single pair."""
        return self.at_tokens(ERROR.format(way)) if len(self.pairs) > 1 else None

    def of_heads(self, what: str) -> np.ndarray:
        """What patching or ablating each head at all tokens does, float [layers, heads].

        what: "restored", "lost", "zero" or "mean"; of a set a mean over pairs
        raises: ReportError for another
        """
        return self._of_heads(what, what)

    def errors_of_heads(self, what: str) -> np.ndarray | None:
        """Standard errors of the same over pairs; None of a single pair."""
        return self._of_heads(what, ERROR.format(what)) if len(self.pairs) > 1 else None

    def _of_heads(self, what, column):
        if what not in HEADS:
            raise ReportError(f"{what!r} was not measured; measured are: {', '.join(HEADS)}.")
        return self._tables["heads"][column].reshape(self.layers, self.heads)

    @functools.cached_property
    def receivers(self) -> list[Receiver]:
        """Heads whose edges were measured, those with the largest effects first; then the random
        ones. Empty where paths cannot be told apart, see `about["reason"]`."""
        table = self._tables["receivers"]
        return [
            Receiver(
                int(table["layer"][row]),
                int(table["head"][row]),
                bool(table["matched"][row]),
                int(table["senders"][row]),
                {name: float(table[name][row]) for name in CHANNELS},
            )
            for row in range(len(table["layer"]))
        ]

    @functools.cached_property
    def edges(self) -> list[Edge]:
        """Into the heads that matter; what is smaller than `LEAST` is left out."""
        return self._edges(matched=False)

    @functools.cached_property
    def matched_edges(self) -> list[Edge]:
        """Into the random heads."""
        return self._edges(matched=True)

    def _edges(self, matched):
        table = self._tables["edges"]
        edges = []
        for row in np.flatnonzero(np.asarray(table["matched"], int) == matched):
            place = (table[name][row] for name in ("from_layer", "from_head"))
            layer, head = (None if at < 0 else int(at) for at in place)
            sender = Part(str(table["from"][row]), layer, head)
            at = int(table["layer"][row]), int(table["head"][row])
            numbers = [float(table[c][row]) for c in ("edge", ERROR.format("edge")) if c in table]
            edges.append(Edge(sender, *at, str(table["by"][row]), *numbers))
        return edges


def _placed(token: Token, place: str | None) -> Token:
    """A token of all pairs: in a place that has other words in each, the name of that."""
    if place is None:
        return token
    name = f"{{{place}}}"
    return replace(token, text=name, label=name, part=None, bytes=None)


def verify(data: PairData) -> None:
    """Verify the dataset of a pair, beyond its schema.

    raises: ReportError if prompts are not of as many tokens, or part elsewhere; if a head of one
        token has not the same at that token and at all; if an edge is smaller than are kept; or if
        what a receiver reads of all of the clean run is not what patching it does
    """
    name = data.path / FILE
    clean, corrupted = (
        [token.id for token in each.tokens] for each in (data.clean, data.corrupted)
    )
    parts = [place for place, (a, b) in enumerate(zip(clean, corrupted, strict=False)) if a != b]
    later = len(data.pairs) > 1 and parts and parts[0] > data.start  # another pair parts before
    if len(clean) != len(corrupted) or not (later or parts[:1] == [data.start]):
        raise damaged(f"{name}: its prompts do not part at token {data.start}")
    for way in ("restored", "lost"):
        off = np.abs(data.at_tokens(way)[..., 0] - data.of_heads(way)).max()
        if len(data.changed) == 1 and off > 2 * STEP:
            raise damaged(f"{name}: one token is not all of them")
    for each in data.receivers:
        off = abs(each.whole["all"] - data.of_heads("restored")[each.layer, each.head])
        if off > 20 * STEP:
            raise damaged(
                f"{name}: L{each.layer}H{each.head} reads {each.whole['all']:.4f} of the clean "
                "run, and patching it gives another share"
            )
    if any(abs(edge.value) < LEAST - STEP for edge in [*data.edges, *data.matched_edges]):
        raise damaged(f"{name}: an edge is smaller than {LEAST}")
