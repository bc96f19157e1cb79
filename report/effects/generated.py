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
    """A text as tokens, and which logit of its next token is asked about.

    token_ids: [T]; asked: its position is the last token
    resampled: ids of another text, [T] too, whose contexts replace those of heads
    """

    token_ids: Sequence[int]
    asked: Asked
    resampled: Sequence[int]


def measure_text(
    loaded: "LoadedModel", text: Text, replacements: Sequence[Replacement] | None
) -> dict[str, np.ndarray]:
    """The effects of a model's parts on the prediction after a text.

    replacements: contexts that heads are ablated with, besides the resampled; None: no ablation
    returns: float64 arrays, in logits. Direct effects: "heads" [layers, heads], "feed_forward" and
        "attention_bias" [layers], and the "logit" []; "first" [], 1 if the token that is asked
        about is the most likely one, else 0. If heads are ablated, also [layers, heads] under
        "resample" and the kind of each replacement, "zero" or "mean": the fall of the logit, or of
        the difference of logits, that is asked about
    raises: ReportError as `direct_effects` and `ablation`
    """
    run = directed(loaded, text.token_ids, [text.asked])
    direct = effects_of([text.asked], run, len(text.token_ids))
    effects = {
        name: getattr(direct, name)[0]
        for name in ("heads", "feed_forward", "attention_bias", "logit")
    }
    effects["first"] = np.float64(int(run.logits[-1].argmax()) == text.asked.token)
    if replacements is not None:
        for replacement in (*replacements, of_text(loaded, text.resampled)):
            ablated = ablation(loaded, text.token_ids, [text.asked], replacement)
            effects[replacement.kind] = ablated.drop[0]
    return effects
