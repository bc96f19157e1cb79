"""The dataset of two texts that were patched just now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from report.kinds.pair import measure
from report.kinds.pair.data import PairData
from report.kinds.passage.live import InMemory, LivePassage
from report.models.load.load import LoadedModel

if TYPE_CHECKING:
    from report.models.text.tokens import TokenizedText


class LivePair(InMemory, PairData):
    """What the dataset of a pair holds, in memory, but for paths from head to head."""

    def __init__(
        self,
        loaded: LoadedModel,
        passage: LivePassage,
        texts: Sequence[TokenizedText],
        answers: tuple[int, int],
        replaced: measure.Replaced,
        progress: Callable[[], object] = lambda: None,
    ):
        """Patch two texts of equal length, both ways.

        loaded: the model that the passage was measured with, which is the first text
        asked: ids of two tokens, whose logits are compared after both
        replaced: as of `measure.replacements`
        progress: called after each layer; what it raises ends the measuring
        raises: ReportError if the model answers both alike, or the texts are too long
        """
        super().__init__(passage.path)
        measured, facts = measure.without_paths(loaded, texts, answers, replaced, progress)
        self._makers = {measure.FILE: lambda: measure.encoded(measured)}
        self.size = sum(each.nbytes for each in vars(measured.patched).values())
        """Bytes of what it is made from."""
        self.manifest = passage.manifest | facts | {"files": dict.fromkeys(self._makers)}
