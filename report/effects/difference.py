"""What each head adds by itself to the logit of the next token, in two models over texts."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from report.effects.asked import MEAN, Asked
from report.effects.direct import direct_effects
from report.measurements.head_statistics import HeadStatistics
from report.models.measure.difference import beside, halves, require_alike, summed

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

EFFECT = "direct_effect"


def compare_effects(
    reference: "LoadedModel",
    loaded: "LoadedModel",
    texts: Sequence[Sequence[int]],
    progress: Callable[[], object] = lambda: None,
) -> tuple[HeadStatistics, HeadStatistics]:
    """Direct effects of every head of two models on the token that comes next, over texts.

    They are on the logit of that token less the mean over the vocabulary, in logits. Token 0 of a
    text is left out, as everywhere, and what comes after the last one is not known.

    texts: token ids, the same for both, 2 texts or more; progress: called after each
    returns: sums over each of two `halves` of the texts, of `EFFECT` as
        `models.measure.difference.compare` has them of a measure
    raises: ReportError as `direct_effects`, or for models of different shapes
    """
    require_alike(reference, loaded)
    found = [None, None]
    for token_ids, half in zip(texts, halves(texts), strict=True):
        pair = (_of_text(each, token_ids) for each in (reference, loaded))
        of_text = HeadStatistics.of_text(summed(beside(EFFECT, *pair)), len(token_ids))
        found[half] = of_text if found[half] is None else found[half].merge(of_text)
        progress()
    return found[0], found[1]


def _of_text(loaded, token_ids):
    """How many tokens predict, and the sum of each head's effects: float64 [2, layer, head]."""
    shape = loaded.measured_layers, loaded.structure[0].heads
    sums = torch.zeros((2, *shape), dtype=torch.float64)
    asked = [Asked(at, int(token_ids[at + 1]), MEAN) for at in range(1, len(token_ids) - 1)]
    if asked:
        direct = direct_effects(loaded, token_ids, asked)
        sums[0], sums[1] = len(asked), torch.from_numpy(direct.heads.sum(0))
    return sums
