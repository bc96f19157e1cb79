"""The datasets of what heads do to the next tokens of a passage that was measured just now."""

from __future__ import annotations

from collections.abc import Callable

from report.kinds.passage.live import InMemory, LivePassage
from report.kinds.prediction import measure
from report.kinds.prediction.data import PredictionData
from report.models.load.load import LoadedModel


class LivePrediction(InMemory, PredictionData):
    """What the datasets beside a passage's hold, in memory, but for what is lost without a head:
    the text is read once, not again without each."""

    def __init__(
        self,
        loaded: LoadedModel,
        passage: LivePassage,
        text: str,
        lens: bool,
        progress: Callable[[], object] = lambda: None,
    ):
        """Measure direct effects on every next token of a passage, and the logit lens if wanted.

        loaded: the model that the passage was measured with; text: that of the passage
        progress: called after each part of the work; what it raises ends the measuring
        raises: ReportError if the model's parts cannot be told apart, or the text is too long
        """
        super().__init__(passage.path)
        tokens = passage.passage["tokens"]
        measured, facts = measure.without_ablations(loaded, text, tokens, lens, progress)
        self.size = measured.sentences[0].effects.size
        """Bytes of what datasets of heads are made from."""
        self._makers = dict(measure.makers(measured, 0))
        files = dict.fromkeys(self._makers)
        self.manifest = passage.manifest | {"prediction": facts, "files": files}
