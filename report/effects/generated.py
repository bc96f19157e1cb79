"""Direct effects and ablations of a short text, asked about at its last token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.direct import directed, effects_of
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


def measure_text(
    loaded: "LoadedModel", text: Text, replacements: Sequence[Replacement] | None
) -> dict[str, np.ndarray]:
    """Measure a text.

    replacements: what heads are ablated with, besides resampling; None: they are not ablated
    returns: float64 arrays. Direct effects: "heads" [layers, heads], "feed_forward" and
        "attention_bias" [layers], and the "logit" []; "first" [], 1 if the token that is asked
        about is the most likely one, else 0. If heads are ablated, "zero", "mean" and "resample"
        [layers, heads], the fall of what is asked
    raises: ReportError as `direct_effects` does
    """
    run = directed(loaded, text.token_ids, [text.asked])
    direct = effects_of([text.asked], run, len(text.token_ids))
    told = {
        name: getattr(direct, name)[0]
        for name in ("heads", "feed_forward", "attention_bias", "logit")
    }
    told["first"] = np.float64(int(run.logits[-1].argmax()) == text.asked.token)
    if replacements is not None:
        for replacement in (*replacements, of_text(loaded, text.resampled)):
            found = ablation(loaded, text.token_ids, [text.asked], replacement)
            told[replacement.kind] = found.drop[0]
    return told
