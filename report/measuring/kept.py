"""The sums of finished batches, kept on disk until an article is measured to the end."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from report.datasets import store
from report.errors import ReportError
from report.measuring.key import hashed, key_of

Text = tuple[int, str]
"""A text of a corpus with its index."""

FOLDER = ".cache/batches"
"""In a project's folder: sums of finished batches of articles that are not measured to the end."""


class Kept:
    """The sums of finished batches, a file each, named after everything they depend on."""

    def __init__(self, root: Path, article: str, parts: dict, not_in_sums: Sequence[str] = ()):
        """root: folder of the project; article: its name; parts: as of `Task`

        not_in_sums: names of parts that may change while the sums of finished batches stay right
        """
        how = {name: value for name, value in parts.items() if name not in not_in_sums}
        self.article = root / FOLDER / article
        self.folder = self.article / key_of(how)

    def get(self, texts: tuple[Text, ...]) -> dict | None:
        """The dataset of a batch, or None; a file that cannot be read counts as missing."""
        path = self._path(texts)
        if not path.is_file():
            return None
        try:
            return store.read(path)
        except ReportError:
            return None

    def put(self, texts: tuple[Text, ...], dataset: dict) -> None:
        """Keep the dataset of a batch; ReportError if it cannot be written."""
        store.write(self._path(texts), dataset)

    def remove(self) -> None:
        """Forget all batches of the article, whatever they were measured with."""
        shutil.rmtree(self.article, ignore_errors=True)

    def _path(self, texts):
        return self.folder / f"{hashed([list(text) for text in texts])[:24]}.json"
