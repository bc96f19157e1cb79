"""What an article about a passage may say of its predictions: what is looked at beside what
matters, and what is lost without a head."""

import functools
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import Head, largest
from report.kinds.prediction.data import PredictionData


@dataclass(frozen=True)
class Both:
    """What heads look at, beside what matters of it, over every token after the first that
    predicts, or over the first where it alone does; parts of 1."""

    first_share: float
    """Of the attention on the first token."""
    first_effect: float
    """Of all effects by target, whatever their signs, that come from it."""


class PredictedFindings:
    """Findings about the predictions of one model for the next tokens of a passage."""

    def __init__(self, data: PredictionData) -> None:
        self.data = data
        (self.text,) = data.sentences

    @functools.cached_property
    def both(self) -> Both:
        """See `Both`; over all heads."""
        return self._both(np.ndindex(self.data.layers, self.data.heads))

    def both_of(self, layer: int, head: int) -> Both:
        """The same of one head."""
        return self._both([(layer, head)])

    def _both(self, places):
        # the only target of the first token is itself
        later = slice(min(1, self.text.rows - 1), None)
        heads = [self.text.head(*place) for place in places]
        size = sum(np.abs(head.effect[later]).sum(0) for head in heads)
        share = np.mean([head.probability[later, 0].mean() for head in heads])
        return Both(float(share), float(size[0] / size.sum()) if size.any() else 0.0)

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
