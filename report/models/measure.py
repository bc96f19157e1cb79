"""Measure a passage (factors, largest targets, updates) or a corpus (sums only) with one kernel."""

import numpy as np

from report.errors import ReportError
from report.measurements.decomposition import Factors
from report.measurements.head_statistics import HeadStatistics, block_sums
from report.measurements.passage import PassageMeasurement
from report.measurements.targets import SHOWN_TARGETS, largest_targets
from report.measurements.updates import HeadUpdate
from report.models.capture import family_of, run_measured
from report.models.kernel import BLOCK, require_finite, streaming_attention
from report.models.self_check import checked


def measure_passage(loaded, token_ids, progress=None, block=BLOCK):
    """Measure every head of a model on one passage.

    loaded: LoadedModel; checked against its own plain forward the first time it is measured
    token_ids: list of int, as `encode` returns it
    progress: called with (layers done, layers) after each layer
    block: rows at a time; changes speed, not results
    returns: PassageMeasurement, on the CPU
    raises: ReportError for fewer than 2 or too many tokens, or for NaN or infinity anywhere
    """
    require_measurable(loaded, token_ids)
    checked(loaded)
    recorder = _PassageRecorder(loaded.model, len(token_ids), progress, block)
    run_measured(loaded.model, token_ids, recorder.record)
    return recorder.measurement(token_ids)


def measure_corpus(loaded, texts, progress=None, block=BLOCK):
    """Measure every head's statistics over many texts, one layer's block of rows in memory.

    loaded: LoadedModel; checked as for a passage
    texts: iterable of lists of token ids
    progress: called with (texts done, texts or None if the number is not known) after each text
    block: rows at a time
    returns: HeadStatistics over all rows of all texts
    raises: ReportError as for a passage, or when there is no text
    """
    checked(loaded)
    model = loaded.model
    statistics = _empty_statistics(model)
    number = len(texts) if hasattr(texts, "__len__") else None

    def record(layer, _, factors, value):
        def observe(start, _score, probability):
            statistics.add_block(layer, block_sums(probability, start))

        return streaming_attention(factors, value, observe, layer, block)

    for token_ids in texts:
        require_measurable(loaded, token_ids)
        run_measured(model, token_ids, record)
        statistics.add_text(len(token_ids))
        if progress:
            progress(statistics.texts, number)
    if not statistics.texts:
        raise ReportError("the corpus has no text; give at least one text of 2 tokens")
    return statistics


def require_measurable(loaded, token_ids):
    """Stop for a list of token ids that this model cannot be measured on."""
    length, context = len(token_ids), loaded.identity["context"]
    vocabulary = loaded.model.config.vocab_size
    if length < 2:
        raise ReportError(
            f"got {length} tokens; measuring takes at least 2, so that one has a choice"
        )
    if length > context:
        raise ReportError(
            f"got {length} tokens, the model takes at most {context}; shorten the text"
        )
    if not all(0 <= token_id < vocabulary for token_id in token_ids):
        raise ReportError(
            f"token ids go from {min(token_ids)} to {max(token_ids)}, the model knows 0 to "
            f"{vocabulary - 1}; use the tokenizer that belongs to the model"
        )


def _empty_statistics(model):
    return HeadStatistics.empty(model.config.num_hidden_layers, model.config.num_attention_heads)


class _PassageRecorder:
    """Collects what `PassageMeasurement` holds, layer by layer."""

    def __init__(self, model, length, progress, block):
        shape = (model.config.num_hidden_layers, model.config.num_attention_heads, length)
        self.layers = family_of(model.config).layers(model)
        self.output_projection = family_of(model.config).output_projection
        self.progress, self.block = progress, block
        self.largest_targets = np.full((*shape, SHOWN_TARGETS), -1, np.int32)
        self.marker_count = np.zeros(shape, np.int32)
        self.magnitude = np.zeros(shape, np.float32)
        self.alignment = np.zeros(shape, np.float32)
        self.statistics = _empty_statistics(model)
        self.factors = []

    def record(self, layer, hidden_state, factors, value):
        """Measure one layer; see `attached`."""

        def observe(start, score, probability):
            rows = slice(start, start + score.shape[1])
            targets, markers = largest_targets(score, probability, start)
            self.largest_targets[layer, :, rows] = targets.cpu()
            self.marker_count[layer, :, rows] = markers.cpu()
            self.statistics.add_block(layer, block_sums(probability, start))

        context = streaming_attention(factors, value, observe, layer, self.block)
        self._record_updates(layer, context, hidden_state)
        self.factors.append(_own(factors))
        if self.progress:
            self.progress(layer + 1, len(self.layers))
        return context

    def _record_updates(self, layer, context, hidden_state):
        weight = self.output_projection(self.layers[layer]).weight
        update = HeadUpdate.of_projection(weight, context.shape[0])
        magnitude, alignment = update.magnitude_and_alignment(context, hidden_state)
        require_finite(magnitude, layer, "update magnitude")
        require_finite(alignment, layer, "update alignment")
        self.magnitude[layer] = magnitude.cpu()
        self.alignment[layer] = alignment.cpu()

    def measurement(self, token_ids):
        """Everything collected."""
        self.statistics.add_text(len(token_ids))
        return PassageMeasurement(
            list(token_ids),
            self.largest_targets,
            self.marker_count,
            self.magnitude,
            self.alignment,
            self.statistics,
            self.factors,
        )


def _own(factors):
    """The factors on the CPU in memory of their own: no view that keeps the values alive."""
    names = ("query", "key", "query_bias", "key_bias", "position")
    own = {name: getattr(factors, name).detach().cpu().clone() for name in names}
    return Factors(**own, scale=factors.scale)
