"""Measure a passage (factors, largest targets, updates) and a corpus (sums only)."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.errors import ReportError
from report.measurements.factors import Factors, Scores
from report.measurements.head_statistics import HeadStatistics, row_sums
from report.measurements.passage import PassageMeasurement
from report.measurements.stored import stored
from report.measurements.targets import SHOWN_TARGETS, LargestTargets, marker_count
from report.models.attention.kernel import ROWS, streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.attention.self_check import checked
from report.models.attention.updates import updates

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def measure_passage(
    loaded: "LoadedModel",
    token_ids: list[int],
    progress: Callable[..., None] | None = None,
    rows: int = ROWS,
) -> PassageMeasurement:
    """Measure every head of a model on one passage.

    loaded: LoadedModel; checked against its own plain forward the first time it is measured
    token_ids: list of int, as `encode` returns it
    progress: called with (layers done, layers) after each layer
    rows: at a time; changes speed, not results
    returns: PassageMeasurement, on the CPU
    raises: ReportError for fewer than 2 or too many tokens, or for NaN or infinity anywhere
    """
    require_measurable(loaded, token_ids)
    checked(loaded)
    recorder = PassageRecorder(loaded, token_ids, progress, rows)
    loaded.run([_run(loaded, token_ids, recorder)])
    return recorder.measurement()


def measure_corpus(
    loaded: "LoadedModel",
    texts: Iterable[list[int]],
    progress: Callable[..., None] | None = None,
    rows: int = ROWS,
) -> HeadStatistics:
    """Measure every head's statistics over many texts, one layer's block of rows in memory.

    arguments as of `measure_batch`
    returns: HeadStatistics over all rows of all texts
    raises: ReportError as for a passage, or when there is no text
    """
    statistics = measure_batch(loaded, texts, progress=progress, rows=rows)[1]
    if not statistics.texts:
        raise ReportError("the corpus has no text; give at least one text of 2 tokens")
    return statistics


def measure_batch(
    loaded: "LoadedModel",
    texts: Iterable[list[int]],
    token_ids: list[int] | None = None,
    progress: Callable[..., None] | None = None,
    failed: dict[int, str] | None = None,
    rows: int = ROWS,
) -> tuple[PassageMeasurement | None, HeadStatistics]:
    """Measure a batch of a corpus's texts, and perhaps a passage in the same run.

    A model that runs layer by layer reads each layer once for all of them.

    loaded: LoadedModel; checked as for a passage
    texts: iterable of lists of token ids
    token_ids: of the passage, or None
    progress: called with (texts done, texts or None if the number is not known) after each text,
        the passage being one
    failed: dict; a text that cannot be measured is left out, and its place among `texts` leads to
        the reason. None: it raises
    rows: at a time
    returns: (PassageMeasurement or None, HeadStatistics over all rows of all other texts, which
        can be merged with those of other batches)
    raises: ReportError as for a passage
    """
    if token_ids is not None:
        require_measurable(loaded, token_ids)
    checked(loaded)
    run = _run_together if reads_layer_by_layer(loaded) else _run_one_by_one
    passage = None if token_ids is None else PassageRecorder(loaded, token_ids)
    try:
        statistics = run(loaded, passage, texts, progress, failed, rows)
    except ReportError:
        if failed is None or run is _run_one_by_one:
            raise
        # which text it was is found out by running each alone
        passage = passage and PassageRecorder(loaded, token_ids)
        statistics = _run_one_by_one(loaded, passage, texts, progress, failed, rows)
    return passage and passage.measurement(), statistics


def require_measurable(loaded: "LoadedModel", token_ids: list[int]) -> None:
    """Stop for a list of token ids that this model cannot be measured on.

    raises: ReportError for fewer than 2 or too many tokens, or ids outside the vocabulary
    """
    length, context = len(token_ids), loaded.identity["context"]
    vocabulary = loaded.identity["vocabulary"]
    if length < 2:
        raise ReportError(
            f"got {length} tokens; measuring takes at least 2, so that there is a choice of targets"
        )
    if context is not None and length > context:
        raise ReportError(
            f"got {length} tokens, the model takes at most {context}; shorten the text"
        )
    if not all(0 <= token_id < vocabulary for token_id in token_ids):
        raise ReportError(
            f"token ids go from {min(token_ids)} to {max(token_ids)}, the model knows 0 to "
            f"{vocabulary - 1}; use the tokenizer that belongs to the model"
        )


class PassageRecorder(Recorder):
    """Collects what `PassageMeasurement` holds, layer by layer."""

    wants_rotary_terms = True

    def __init__(
        self,
        loaded: "LoadedModel",
        token_ids: Sequence[int],
        progress: Callable[..., None] | None = None,
        rows: int = ROWS,
    ):
        self.structure = loaded.structure[: loaded.measured_layers]
        self.token_ids, self.progress, self.rows = list(token_ids), progress, rows
        self.shape = shape = len(self.structure), self.structure[0].heads, len(self.token_ids)
        self.largest_targets = np.full((*shape, SHOWN_TARGETS), -1, np.int32)
        self.marker_count = np.zeros(shape, np.int32)
        self.statistics = HeadStatistics.empty(*shape[:2])
        self.factors = [None] * shape[0]
        self.updates_found, self.layers_with_updates = {}, 0

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and measure its attention."""
        largest = LargestTargets(factors.range(), factors.heads)
        context = streaming_attention(factors, value, largest.add, layer, self.rows)
        targets, probability = largest.found()
        self.largest_targets[layer] = targets.cpu()
        self.marker_count[layer] = marker_count(targets, probability).cpu()
        self.statistics.add_layer(layer, row_sums(targets, probability))
        self.factors[layer] = stored(factors, len(self.structure))
        if self.progress:
            self.progress(layer + 1, len(self.structure))
        return context

    def updates(
        self,
        layer: int,
        hidden_state: torch.Tensor,
        context: torch.Tensor,
        attention_output: torch.Tensor,
    ) -> None:
        """Measure what each head adds to the hidden state."""
        measured = updates(self.structure[layer], layer, hidden_state, context, attention_output)
        self.layers_with_updates += 1
        for name, values in vars(measured).items():
            if values is not None:
                values = values.cpu().numpy()
                table = self.updates_found.setdefault(name, np.zeros(self.shape, values.dtype))
                table[layer] = values

    def measurement(self) -> PassageMeasurement:
        """Everything collected, once the passage has been run."""
        self.statistics.add_text(len(self.token_ids))
        complete = self.layers_with_updates == len(self.structure)
        return PassageMeasurement(
            self.token_ids,
            self.largest_targets,
            self.marker_count,
            self.statistics,
            self.factors,
            **(self.updates_found if complete else {}),
        )


class TextRecorder(Recorder):
    """Collects the statistics of one text."""

    wants_factors = False

    def __init__(self, loaded: "LoadedModel", token_ids: Sequence[int], rows: int = ROWS):
        self.tokens, self.rows = len(token_ids), rows
        self.statistics = HeadStatistics.empty(loaded.measured_layers, loaded.structure[0].heads)

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and add its statistics."""
        largest = LargestTargets(factors.range(), factors.heads, count=2)
        context = streaming_attention(factors, value, largest.add, layer, self.rows)
        self.statistics.add_layer(layer, row_sums(*largest.found()))
        return context

    def measurement(self) -> HeadStatistics:
        """The sums, once the text has been run."""
        self.statistics.add_text(self.tokens)
        return self.statistics


def _run(loaded, token_ids, recorder):
    return Run(list(token_ids), recorder, loaded.identity["alibi_factor"])


def reads_layer_by_layer(loaded: "LoadedModel") -> bool:
    """Whether a model keeps one layer in memory at a time, so that texts are best run together."""
    return loaded.partial is not None and loaded.partial.layer_by_layer


def _run_one_by_one(loaded, passage, texts, progress, failed, rows):
    """Run texts without keeping anything of them but sums, so that their number takes no memory."""
    number = len(texts) if hasattr(texts, "__len__") else None
    done, total = 0, None if number is None else number + (passage is not None)
    if passage is not None:
        loaded.run([_run(loaded, passage.token_ids, passage)])
        done += 1
        if progress:
            progress(done, total)
    statistics = HeadStatistics.empty(loaded.measured_layers, loaded.structure[0].heads)
    for place, token_ids in enumerate(texts):
        try:
            require_measurable(loaded, token_ids)
            recorder = TextRecorder(loaded, token_ids, rows)
            loaded.run([_run(loaded, token_ids, recorder)])
            statistics = statistics.merge(recorder.measurement())
        except ReportError as error:
            if failed is None:
                raise
            failed[place] = str(error)
        done += 1
        if progress:
            progress(done, total)
    return statistics


def _run_together(loaded, passage, texts, progress, _, rows):
    """Run texts so that each layer's weights are read once for all of them."""
    runs = [] if passage is None else [_run(loaded, passage.token_ids, passage)]
    recorders = []
    for token_ids in texts:
        require_measurable(loaded, token_ids)
        recorders.append(TextRecorder(loaded, token_ids, rows))
        runs.append(_run(loaded, token_ids, recorders[-1]))
    loaded.run(runs, progress)
    statistics = HeadStatistics.empty(loaded.measured_layers, loaded.structure[0].heads)
    for recorder in recorders:
        statistics = statistics.merge(recorder.measurement())
    return statistics
