"""What heads of one model write for what they read, and whether that is a copy."""

import functools
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from report.datasets.damaged import damaged
from report.datasets.formats import head_writes
from report.datasets.formats.head_writes import Reading
from report.datasets.read.heads import MeasuredHeads, require_heads
from report.errors import ReportError
from report.kinds.atlas.beside import CONTROLS, COPYING
from report.text import isolated


def opened(paths: Iterable[Path]) -> "list[Copying]":
    """The data of folders, one a model."""
    return [Copying(path) for path in paths]


def verify(data: "list[Copying]") -> None:
    """ReportError if a table is not of every head, or names what is not there."""
    for each in data:
        require_heads(each)
        if each.has_words:
            _ = each.word, each.readings(0, 0)


class Copying(MeasuredHeads):
    """The copying scores of one model and their control; and what its heads write for some words,
    unless its article says `examples: none`."""

    kind = "copying"
    sources: ClassVar = MappingProxyType(
        {"corpus": "frequent words", "control": CONTROLS[COPYING.name]}
    )

    @property
    def about(self) -> dict:
        """The manifest's copying: words, how many are read; tokens, how many count as highest."""
        return self.manifest["copying"]

    @property
    def has_words(self) -> bool:
        """Whether words are named."""
        return head_writes.FILE in self.manifest["files"]

    @functools.cached_property
    def _decoded(self):
        try:
            return head_writes.decode(self._read(head_writes.FILE), self.layers, self.heads)
        except (ReportError, KeyError) as error:
            if str(self.path) in str(error):
                raise
            raise damaged(f"{self.path}: {error}") from error

    def readings(self, layer: int, head: int) -> list[Reading]:
        """What a head writes for the words for which it writes most clearly, the clearest first."""
        return self._decoded[0][layer, head]

    def word(self, token: int) -> str:
        """The text of a token; its bytes, "⟨e2 80⟩", where it is not whole characters."""
        return isolated(self._decoded[1][token])
