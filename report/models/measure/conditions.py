"""Measure the conditions of prompts: attention received, and what a filler changes."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.errors import ReportError
from report.inputs.conditions import Condition
from report.measurements.conditions import COMPARED, OVER_ROWS, ConditionStatistics, statistics_of
from report.measurements.factors import Factors, Scores
from report.measurements.received import (
    REDUCTIONS,
    Received,
    affine_error,
    left_to_others,
    total_variation,
)
from report.models.attention.kernel import streaming_attention
from report.models.attention.recorder import Recorder
from report.models.attention.running import Run, counting
from report.models.attention.self_check import checked
from report.models.measure.passage import reads_layer_by_layer, require_measurable
from report.models.text.segments import SegmentedText, align, segmented_prompts

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


def measure_conditions(
    loaded: "LoadedModel",
    prompts: list[list[Condition]],
    progress: Callable[..., None] | None = None,
    after_first: Callable[[list[ConditionStatistics]], None] | None = None,
    chat: bool | str = False,
) -> list[ConditionStatistics]:
    """Measure every head on the conditions of many prompts.

    loaded: LoadedModel; checked as for a passage
    prompts: list of lists of `Condition`, the same conditions for every prompt, in the same order;
        the first is what the others are compared with
    progress: called with (texts done, texts), a condition of a prompt being a text
    after_first: called with what is returned, but of the first prompt only (of all, if the model is
        read layer by layer), before the others are run
    chat: whether the prompts are put into the model's chat template, as of `chat_segments`
    returns: list of ConditionStatistics, one a condition
    raises: ReportError as for a passage, or if the prompts' positions cannot be averaged
    """
    _require_alike(prompts)
    every = [condition.segments for prompt in prompts for condition in prompt]
    read = iter(segmented_prompts(loaded, every, chat))
    texts = [[next(read) for _ in prompt] for prompt in prompts]
    for text in (text for prompt in texts for text in prompt):
        require_measurable(loaded, text.token_ids)
    checked(loaded)
    number, done = sum(map(len, texts)), 0
    # A model that runs layer by layer reads its layers once for all prompts; a whole one runs
    # prompt by prompt, so that nothing of a prompt but the sums takes memory.
    at_once = len(prompts) if reads_layer_by_layer(loaded) else 1
    merged = None
    for start in range(0, len(prompts), at_once):
        part = slice(start, start + at_once)
        recorders = [recorders_of(loaded, prompt) for prompt in texts[part]]
        factor = loaded.identity["alibi_factor"]
        runs = [Run(one.text.token_ids, one, factor) for prompt in recorders for one in prompt]
        loaded.run(runs, counting(progress, done, number))
        done += len(runs)
        measured = [
            [recorder.statistics(condition) for recorder, condition in zip(*pair, strict=True)]
            for pair in zip(recorders, prompts[part], strict=True)
        ]
        if merged is not None:
            measured.insert(0, merged)
        merged = [
            reduce(ConditionStatistics.merge, condition)
            for condition in zip(*measured, strict=True)
        ]
        if start == 0 and after_first:
            after_first(merged)
    return merged


def _require_alike(prompts):
    names = [[condition.name for condition in prompt] for prompt in prompts]
    if not names or not names[0]:
        raise ReportError("there is no prompt to measure; give at least one with one condition")
    for number, conditions in enumerate(names):
        if conditions != names[0] or len(set(conditions)) < len(conditions):
            raise ReportError(
                f"prompt {number} has the conditions {', '.join(conditions)}, prompt 0 has "
                f"{', '.join(names[0])}; give every prompt the same ones, each once"
            )


def recorders_of(loaded: "LoadedModel", texts: list[SegmentedText]) -> list["ConditionRecorder"]:
    """A recorder for every condition of one prompt, to be run in this order.

    texts: list of SegmentedText; the first recorder keeps what the others are compared with
    returns: list of ConditionRecorder
    raises: ReportError if a condition adds a segment after which nothing is as it was
    """
    base = ConditionRecorder(loaded, texts[0])
    others = [ConditionRecorder(loaded, text, base) for text in texts[1:]]
    base.rows = sorted({row for other in others for row in other.rows_of_base})
    return [base, *others]


class ConditionRecorder(Recorder):
    """Collects what one condition of one prompt shows, layer by layer."""

    wants_factors = False

    def __init__(
        self,
        loaded: "LoadedModel",
        text: SegmentedText,
        base: "ConditionRecorder | None" = None,
    ):
        """base: the recorder of the first condition, which runs before"""
        self.text, self.base = text, base
        self.shape = loaded.measured_layers, loaded.structure[0].heads
        self.received = np.zeros((len(REDUCTIONS), *self.shape, len(text.token_ids)))
        self.compared, self.kept = None, {}
        self.rows, self.rows_of_base, self.filler = [], [], []
        if base is not None:
            self.counterpart = align(base.text, text)  # [T of base]
            self._find_rows()

    def _find_rows(self):
        """The filler, and the current tokens after it that the base has too."""
        new = self.text.texts.keys() - self.base.text.texts.keys()
        if not new:
            return
        self.filler = sorted(token for name in new for token in self.text.span(name))
        if not self.filler:
            merged = ", ".join(repr(crossing.text) for crossing in self.text.crossings)
            raise ReportError(
                f"no token lies in segment '{', '.join(sorted(new))}' alone: the tokenizer merges "
                f"it with its neighbours ({merged or 'nothing is left of it'}); give it a longer "
                "text, which ends in a line break"
            )
        pairs = [(row, here) for row, here in enumerate(self.counterpart) if here > self.filler[-1]]
        if not pairs:
            raise ReportError(
                f"no token after segment '{', '.join(sorted(new))}' is the same without it; put it "
                "before a segment that all conditions share"
            )
        self.rows_of_base, self.rows = map(list, zip(*pairs, strict=True))
        self.compared = np.full((len(COMPARED), len(OVER_ROWS), *self.shape), np.nan)

    def attention(
        self, layer: int, factors: Factors | Scores, value: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Compute one layer's context and measure what is received."""
        received = Received(factors.range(), factors.heads, self.rows)
        context = streaming_attention(factors, value, received.add, layer)
        for place, values in enumerate(received.reductions().values()):
            self.received[place, layer] = values.cpu()
        dense = isinstance(factors, Scores)
        if self.base is None:
            of_rows = None if dense else context[:, self.rows].cpu()
            self.kept[layer] = received.kept.cpu(), of_rows
        elif self.compared is not None:
            new = None
            if not dense:
                new = context[:, self.rows].cpu(), self._from_filler(received, value)
            for place, values in enumerate(self._compare(layer, received.kept.cpu(), new)):
                self.compared[place, 0, layer] = values.mean(-1)
                self.compared[place, 1, layer] = values[:, -1]
        return context

    def _from_filler(self, received, value):
        """What the filler's values add to the contexts, float [heads, rows, value_dim]."""
        weights = received.kept[..., self.filler]  # [heads, rows, filler]
        grouped = weights.unflatten(0, (len(value), -1)).flatten(1, 2)
        added = grouped @ value[:, self.filler].to(weights.dtype)
        return added.view(*weights.shape[:2], -1).cpu()

    def _compare(self, layer, pattern, new):
        """The values of COMPARED, each float64 [heads, rows]; the last only if `new` is there."""
        old_pattern, old_context = self.base.kept[layer]
        rows = [self.base.rows.index(row) for row in self.rows_of_base]
        shared = [(old, here) for old, here in enumerate(self.counterpart) if here >= 0]
        old_targets, targets = map(list, zip(*shared, strict=True))
        left = left_to_others(pattern, self.filler)
        yield left
        yield total_variation(old_pattern[:, rows][..., old_targets], pattern[..., targets])
        if new is not None:
            context, from_filler = new
            yield affine_error(context, old_context[:, rows], left, from_filler)

    def statistics(self, condition: Condition) -> ConditionStatistics:
        """Everything collected, once the prompt has been run."""
        positions = range(len(self.text.token_ids)) if self.base is None else self.counterpart
        return statistics_of(condition, self.text, self.received, self.compared, positions)
