"""Direct effects and ablations of many short texts, each asked about at its last token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.direct import Direct, directed, effects_of
from report.effects.replacing import Replacement, of_text

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class Text:
    """A text as tokens.

    token_ids: [T]; asked: at its last token
    resampled: ids of another text, as long as this one
    """

    token_ids: Sequence[int]
    asked: Asked
    resampled: Sequence[int]


@dataclass(frozen=True)
class OfTexts:
    """What is told of texts, row by row.

    direct: direct effects, one a text, each of one row
    first: [texts], whether the token that is asked about is the most likely one
    drops: "zero", "mean" or "resample" -> float64 [texts that were ablated, layers, heads], the
        fall of what is asked
    """

    direct: list[Direct]
    first: list[bool]
    drops: dict[str, np.ndarray]


def measure_texts(
    loaded: "LoadedModel",
    texts: Sequence[Text],
    replacements: Sequence[Replacement],
    ablated: int,
    progress: Callable[[], object] = lambda: None,
) -> OfTexts:
    """Measure texts.

    replacements: what heads are ablated with, besides resampling
    ablated: how many texts, from the first on, are ablated
    progress: called after every text, and after every text that was ablated
    raises: ReportError as `direct_effects` does
    """
    direct, first = [], []
    for text in texts:
        run = directed(loaded, text.token_ids, [text.asked])
        direct.append(effects_of([text.asked], run, len(text.token_ids)))
        first.append(int(run.logits[-1].argmax()) == text.asked.token)
        progress()
    drops: dict[str, list[np.ndarray]] = {}
    for text in texts[:ablated]:
        for replacement in (*replacements, of_text(loaded, text.resampled)):
            found = ablation(loaded, text.token_ids, [text.asked], replacement)
            drops.setdefault(replacement.kind, []).append(found.drop[0])
        progress()
    return OfTexts(direct, first, {kind: np.stack(rows) for kind, rows in drops.items()})
