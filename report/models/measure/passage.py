"""Measure a passage (factors, largest targets, updates) and a corpus (sums only)."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.errors import ReportError
from report.measurements.block import Block
from report.measurements.factors import Factors, Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.passage import PassageMeasurement
from report.measurements.rows import Sums, Text
from report.measurements.stored import stored
from report.measurements.targets import SHOWN_TARGETS, LargestTargets, marker_count
from report.measures import Measure, shipped
from report.models.attention.kernel import ROWS, streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run
from report.models.attention.self_check import checked
from report.models.attention.updates import updates
from report.models.load.tokenizing import asked

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def measure_passage(
    loaded: "LoadedModel",
    token_ids: list[int],
    progress: Callable[..., None] | None = None,
    rows: int = ROWS,
    measures: Sequence[Measure] | None = None,
) -> PassageMeasurement:
    """Measure every head of a model on one passage.

    loaded: LoadedModel; checked against its own plain forward the first time it is measured
    token_ids: list of int, as `encode` returns it
    progress: called with (layers done, layers) after each layer
    rows: at a time; changes speed, not results
    measures: of its statistics; default: those that ship
    returns: PassageMeasurement, on the CPU
    raises: ReportError for fewer than 2 or too many tokens, or for NaN or infinity anywhere
    """
    require_measurable(loaded, token_ids)
    checked(loaded)
    recorder = PassageRecorder(loaded, token_ids, progress, rows, measures)
    loaded.run([_run(loaded, token_ids, recorder)])
    return recorder.measurement()


def measure_corpus(
    loaded: "LoadedModel",
    texts: Iterable[list[int]],
    progress: Callable[..., None] | None = None,
    rows: int = ROWS,
    measures: Sequence[Measure] | None = None,
) -> HeadStatistics:
    """Measure every head's statistics over many texts, one layer's block of rows in memory.

    arguments as of `measure_batch`
    returns: HeadStatistics over all rows of all texts
    raises: ReportError as for a passage, or when there is no text
    """
    options = {"progress": progress, "rows": rows, "measures": measures}
    statistics = measure_batch(loaded, texts, **options)[1]
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
    measures: Sequence[Measure] | None = None,
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
    measures: of the statistics; default: those that ship
    returns: (PassageMeasurement or None, HeadStatistics over all rows of all other texts, which
        can be merged with those of other batches)
    raises: ReportError as for a passage
    """
    if token_ids is not None:
        require_measurable(loaded, token_ids)
    checked(loaded)
    measures = [*shipped().values()] if measures is None else measures
    recorders = Recorders(loaded, rows, measures)
    passage = None if token_ids is None else recorders.passage(token_ids)
    return run_texts(recorders, passage, texts, progress, failed)


def run_texts(
    recorders: "Recorders",
    passage: "PassageRecorder | None",
    texts: Iterable[list[int]],
    progress: Callable[..., None] | None = None,
    failed: dict[int, str] | None = None,
) -> tuple[PassageMeasurement | None, HeadStatistics]:
    """The same with recorders of one's choice, of a model that is `checked`."""
    run = _run_together if reads_layer_by_layer(recorders.loaded) else _run_one_by_one
    try:
        statistics = run(recorders, passage, texts, progress, failed)
    except ReportError:
        if failed is None or run is _run_one_by_one:
            raise
        # which text it was is found out by running each alone
        passage = passage and recorders.passage(passage.token_ids)
        statistics = _run_one_by_one(recorders, passage, texts, progress, failed)
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
        measures: Sequence[Measure] | None = None,
    ):
        """measures: of its statistics; default: those that ship"""
        self.structure = loaded.structure[: loaded.measured_layers]
        self.token_ids, self.progress, self.rows = list(token_ids), progress, rows
        self.shape = shape = len(self.structure), self.structure[0].heads, len(self.token_ids)
        self.largest_targets = np.full((*shape, SHOWN_TARGETS), -1, np.int32)
        self.marker_count = np.zeros(shape, np.int32)
        self.sums = sums_of(loaded, token_ids, measures)
        self.factors = [None] * shape[0]
        self.updates_found, self.layers_with_updates = {}, 0

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and measure its attention."""
        largest = LargestTargets(factors.range(), factors.heads)
        summed = self.sums.layer(layer, value)

        def add(block: Block) -> None:
            largest.add(block)
            summed(block)

        context = streaming_attention(factors, value, add, layer, self.rows)
        targets, probability = largest.found()
        self.largest_targets[layer] = targets.cpu()
        self.marker_count[layer] = marker_count(targets, probability).cpu()
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
        complete = self.layers_with_updates == len(self.structure)
        return PassageMeasurement(
            self.token_ids,
            self.largest_targets,
            self.marker_count,
            HeadStatistics.of_text(self.sums, len(self.token_ids)),
            self.factors,
            **(self.updates_found if complete else {}),
        )


class TextRecorder(Recorder):
    """Collects the statistics of one text."""

    wants_factors = False

    def __init__(
        self,
        loaded: "LoadedModel",
        token_ids: Sequence[int],
        rows: int = ROWS,
        measures: Sequence[Measure] | None = None,
    ):
        """measures: default: those that ship"""
        self.tokens, self.rows = len(token_ids), rows
        self.sums = sums_of(loaded, token_ids, measures)

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and add its statistics."""
        return streaming_attention(factors, value, self.sums.layer(layer, value), layer, self.rows)

    def measurement(self) -> HeadStatistics:
        """The sums, once the text has been run."""
        return HeadStatistics.of_text(self.sums, self.tokens)


def sums_of(
    loaded: "LoadedModel", token_ids: Sequence[int], measures: Sequence[Measure] | None = None
) -> Sums:
    """Empty sums over a text for all heads of a model; measures: default: those that ship."""
    measures = [*shipped().values()] if measures is None else measures
    text = Text(token_ids, functools.partial(_spelled, loaded.tokenizer))
    return Sums(measures, loaded.measured_layers, loaded.structure[0].heads, text)


def _spelled(tokenizer, token_ids):
    """The text of each token by itself, list of str; "" where a model has no tokenizer."""
    if tokenizer is None:
        return [""] * len(token_ids)
    with asked():
        return [tokenizer.decode([id], clean_up_tokenization_spaces=False) for id in token_ids]


@dataclass(frozen=True)
class Recorders:
    """Makes recorders that measure the same."""

    loaded: "LoadedModel"
    rows: int
    measures: Sequence[Measure]
    of_text: Callable[..., TextRecorder] = TextRecorder
    """Makes what collects a text, of the arguments of `TextRecorder`."""

    def passage(self, token_ids: Sequence[int]) -> PassageRecorder:
        """What collects the passage."""
        return PassageRecorder(self.loaded, token_ids, None, ROWS, self.measures)

    def text(self, token_ids: Sequence[int]) -> TextRecorder:
        """What collects a text; raises as `require_measurable`."""
        require_measurable(self.loaded, token_ids)
        return self.of_text(self.loaded, token_ids, self.rows, self.measures)

    def run(self, token_ids: Sequence[int], recorder: Recorder) -> Run:
        """What a model is run on."""
        return _run(self.loaded, token_ids, recorder)

    def nothing(self) -> HeadStatistics:
        """Statistics of no text."""
        names = [measure.name for measure in self.measures]
        shape = self.loaded.measured_layers, self.loaded.structure[0].heads
        return HeadStatistics.empty(*shape, names)


def _run(loaded, token_ids, recorder):
    return Run(list(token_ids), recorder, loaded.identity["alibi_factor"])


def reads_layer_by_layer(loaded: "LoadedModel") -> bool:
    """Whether a model keeps one layer in memory at a time, so that texts are best run together."""
    return loaded.partial is not None and loaded.partial.layer_by_layer


def _run_one_by_one(recorders, passage, texts, progress, failed):
    """Run texts without keeping anything of them but sums, so that their number takes no memory."""
    loaded, number = recorders.loaded, len(texts) if hasattr(texts, "__len__") else None
    done, total = 0, None if number is None else number + (passage is not None)
    if passage is not None:
        loaded.run([recorders.run(passage.token_ids, passage)])
        done += 1
        if progress:
            progress(done, total)
    statistics = recorders.nothing()
    for place, token_ids in enumerate(texts):
        try:
            recorder = recorders.text(token_ids)
            loaded.run([recorders.run(token_ids, recorder)])
            statistics = statistics.merge(recorder.measurement())
        except ReportError as error:
            if failed is None:
                raise
            failed[place] = str(error)
        done += 1
        if progress:
            progress(done, total)
    return statistics


def _run_together(recorders, passage, texts, progress, _):
    """Run texts so that each layer's weights are read once for all of them."""
    runs = [] if passage is None else [recorders.run(passage.token_ids, passage)]
    found = []
    for token_ids in texts:
        found.append(recorders.text(token_ids))
        runs.append(recorders.run(token_ids, found[-1]))
    recorders.loaded.run(runs, progress)
    statistics = recorders.nothing()
    for recorder in found:
        statistics = statistics.merge(recorder.measurement())
    return statistics
