"""The measuring of one model for one article, in pieces: units of work in any order, anywhere.

A piece is what is measured once a model (`Piece.per_model`), a batch of texts of the corpus, or
both. `measure_piece` is the only function that measures a piece, in this process or
on another machine. `Gathering` says which pieces are to be measured and adds up their results. It
keeps the sums of finished batches, and of the whole corpus (`kept.py`), so that no text is measured
again, and none counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from report.errors import ReportError
from report.inputs.specs import ClusterSpec
from report.kinds import folders
from report.measuring.kept import Kept, Text
from report.measuring.kind import Announce, CorpusKind, Piece, Progress, RunKind, has_corpus
from report.models.find.names import Source

if TYPE_CHECKING:
    from report.measurements.tally import Tally
    from report.models.load.load import LoadedModel

LISTED = 5
"""Most texts that are named of those that could not be measured."""


@dataclass(frozen=True)
class Task:
    """One model of an article that is to be measured."""

    source: Source
    kind: str
    """Name of a module of `report.kinds`."""
    inputs: Any
    """The result of the kind's `inputs`."""
    options: dict
    """How the model is loaded, see `load_model`."""
    parts: dict
    """The result of `key.determined_by`."""
    kept: Kept
    cluster: ClusterSpec


@dataclass
class Result:
    """What a `Piece` gave."""

    per_model: Any = None
    """What is measured once a model; None if the piece is without it."""
    tally: Tally | None = None
    """Sums over its texts; None for a kind of article without a corpus."""
    model: dict | None = None
    """The manifest's entries about the model, given with `per_model`."""


def measure_piece(
    loaded: LoadedModel,
    kind: RunKind | CorpusKind,
    inputs: Any,
    piece: Piece,
    progress: Progress,
    announce: Announce,
) -> Result:
    """Measure one piece.

    inputs: the result of the kind's `inputs`
    raises: ReportError if the model cannot be measured; the tally says which texts failed
    """
    from report.models.attention.self_check import recorded
    from report.models.load.sentences import heard

    with heard(loaded.identity["name"], announce):
        if has_corpus(kind):
            per_model, tally = kind.measure_batch(loaded, inputs, piece, progress, announce)
        else:
            per_model, tally = kind.measure(loaded, inputs, progress, announce), None
    if not piece.per_model:
        return Result(None, tally)
    return Result(per_model, tally, recorded(loaded, announce))


class Gathering:
    """The results of a `Task` so far, and the pieces still to be measured."""

    def __init__(self, task: Task):
        self.task, self.kind = task, folders.kind(task.kind)
        self.tally: Tally | None = None
        self.per_model: Any = None
        self.model: dict | None = None
        self.failed: dict[int, str] = {}
        """Index of a text that could not be measured -> why."""
        self.texts: dict[int, tuple[Text, ...]] = {}
        """Number of an unfinished batch -> its texts."""
        self.open: dict[int, set[int]] = {}
        """Number of an unfinished batch -> indices of its missing texts."""
        self.sums: dict[int, Tally | None] = {}
        """Number of an unfinished batch -> the sums over its measured texts."""
        corpus = has_corpus(self.kind)
        self.done, self.total = 0, 1 + (len(task.inputs.corpus) if corpus else 0)
        """Units of work: each text, plus one for the per-model part."""

    def pieces(self, apart: bool = False) -> Iterator[Piece]:
        """What is to be measured; texts are read while iterating.

        apart: whether the per-model part is a piece of its own
        """
        per_model = True
        if has_corpus(self.kind) and (kept := self.task.kept.whole(self.task.inputs.corpus.sha256)):
            self.tally = self.kind.tally_of(kept)
            self.done += len(self.task.inputs.corpus)
            yield Piece(None, per_model=True)
            return
        if apart or not has_corpus(self.kind):
            yield Piece(None, per_model=True)
            per_model = False
        if has_corpus(self.kind):
            for number, texts in enumerate(_batches(self.task.inputs.corpus, self._size)):
                kept = self.task.kept.get(texts)
                if kept is not None:
                    self.tally = _merged(self.tally, self.kind.tally_of(kept))
                    self.done += len(texts)
                    continue
                self.texts[number] = texts
                self.open[number] = {index for index, _ in texts}
                yield Piece(number, texts, per_model)
                per_model = False
            if per_model:  # all texts were measured before
                yield Piece(None, per_model=True)

    def add(self, piece: Piece, result: Result) -> None:
        """Count the result of a piece.

        raises: AssertionError if one of its texts was counted before; ReportError if the sums
            cannot be kept on disk
        """
        if piece.per_model:
            assert self.per_model is None, "what is measured once was measured twice"
            self.per_model, self.model = result.per_model, result.model
            self.done += 1
        if piece.batch is not None:
            self._settle(piece, result.tally, result.tally.failed)

    def give_up(self, piece: Piece, reason: str) -> None:
        """Count the texts of a piece as failed."""
        self._settle(piece, None, {index: reason for index, _ in piece.texts})

    def finished(self) -> tuple[Any, dict]:
        """What the kind's `write` takes, and entries of the manifest; once every piece was added.

        raises: ReportError that names the texts that could not be measured
        """
        assert not self.open, "texts are missing"
        if self.failed:
            raise ReportError(_failed(self.failed, self.task.inputs.corpus))
        if not has_corpus(self.kind):
            measured, facts = self.per_model
        else:
            if self.tally is not None:
                self.task.kept.put_whole(self.task.inputs.corpus.sha256, self.tally.as_json())
            measured, facts = self.kind.joined(self.task.inputs, self.per_model, self.tally)
        return measured, self.model | facts

    @property
    def left(self) -> int:
        """How many texts are not done; 1 for a kind without texts that is not done."""
        own = has_corpus(self.kind) and self.per_model is None  # counts as a unit of work as well
        return self.total - self.done - own

    @property
    def at_most(self) -> int:
        """The most pieces that `pieces` gives, if none fails."""
        return 1 + -(-(self.total - 1) // self._size)

    def _settle(self, piece, tally, failed):
        """Count the texts of a piece as done; keep the sums of its batch once all are done."""
        settled = {index for index, _ in piece.texts}
        missing = self.open[piece.batch]
        assert settled <= missing, "a text was counted twice"
        missing -= settled
        self.failed |= failed
        self.done += len(settled)
        before = self.sums.get(piece.batch)
        self.sums[piece.batch] = _merged(before, tally)
        if missing:
            return
        texts, sums = self.texts.pop(piece.batch), self.sums.pop(piece.batch)
        del self.open[piece.batch]
        self.tally = _merged(self.tally, sums)
        if not any(index in self.failed for index, _ in texts):
            self.task.kept.put(texts, sums.as_json())

    @property
    def _size(self):
        texts = self.task.cluster.texts
        return min(texts, getattr(self.kind, "AT_ONCE", texts))


def _merged(first: Tally | None, second: Tally | None) -> Tally | None:
    """Two tallies as one; None stands for no texts."""
    if first is None or second is None:
        return first or second
    return first.merge(second)


def _batches(texts: Iterable[Text], size: int) -> Iterator[tuple[Text, ...]]:
    """Tuples of `size` texts; the last one may be shorter."""
    batch = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield tuple(batch)
            batch = []
    if batch:
        yield tuple(batch)


def _failed(failed, corpus):
    """One sentence about the texts that could not be measured."""
    first = sorted(failed)[:LISTED]
    said = "; ".join(f"text {index}: {failed[index].rstrip('.')}" for index in first)
    more = f"; and {len(failed) - LISTED} more" if len(failed) > LISTED else ""
    plural = len(failed) != 1
    listed = ", ".join(map(str, sorted(failed)))
    where = f" of {corpus.title}" if corpus.title else ""
    return (
        f"{len(failed)} text{'s' if plural else ''}{where} could not be measured ({said}{more}); "
        f"the results of the others are kept. {corpus.left_out(listed)}"
    )
