"""Measure a table: the first rendering like a passage, all of them by classes of targets."""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.measurements.class_shares import ClassShares, even_shares
from report.measurements.factors import Factors, Scores
from report.measurements.passage import PassageMeasurement
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run, counting
from report.models.attention.self_check import checked
from report.models.measure.passage import PassageRecorder, reads_layer_by_layer, require_measurable
from report.models.text.cells import TableText

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def measure_table(
    loaded: "LoadedModel",
    texts: list[TableText],
    rows: list[list[int]],
    classes: list[np.ndarray],
    number: int,
    progress: Callable[..., None] | None = None,
    after_first: Callable[[PassageMeasurement], None] | None = None,
) -> tuple[PassageMeasurement, list["ShareRecorder"]]:
    """Measure every head of a model on the renderings of one table.

    loaded: LoadedModel; checked against its own plain forward the first time it is measured
    texts: list of TableText
    rows: list, one a text, of lists of current tokens; classes: list, one a text, of int
        [rows, T], the class of every target; number: of classes
    progress: called with (texts done, texts)
    after_first: called with the measurement of the first text, before the others are read if the
        model is whole
    returns: (PassageMeasurement of the first text, list of `ShareRecorder`, one a text)
    raises: ReportError as for a passage
    """
    for text in texts:
        require_measurable(loaded, text.token_ids)
    checked(loaded)
    passage = PassageRecorder(loaded, texts[0].token_ids)
    recorders = [
        ShareRecorder(loaded, *of_text, number) for of_text in zip(rows, classes, strict=True)
    ]
    factor = loaded.identity["alibi_factor"]
    runs = [Run(texts[0].token_ids, passage, factor)]
    runs += [
        Run(t.token_ids, recorder, factor) for t, recorder in zip(texts, recorders, strict=True)
    ]
    # a model that runs layer by layer reads its layers once for all texts
    at_once = len(runs) if reads_layer_by_layer(loaded) else 1
    loaded.run(runs[:at_once], counting(progress, 0, len(runs)))
    measurement = passage.measurement()
    if after_first:
        after_first(measurement)
    if runs[at_once:]:
        loaded.run(runs[at_once:], counting(progress, at_once, len(runs)))
    return measurement, recorders


class ShareRecorder(Recorder):
    """Collects what each head gives to classes of targets.

    probability: float64 [layers, heads, classes], mean over the rows
    even: float64 [layers, classes], what even attention over the visible targets would give
    """

    wants_factors = False

    def __init__(self, loaded: "LoadedModel", rows: list[int], classes: np.ndarray, number: int):
        """rows, classes, number: as `ClassShares` takes them"""
        layers, heads = loaded.measured_layers, loaded.structure[0].heads
        self.rows, self.classes, self.number = rows, classes, number
        self.probability = np.zeros((layers, heads, number))
        self.even = np.zeros((layers, number))

    def first_heads(self, number: int) -> "ShareRecorder":
        """The same of the first heads of each layer."""
        kept = copy.copy(self)
        kept.probability = self.probability[:, :number]
        return kept

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and divide its attention."""
        visible = factors.range()
        device = visible.first.device
        shares = ClassShares(self.rows, self.classes, self.number, factors.heads, device)
        context = streaming_attention(factors, value, shares.add, layer)
        self.probability[layer] = shares.mean().cpu()
        self.even[layer] = even_shares(self.rows, self.classes, self.number, visible)
        return context
