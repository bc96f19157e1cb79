"""A passage that was measured just now, in place of the datasets of an article that are still to be
made: what drafts are drawn of. Of several models, those that have datasets are read from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import get_ident

from report.authored.later import LaterError
from report.kinds.passage.data import PassageModels
from report.kinds.passage.live import MAY_DIFFER, LivePassage, OfCorpus, same_but
from report.measuring import pieces
from report.models.load.sentences import supported
from report.project import Project

HEADS = 12
"""Of so many heads, the attention is read while a page is made, where all of them would take
longer than a reader wants to wait: each is rounded as in a file first."""

CELLS = 400_000
"""The same, in cells (heads x queries x keys): of more heads where these are small."""


class PassageSoFar(LivePassage):
    """A passage that was measured just now, for an article whose datasets are still to be made.

    Whatever asks for what is not known yet raises a `LaterError`: effects on next tokens; what
    heads do over many texts, if no datasets say it; and, while a page is made, numbers of more
    heads than `HEADS`, or of as many as have `CELLS`.
    """

    def __init__(self, loaded, task: pieces.Task, key: str, corpus: OfCorpus | None, **steps):
        """task: what is measured of the article; key: of its datasets; corpus, steps: as of
        `LivePassage`"""
        self._heads: set | None = None
        super().__init__(loaded, task.inputs, corpus=corpus, **steps)
        self._loaded = None  # so that it goes before another model is loaded
        later = {*(() if corpus else ["corpus"]), *(["prediction"] if task.inputs.means_of else ())}
        self.manifest, self.path = _SoFar(self.manifest, later), Path(key)
        self.lacks: list[str] = []
        """What the page that was made last had to leave out, in words."""

    @contextmanager
    def quick(self) -> Iterator[None]:
        """Meanwhile a page is made."""
        self._heads, self._thread, self._many = set(), get_ident(), False
        try:
            yield
        finally:
            self._heads = None
            words = [WORDS[name] for name in sorted(self.manifest.later)]
            self.lacks = [*(["numbers over all heads"] if self._many else []), *words]

    def attention(self, layer, head):
        if self._heads is not None and self._thread == get_ident():  # not of a browser's question
            self._heads.add((layer, head))
            if len(self._heads) > max(HEADS, CELLS // self.length**2):
                self._heads.clear()  # others may ask for single heads
                self._many = True
                raise LaterError
        return super().attention(layer, head)

    def _read(self, name):
        if name not in self.manifest["files"]:
            raise LaterError
        return super()._read(name)


class ModelsSoFar(PassageModels):
    """Several models of an article, at least one of which is a `PassageSoFar`."""

    @property
    def _measured(self):
        return [each for each in self.models if isinstance(each, PassageSoFar)]

    @contextmanager
    def quick(self) -> Iterator[None]:
        """Meanwhile a page is made."""
        with ExitStack() as stack:
            for each in self._measured:
                stack.enter_context(each.quick())
            yield

    @property
    def lacks(self) -> list[str]:
        """What the page that was made last had to leave out, in words."""
        return list(dict.fromkeys(words for each in self._measured for words in each.lacks))

    def makers(self, folder: str) -> dict[str, Callable[[], dict]]:
        """What makes the datasets that are no files, by their addresses below a folder."""
        pairs = (each.makers(folder).items() for each in self._measured)
        return dict(pair for of_model in pairs for pair in of_model)


WORDS = {"corpus": "what heads do over many texts", "prediction": "effects on next tokens"}
"""Entry of a manifest -> what datasets it is of."""


class _SoFar(dict):
    """A manifest of which some entries are still to be made."""

    def __init__(self, known: dict, later: set[str]):
        super().__init__(known)
        self.later = later

    def __missing__(self, name):
        raise LaterError

    def __contains__(self, name):
        if name in self.later:
            raise LaterError
        return super().__contains__(name)

    def get(self, name, default=None):
        return self[name] if self.__contains__(name) else default


def corpus_of(project: Project, parts: dict) -> OfCorpus | None:
    """What heads do over many texts, by datasets that are there; None if there are none.

    parts: of the key of the datasets that are wanted
    """
    return OfCorpus.below(project.site_src / "datasets", partial(same_but, MAY_DIFFER, parts))


def measured(
    loaded,
    task: pieces.Task,
    key: str,
    corpus: OfCorpus | None,
    announce: Callable[[str], object],
    progress: Callable[..., object],
) -> PassageSoFar:
    """The passage of a task, measured now; arguments as of `PassageSoFar`.

    raises: ReportError if it cannot be measured
    """
    with supported(task.source.name):
        return PassageSoFar(loaded, task, key, corpus, announce=announce, progress=progress)
