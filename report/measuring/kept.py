"""Sums over the texts of a corpus, kept on disk for all articles of a project.

What a model gives over a corpus depends on neither the passage nor the article, so a corpus that
was read once is not read again while model, code and settings stay the same. Until it was read to
the end, the sums of its finished batches are kept instead.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from report.datasets import store
from report.errors import ReportError
from report.measuring.key import hashed, key_of

Text = tuple[int, str]
"""A text of a corpus with its index."""

FOLDER = ".cache/sums"
"""In a project's folder: a folder for each model as it was measured."""

MOST = 32
"""Folders that are kept, those that were used last: one is of about a megabyte a corpus."""


class Kept:
    """The sums over texts, each in a file that is named after everything they depend on."""

    def __init__(self, root: Path, parts: dict, not_in_sums: Sequence[str] = ()):
        """root: folder of the project; parts: as of `Task`

        not_in_sums: names of parts that may change while the sums stay right
        """
        how = {name: value for name, value in parts.items() if name not in not_in_sums}
        self.folder = root / FOLDER / key_of(how)

    def get(self, texts: tuple[Text, ...]) -> dict | None:
        """The dataset of a batch, or None; a file that cannot be read counts as missing."""
        return _read(self._batch(texts))

    def put(self, texts: tuple[Text, ...], dataset: dict) -> None:
        """Keep the dataset of a batch; ReportError if it cannot be written."""
        store.write(self._batch(texts), store.sealed(dataset))

    def whole(self, corpus: str) -> dict | None:
        """The dataset of a corpus that was read to the end, or None; corpus: its SHA-256."""
        found = _read(self._whole(corpus))
        if found is not None:
            with suppress(OSError):  # it is used now, which decides what is removed
                os.utime(self.folder)
        return found

    def put_whole(self, corpus: str, dataset: dict) -> None:
        """Keep the dataset of a corpus in place of its batches; ReportError as `put`."""
        store.write(self._whole(corpus), store.sealed(dataset))
        shutil.rmtree(self.folder / "batches", ignore_errors=True)
        with suppress(OSError):
            others = sorted(self.folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in others[:-MOST]:
                shutil.rmtree(path, ignore_errors=True)

    def remove(self) -> None:
        """Forget all sums of the model."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _batch(self, texts):
        return self.folder / "batches" / f"{hashed([list(text) for text in texts])[:24]}.json"

    def _whole(self, corpus):
        return self.folder / f"{corpus[:24]}.json"


def _read(path):
    if not path.is_file():
        return None
    try:
        found = store.read(path)
    except ReportError:
        return None
    return found if store.is_whole(found) else None
