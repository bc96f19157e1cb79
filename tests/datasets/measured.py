"""Statistics of two conditions over prompts of random numbers, as if a model had been measured."""

from functools import reduce
from types import SimpleNamespace

import numpy as np

from report.measurements.conditions import ConditionStatistics, statistics_of
from report.models.text.segments import Crossing, SegmentedText

LAYERS, HEADS = 2, 3
SYSTEM, FILLER, QUESTION = 3, 2, 4
"""Tokens of each segment; the question of prompt n has n more."""


def text(**lengths):
    """A SegmentedText of so many tokens a segment; one merged into the filler, if there is one."""
    segment = [name for name, length in lengths.items() for _ in range(length)]
    pieces = [{"id": i, "text": " a\n<b>"[i % 6]} for i in range(len(segment))]
    crossings = [Crossing(1, ".\n/", "system", "filler")] if "filler" in lengths else []
    return SegmentedText("", [], pieces, lengths, segment, [], crossings)


def conditions(prompts, seed=0):
    """list of ConditionStatistics: "none" and "filler", random probabilities of every row."""
    rng = np.random.default_rng(seed)
    plain, filled = [], []
    for number in range(prompts):
        question = QUESTION + number
        one = text(system=SYSTEM, question=question)
        two = text(system=SYSTEM, filler=FILLER, question=question)
        length = SYSTEM + question
        condition = SimpleNamespace(name="none", label="w/o")
        plain.append(statistics_of(condition, one, received(rng, length), None, range(length)))
        condition = SimpleNamespace(name="filler", label="w/ <filler>")
        effect = rng.random((3, 2, LAYERS, HEADS))
        effect[2, 0, 0, 1] = np.nan
        shifted = [0, 1, -1, *range(SYSTEM + FILLER, length + FILLER)]
        values = received(rng, length + FILLER)
        filled.append(statistics_of(condition, two, values, effect, shifted))
    return [reduce(ConditionStatistics.merge, each) for each in (plain, filled)]


def received(rng, length):
    """What the positions of a random causal pattern receive, float [3, layers, heads, length]."""
    weight = np.tril(rng.random((LAYERS, HEADS, length, length)) ** 3)
    probability = weight / weight.sum(-1, keepdims=True)
    seen = length - np.arange(length)
    total = probability.sum(-2)
    return np.stack([total / seen, probability[..., -1, :], total / length])
