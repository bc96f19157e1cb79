"""The datasets of a passage that was measured just now: each is made when it is read first.

A text is measured in the time of a few forward passes; to write all its heads takes far longer, and
nobody looks at all of them. What is read here equals what reading the files gives, but for the
checksum of the weights, which is left out: all of them would be read for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, is_dataclass
from functools import partial
from pathlib import Path

import numpy as np

from report.datasets import store
from report.datasets.formats import head_statistics
from report.datasets.formats.visible import Visible
from report.datasets.read.model import with_memory
from report.datasets.write.attention import attention_makers
from report.errors import ReportError
from report.kinds.passage import measure
from report.kinds.passage.data import PassageData
from report.measures import known
from report.measuring import kept_heads
from report.measuring.forecast import beyond
from report.measuring.key import hashed
from report.measuring.kind import Announce
from report.models.attention.self_check import recorded
from report.models.load.load import LoadedModel
from report.models.load.memory import enough_memory
from report.models.load.sentences import heard
from report.models.measure.passage import measure_passage

HEADS = head_statistics.FILE.partition("/")[0] + "/"


READ = 8
"""Datasets that are kept as they were read last."""


class InMemory:
    """Datasets that `_makers` makes, by their names, in place of files."""

    _makers: dict[str, Callable[[], dict]]

    def makers(self, folder: str) -> dict[str, Callable[[], dict]]:
        """All datasets, each with what makes it, by their addresses below a folder."""
        place = f"{folder}/{self.path.name}"
        return {f"{place}/{name}": partial(self._read, name) for name in self.manifest["files"]}

    @property
    def origin(self) -> int:
        """The same of all copies of what was measured once, and of nothing else that is there."""
        return id(self._makers)

    @with_memory(lambda _: READ)
    def _read(self, name: str) -> dict:
        if name not in self._makers:
            raise ReportError(f"{name!r} was not measured; there are: {', '.join(self._makers)}")
        return store.as_read(self._makers[name](), name)


MAY_DIFFER = {*measure.NOT_IN_SUMS} - {"corpus", "heads"}
"""Parts of the key in which datasets may differ, and have the same tables of heads over texts."""


def same_but(names: Collection[str], parts: dict, others: dict) -> bool:
    """Whether the parts of two keys are the same, but for those of some names."""
    first, second = ({n: each[n] for n in each if n not in names} for each in (parts, others))
    return first == second


@dataclass(frozen=True)
class OfCorpus:
    """What heads do over many texts, by datasets of an article of the same model."""

    facts: dict
    """The manifest's corpus."""
    tables: dict[str, dict[str, dict]]
    """Name of a dataset of heads -> its columns."""

    @classmethod
    def below(cls, folder: Path, fits: Callable[[dict], bool]) -> OfCorpus | None:
        """What the first datasets below a folder, one an article and key, hold of many texts.

        fits: whether they are the wanted ones, by the parts of their key
        returns: None if none are
        """
        for path in sorted(folder.glob("*/*/")):
            with suppress(ReportError):  # damaged
                data = PassageData(path)
                of_corpus = data.manifest["kind"] == "passage" and "corpus" in data.manifest
                if of_corpus and fits(data.manifest["determined_by"]):
                    return cls.read(data)
        return None

    @classmethod
    def read(cls, data: PassageData) -> OfCorpus:
        """raises: ReportError if a dataset is damaged"""
        files = [file for file in data.manifest["files"] if file.startswith(HEADS)]
        tables = {file: data._read(file)["tables"]["heads"]["columns"] for file in files}
        return cls(data.manifest["corpus"], tables)


class LivePassage(InMemory, PassageData):
    """What a passage's datasets hold, in memory. A corpus is read by nobody here: what heads do
    over many texts is taken from datasets, or it is not known."""

    def __init__(
        self,
        loaded: LoadedModel,
        inputs: measure.Inputs,
        announce: Announce,
        progress: Callable[..., None] | None = None,
        corpus: OfCorpus | None = None,
        wanted: Collection[str] | None = None,
    ):
        """Measure a passage.

        loaded: LoadedModel, perhaps used before; inputs: as of `measure.inputs`, but the corpus and
            effects on next tokens are left out
        announce: called with warnings, which are of the text or the model
        progress: called with (layers done, layers); what it raises ends the measuring
        corpus: what heads of this model do over many texts
        wanted: names of those measures of heads that are taken at first, since all of them take as
            long as everything else; None: all
        raises: ReportError if the passage cannot be measured
        """
        super().__init__(Path())
        self.remarks: list[str] = []
        """What was announced."""

        def say(sentence):
            self.remarks.append(sentence)
            announce(sentence)

        self._loaded, self._inputs, self._corpus = loaded, inputs, corpus
        self._measurement = None
        read, taken = measure.tokenized(loaded, inputs), self._lacking(wanted)
        tokens = len(read.token_ids)
        if said := beyond(loaded.identity, tokens):
            say(said)
        with heard(loaded.identity["name"], say), enough_memory(f"measuring {tokens} tokens"):
            kept_heads.require(loaded, inputs.heads)
            whole = measure_passage(loaded, read.token_ids, progress, measures=taken)
        self._measurement = kept_heads.of(whole, inputs.heads)
        about = read.tokens, hashed(read.token_ids), self._measurement, None
        own = measure.OfPassage(*about, measure.divided(loaded, inputs, read))
        self._whole, facts = measure.joined(inputs, own, None)
        self._makers = dict(attention_makers(self._measurement))
        if corpus is not None:
            facts["corpus"] = corpus.facts
        self.manifest = {
            "kind": self.kind,
            **_recorded(loaded, say),
            **facts,
            **measure.described(self._whole),
            "files": {},
        }
        self._list()

    def add(self, wanted: Collection[str] | None, progress: Callable[..., None] | None) -> None:
        """Take more measures of its heads, if it lacks any, by reading the text once more.

        wanted, progress: as when it is made
        raises: ReportError if they cannot be taken
        """
        if taken := self._lacking(wanted):
            tokens, name = self._measurement.token_ids, self._loaded.identity["name"]
            # what libraries warn of has been said
            with heard(name, lambda _: None), enough_memory(f"measuring {len(tokens)} tokens"):
                more = measure_passage(self._loaded, tokens, progress, measures=taken)
            more = kept_heads.of(more, self._inputs.heads)
            self._measurement.statistics.sums |= more.statistics.sums
            self._list()

    def _lacking(self, wanted):
        there = self._measurement.statistics.measures if self._measurement else ()
        measures = known(self._inputs.measures)
        names = measures if wanted is None else wanted
        return [measures[name] for name in measures if name in names and name not in there]

    def _list(self):
        """Name what there is; copies have the same."""
        makers = dict(measure.makers(self._whole))
        if self._corpus is not None:
            makers |= _beside(makers, self._corpus, known(self._inputs.measures), self._measurement)
        self._makers |= makers
        self.manifest["files"] |= dict.fromkeys(self._makers)
        vars(self).pop("measures", None)

    def looking(self, token: int, target: int | None = None) -> list[tuple[int, int, int, float]]:
        """All heads by what they give from a token to a target, the most first.

        token, target: their places; target None: the other token that a head gives most, but the
            first one
        returns: layer, head, place of the target, and the share in [0, 1] that this gets
        """
        found = []
        for layer in range(self.layers):
            shares = self._measurement.row(layer, token)
            if target is None:
                shares[:, [0, token]] = 0
                targets = shares.argmax(1)
            else:
                targets = np.full(len(shares), target)
            for head, place in enumerate(targets.tolist()):
                found.append((layer, head, place, float(shares[head, place])))
        return sorted(found, key=lambda each: -each[3])

    @property
    def size(self) -> int:
        """Bytes of memory that it takes, about: what was measured, and heads decoded of it."""
        heads = len(vars(self).get("_memory__decoded", ()))
        cells = 8 * self.length**2
        return _bytes(self._measurement) + heads * cells * (2 + len(self.terms))

    def _terms_of(self, layer):
        # as the dataset of a head has them, which takes a tenth of a second to make
        return {term.name: term.per for term in self._measurement.terms(layer, 0)}

    def visible(self, layer: int, head: int) -> Visible:
        """As `PassageData.visible`, without the dataset of the head."""
        return Visible.of(self._measurement.visible(layer), self.length)


def _bytes(value):
    """Of all arrays in a value and in what it holds."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict | list | tuple):
        return sum(map(_bytes, value.values() if isinstance(value, dict) else value))
    return getattr(value, "nbytes", 0)


def _recorded(loaded, announce):
    """As `recorded`, without the checksum of the weights."""
    unread = copy(loaded)
    unread.weights_sha256 = None
    facts = recorded(unread, announce)
    del facts["model"]["weights_sha256"]
    return facts


def _beside(makers, corpus, measures, of_heads) -> Iterable[tuple[str, Callable[[], dict]]]:
    """Makers of the tables of heads, with the rows over many texts below those of the passage."""
    for name, each in measures.items():
        file = head_statistics.FILE.format(name)
        if file in corpus.tables and name in of_heads.statistics.measures:
            # where a measure is of no head of the passage, only many texts have a table of it
            own = partial(head_statistics.encode, each, {"passage": of_heads.statistics})
            yield file, partial(_joined, makers.get(file, own), corpus.tables[file])


def _joined(make, others):
    made = make()
    table = made["tables"]["heads"]
    if table["columns"].keys() != others.keys():  # measured by another version
        return made
    below = [row for row, source in enumerate(others["source"]["values"]) if source == "corpus"]
    for name, column in table["columns"].items():
        column["values"] += [others[name]["values"][row] for row in below]
        column["unit"] = others[name]["unit"]
    table["rows"] += len(below)
    return made
