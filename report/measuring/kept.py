"""The sums of finished batches, kept on disk until an article is measured to the end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from report.datasets import store
from report.errors import ReportError
from report.measuring.key import hashed, key_of

if TYPE_CHECKING:
    from report.measurements.tally import Tally

Text = tuple[int, str]
"""A text of a corpus with its index."""

FOLDER = ".cache/batches"
"""In a project's folder: sums of finished batches of articles that are not measured to the end."""

NOT_IN_SUMS = ("passage", "corpus", "chat")
"""Parts of a key that may change while the sums of finished batches stay right."""


class Kept:
    """The sums of finished batches, a file each, named after everything they depend on."""

    def __init__(self, root: Path, article: str, parts: dict):
        """root: folder of the project; article: its name; parts: as of `Task`"""
        how = {name: value for name, value in parts.items() if name not in NOT_IN_SUMS}
        self.article = root / FOLDER / article
        self.folder = self.article / key_of(how)

    def get(self, texts: tuple[Text, ...]) -> Tally | None:
        """The sums of a batch, or None; a file that cannot be read counts as missing."""
        path = self._path(texts)
        if not path.is_file():
            return None
        from report.measurements.tally import Tally

        try:
            return Tally.of_json(store.read(path))
        except ReportError:
            return None

    def put(self, texts: tuple[Text, ...], tally: Tally) -> None:
        """Keep the sums of a batch; ReportError if they cannot be written."""
        store.write(self._path(texts), tally.as_json())

    def remove(self) -> None:
        """Forget all batches of the article, whatever they were measured with."""
        shutil.rmtree(self.article, ignore_errors=True)

    def _path(self, texts):
        return self.folder / f"{hashed([list(text) for text in texts])[:24]}.json"
