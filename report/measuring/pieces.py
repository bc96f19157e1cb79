"""The measuring of one model for one article, in pieces that can be done anywhere and in any order.

A piece is what is measured once a model (`Piece.article`), some texts of the corpus, or both.
`measure_piece` is the only function that measures one, in this process or on another machine;
`Gathering` says which are to be done, adds up what they give, and keeps the sums of finished
shards on disk, so that no text is measured again when a run was cut short, and none counts twice.
"""

import shutil
from dataclasses import dataclass, replace

from report.datasets import store
from report.errors import ReportError
from report.measuring import key as keys
from report.measuring import kinds

FOLDER = ".cache/shards"
"""In a project's folder: sums of finished shards of articles that are not measured to the end."""

OF_ARTICLES = ("passage", "corpus", "chat")
"""Parts of a key that do not concern the sums of a shard."""

LISTED = 5
"""Texts that could not be measured and are named, at most."""


@dataclass(frozen=True)
class Task:
    """One model of an article that is to be measured."""

    source: object
    """`names.Source`."""
    kind: str
    """Name of a module of `report.measuring.kinds`."""
    inputs: object
    """What its `inputs` gave."""
    options: dict
    """How the model is loaded, see `load_model`."""
    parts: dict
    """What `key.determined_by` returned."""
    kept: object
    """`Kept`."""
    cluster: object
    """`ClusterSpec`."""


@dataclass(frozen=True)
class Piece:
    """Some of the work of a `Task`."""

    shard: int | None
    """Which shard its texts are of, counted from 0; None if it has none."""
    texts: tuple = ()
    """Of (index, text)."""
    article: bool = False
    """Whether what is measured once a model is a part of it."""

    def __str__(self):
        if not self.texts:
            return "what is measured once a model"
        first, last = self.texts[0][0], self.texts[-1][0]
        return f"text {first}" if first == last else f"texts {first} to {last}"

    def with_texts(self, texts):
        """The piece with some of its texts."""
        return replace(self, texts=texts)

    def halves(self):
        """Two pieces with half of the texts each."""
        middle = len(self.texts) // 2
        return [self.with_texts(part) for part in (self.texts[:middle], self.texts[middle:])]


@dataclass
class Result:
    """What a `Piece` gave."""

    article: object = None
    """What was measured once a model, see `Gathering.finished`; None if that was no part of it."""
    tally: object = None
    """`Tally` of its texts; None for a kind of article without a corpus."""
    model: dict | None = None
    """The manifest's entries about the model, together with `article`."""


def measure_piece(loaded, kind, inputs, piece, progress, announce):
    """Measure one piece: `Result`.

    loaded: LoadedModel; kind: module of `report.measuring.kinds`; inputs: what its `inputs` gave
    progress: called with (what, done, total); announce: with a sentence about what is read
    raises: ReportError if the model cannot be measured; of texts, the tally says which failed
    """
    from report.models.attention import self_check

    if has_corpus(kind):
        article, tally = kind.measure_shard(loaded, inputs, piece, progress, announce)
    else:
        article, tally = kind.measure(loaded, inputs, progress, announce), None
    if not piece.article:
        return Result(None, tally)
    checked = self_check.checked(loaded)  # what was found when it was first measured
    about = {
        "model": loaded.identity | {"weights_sha256": loaded.weights_sha256},
        "self_check": {name: checked[name] for name in checked if name != "capabilities"},
        "seed": self_check.SEED,
    }
    return Result(article, tally, about)


def has_corpus(kind):
    """Whether articles of a kind read a corpus, whose texts may be measured apart."""
    return hasattr(kind, "measure_shard")


class Gathering:
    """What is there of a `Task`, and what is still to be done."""

    def __init__(self, task):
        self.task, self.kind = task, kinds.kind(task.kind)
        self.tally = self.article = self.model = None
        self.failed = {}
        self.texts, self.open, self.sums = {}, {}, {}
        """Of each shard that is being measured: its texts, the indices of those that are missing,
        and the tally of the others."""
        corpus = has_corpus(self.kind)
        self.done, self.total = 0, 1 + (len(task.inputs.corpus) if corpus else 0)
        """Texts, what is measured once a model counting as one."""

    def pieces(self, apart=False):
        """What is to be measured, iterator of `Piece`; texts are read as it goes on.

        apart: whether what is measured once a model is a piece of its own
        """
        article = True
        if apart or not has_corpus(self.kind):
            yield Piece(None, article=True)
            article = False
        if has_corpus(self.kind):
            for number, texts in enumerate(_groups(self.task.inputs.corpus, self._size)):
                kept = self.task.kept.get(texts)
                if kept is not None:
                    self.tally = _merged(self.tally, kept)
                    self.done += len(texts)
                    continue
                self.texts[number] = texts
                self.open[number] = {index for index, _ in texts}
                yield Piece(number, texts, article)
                article = False
            if article:  # all texts were measured before
                yield Piece(None, article=True)

    def add(self, piece, result):
        """Count what a piece gave.

        raises: AssertionError if one of its texts was counted before
        """
        if piece.article:
            assert self.article is None, "what is measured once was measured twice"
            self.article, self.model = result.article, result.model
            self.done += 1
        if piece.shard is not None:
            self._settle(piece, result.tally, result.tally.failed)

    def give_up(self, piece, reason):
        """Count the texts of a piece as failed."""
        self._settle(piece, None, {index: reason for index, _ in piece.texts})

    def finished(self):
        """Once every piece was added: (what the kind's `write` takes, entries of the manifest).

        raises: ReportError that names the texts that could not be measured
        """
        assert not self.open, "texts are missing"
        if self.failed:
            raise ReportError(_failed(self.failed, self.task.inputs.corpus))
        if not has_corpus(self.kind):
            measured, facts = self.article
        else:
            measured, facts = self.kind.joined(self.task.inputs, self.article, self.tally)
        return measured, self.model | facts

    @property
    def at_most(self):
        """How many pieces `pieces` gives at most, if none fails."""
        return 1 + -(-(self.total - 1) // self._size)

    def _settle(self, piece, tally, failed):
        """Count some texts of a shard as done; keep its sums once all of them are."""
        found = {index for index, _ in piece.texts}
        missing = self.open[piece.shard]
        assert found <= missing, "a text was counted twice"
        missing -= found
        self.failed |= failed
        self.done += len(found)
        before = self.sums.get(piece.shard)
        self.sums[piece.shard] = _merged(before, tally)
        if missing:
            return
        texts, sums = self.texts.pop(piece.shard), self.sums.pop(piece.shard)
        del self.open[piece.shard]
        self.tally = _merged(self.tally, sums)
        if not any(index in self.failed for index, _ in texts):
            self.task.kept.put(texts, sums)

    @property
    def _size(self):
        return self.task.cluster.texts


class Kept:
    """The sums of finished shards, a file each, named after all that they depend on."""

    def __init__(self, root, article, parts):
        """root: folder of the project; article: its name; parts: of the task, see `Task`"""
        how = {name: value for name, value in parts.items() if name not in OF_ARTICLES}
        self.article = root / FOLDER / article
        self.folder = self.article / keys.key(how)

    def get(self, texts):
        """The `Tally` of a shard, or None; one that cannot be read counts as not there."""
        path = self._path(texts)
        if not path.is_file():
            return None
        from report.measurements.tally import Tally

        try:
            return Tally.of_json(store.read(path))
        except ReportError:
            return None

    def put(self, texts, tally):
        """Keep the `Tally` of a shard; ReportError if it cannot be written."""
        store.write(self._path(texts), tally.as_json())

    def remove(self):
        """Forget the shards of the article, whatever they were measured with."""
        shutil.rmtree(self.article, ignore_errors=True)

    def _path(self, texts):
        return self.folder / f"{keys.hashed([list(each) for each in texts])[:24]}.json"


def _merged(one, other):
    """Two tallies as one; None is one of nothing."""
    if one is None or other is None:
        return one or other
    return one.merge(other)


def _groups(texts, size):
    """Tuples of `size` texts, the last one of what is left."""
    group = []
    for each in texts:
        group.append(each)
        if len(group) == size:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _failed(failed, corpus):
    """One sentence about texts that could not be measured."""
    first = sorted(failed)[:LISTED]
    said = "; ".join(f"text {index}: {failed[index].rstrip('.')}" for index in first)
    more = f"; and {len(failed) - LISTED} more" if len(failed) > LISTED else ""
    one = len(failed) == 1
    listed = ", ".join(map(str, sorted(failed)))
    where = f" of {corpus.title}" if corpus.title else ""
    return (
        f"{len(failed)} text{'' if one else 's'}{where} could not be measured ({said}{more}); the "
        f"others were, and what was found is kept. Mend {'it' if one else 'them'}, or leave "
        f"{'it' if one else 'them'} out: `skip: [{listed}]` below `corpus:`"
    )
