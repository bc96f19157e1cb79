"""Facts hidden in a long text: which heads look at them from their questions, and what the answers
lose without these heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats.needle import encode
from report.inputs.needles import DEPTHS, Filler, NeedlesSpec

if TYPE_CHECKING:
    from report.effects.replacing import Replacement
    from report.measurements.needle import Needles
    from report.models.load.load import LoadedModel

Place = tuple[int, int]
GROUPS = ("answer", "question")
"""From which tokens is looked: those at which the answer is predicted; those of the question."""

SETS = 30
"""Sets of random heads."""


def contexts(spec: NeedlesSpec) -> int:
    """How many texts are read."""
    return len(spec.facts) * len(spec.lengths) * (DEPTHS + 1)


def measure_needles(
    loaded: LoadedModel,
    spec: NeedlesSpec,
    filler: Filler,
    replacement: Replacement,
    sets_of: Callable[[np.ndarray], list[list[Place]]],
    progress: Callable[[int], object],
) -> Needles:
    """Read every text.

    replacement: of the contexts of heads, from the first token of the question on
    sets_of: from a score of heads, [layers, heads], to the chosen ones and the random sets
    progress: called with the texts done
    raises: ReportError if a text cannot be made of the model's tokens, or read in two parts
    """
    from report.effects.ending import Ending
    from report.measurements.needle import Needles, beside_elsewhere
    from report.models.text.needle import Hiding

    hiding, done = Hiding(loaded, filler.text), 0
    shape = len(spec.facts), len(spec.lengths)
    heads = loaded.measured_layers, loaded.structure[0].heads, len(GROUPS)
    given, elsewhere = (np.zeros((*shape, DEPTHS, *heads)) for _ in range(2))
    losses, rises = np.zeros((*shape, DEPTHS + 1)), []
    sets: list[list[Place]] = []
    for at, length in np.ndindex(shape):
        shares = np.zeros((DEPTHS, *heads, DEPTHS))
        for depth in range(DEPTHS + 1):
            where = depth if depth < DEPTHS else None
            text = hiding.text_of(spec.facts[at], spec.lengths[length], where)
            read = Ending(loaded, text.token_ids, text.question.start)
            if not done:
                read.require_right()
            if where is not None:
                shares[depth] = _shares(read, text)
            replaced = [[], *(sets if where is not None else [])]
            log = read.log_probabilities(replaced, replacement, list(text.answer)).mean(1)
            losses[at, length, depth] = -log[0]
            rises += [log[0] - log[1:]] if len(log) > 1 else []
            done += 1
            progress(done)
        given[at, length], elsewhere[at, length] = beside_elsewhere(shares)
        if (at, length) == (0, shape[1] - 1):
            sets = sets_of((given[0] - elsewhere[0]).mean((0, 1))[..., 0])
    lost = np.reshape(rises, (shape[0] - 1, shape[1], DEPTHS, -1))
    return Needles(given, elsewhere, sets[0], losses, lost)


def _shares(read, text):
    """What each group of `GROUPS` gives to each place: float64 [layers, heads, 2, depths]."""
    targets = np.zeros((len(text.token_ids), DEPTHS))
    for at, place in enumerate(text.places):
        targets[list(place), at] = 1
    predicting = range(text.answer.start - 1, text.answer.stop - 1)
    return read.shares([predicting, text.question], targets)


def of_needles(needles: Needles) -> dict:
    """Its dataset."""
    from report.measurements.needle import error

    more = needles.given - needles.elsewhere  # [F, L, depths, layers, heads, 2]
    units = np.moveaxis(more, 1, 2).reshape(-1, *more.shape[1:2], *more.shape[3:])
    of_rises = np.moveaxis(needles.rises, 1, 2).reshape(-1, *np.delete(needles.rises.shape, [0, 2]))
    by_group = np.moveaxis(error(units), -1, 0)
    return encode(needles, list(by_group), error(of_rises))
