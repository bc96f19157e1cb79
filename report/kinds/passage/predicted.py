"""What an article about a passage may say of its predictions: what is looked at beside what
matters, and what is lost without a head."""

import functools
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import Head, largest
from report.kinds.prediction.data import PredictionData


@dataclass(frozen=True)
class Both:
    """What heads look at, beside what matters of it, over all heads and every token after the first
    that predicts; parts of 1."""

    first_share: float
    """Of the attention on the first token."""
    first_effect: float
    """Of all effects by target, whatever their signs, that come from it."""
    first_top: float
    """How often the first token is looked at most."""
    first_most: float
    """How often most of the effect comes from it."""
    same: float
    """How often what is looked at most is also what matters most."""


class PredictedFindings:
    """Findings about the predictions of one model for the next tokens of a passage."""

    def __init__(self, data: PredictionData) -> None:
        self.data = data
        (self.text,) = data.sentences

    @functools.cached_property
    def both(self) -> Both:
        """See `Both`."""
        heads = np.ndindex(self.data.layers, self.data.heads)
        counts = np.array([_counts(self.text.head(*place)) for place in heads])
        share, top, most, same, effect, whole = counts.sum(0)
        rows = len(counts) * (self.text.rows - 1)
        return Both(share / rows, effect / whole if whole else 0.0, top / rows, most / rows,
                    same / rows)  # fmt: skip

    @functools.cached_property
    def direct(self) -> np.ndarray:
        """The mean direct effect of every head, float [layers, heads], in logits."""
        return self.text.heads.mean(0)

    @functools.cached_property
    def lost(self) -> np.ndarray:
        """How much the loss rises without each head, float [layers, heads], in nats a token."""
        return self.text.drop("mean")

    @property
    def loss(self) -> float:
        """The loss without ablation, in nats a token."""
        return -self.text.before

    @property
    def strongest(self) -> Head:
        """The head that adds most by itself."""
        return largest(self.direct)

    @property
    def missed(self) -> Head:
        """The head without which most is lost."""
        return largest(self.lost)

    @property
    def worse(self) -> int:
        """How many heads make the model worse on this passage: the loss falls without them."""
        return int((self.lost < 0).sum())

    @property
    def correlation(self) -> float:
        """Of direct effects with what is lost without each head, over all heads, -1 to 1."""
        both = self.direct.ravel(), self.lost.ravel()
        return float(np.corrcoef(*both)[0, 1]) if all(np.ptp(one) for one in both) else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `correlation`, by Fisher's z-transform; heads count as independent
        samples, though those of a layer are not quite."""
        heads = self.data.layers * self.data.heads
        if heads <= 3:
            return -1.0, 1.0
        middle = np.arctanh(np.clip(self.correlation, -0.9999, 0.9999))
        half = 1.96 / np.sqrt(heads - 3)
        return float(np.tanh(middle - half)), float(np.tanh(middle + half))


def _counts(head):
    """Of one head, over the rows after the first, whose only target is itself: attention on the
    first token; rows in which that is the top target, in which it matters most, in which both are
    one token; size of the effects from the first token, and of all."""
    share, size = head.probability[1:], np.abs(head.effect[1:])
    looked, mattered = share.argmax(1), size.argmax(1)
    return (
        share[:, 0].sum(),
        (looked == 0).sum(),
        (mattered == 0).sum(),
        (looked == mattered).sum(),
        size[:, 0].sum(),
        size.sum(),
    )
