"""What an article about a prediction may say: whether it is right, and by which heads.

Where sentences were generated, "mean" numbers are over them; else over the texts of the article.
A part of it is about one text: where a head looks, what makes it, when the answer leads.
"""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import Head, head_label, largest
from report.kinds.prediction.data import PredictionData, Sentence
from report.kinds.prediction.generated import GeneratedData
from report.kinds.prediction.pieces import Part


@dataclass(frozen=True)
class Source:
    """An earlier part that makes a head look where it looks."""

    part: Part
    value: float
    """How much more it adds to the score of the token that is looked at than to the mean of all,
    as `score_origins` draws it."""
    side: str
    """"query": by what the predicting token has of it; "key": by what the target has."""


@dataclass(frozen=True)
class Seen:
    """Where a head looks at the last token, and where its effect comes from."""

    looked_at: str
    share: float
    """Of its attention."""
    mattered: str
    effect: float
    """In logits, by way of that token."""
    promoted: tuple[str, ...]
    """What it promotes most when it reads the token that mattered; () if that is not known."""
    suppressed: tuple[str, ...]


@dataclass(frozen=True)
class Rise:
    """How the answer rises in the logit lens of a text."""

    first: str | None
    """The state from which on it is the first guess, "layer 24, attention"; None if it is not."""
    before: str | None
    """The state from which on it is likelier than the other; None if it is not, or there is no
    other."""


class SentenceFindings:
    """The part of `report.kinds.prediction.findings.PredictionFindings` that reads one text.

    sentence: its number, from 0
    """

    def __init__(self, data: PredictionData) -> None:
        self.data = data

    def seen(self, head: Head, sentence: int = 0) -> Seen:
        """Where a head looks at the last token of a text, and where its effect comes from."""
        text = self.data.sentences[sentence]
        one = text.head(head.layer, head.head)
        looked, mattered = int(one.probability[-1].argmax()), int(np.abs(one.effect[-1]).argmax())
        promoted, suppressed = (), ()
        if one.writes is not None:
            words = one.writes.words
            promoted, suppressed = (
                _told_apart(words[int(token)].strip() for token in tokens[mattered])
                for tokens in (one.writes.promoted, one.writes.suppressed)
            )
        return Seen(
            text.tokens[looked].label.strip(),
            float(one.probability[-1, looked]),
            text.tokens[mattered].label.strip(),
            float(one.effect[-1, mattered]),
            promoted,
            suppressed,
        )

    def lowers(self, head: Head, sentence: int = 0) -> bool:
        """Whether a head speaks for the answer of a text by taking away from the other one, which
        it reads: its effect comes from there, and it suppresses that token."""
        text = self.data.sentences[sentence]
        other, seen = text.other(), self.seen(head, sentence)
        if other is None or seen.effect <= 0:
            return False
        return seen.mattered == other.label.strip() and seen.mattered in seen.suppressed

    def sources(self, head: Head, sentence: int = 0, most: int = 3) -> list[Source]:
        """The earlier heads that make a head look where it looks most at the last token: how much
        more each adds to that token's score than to the mean of all; largest first.

        returns: [] where that is not known of the head
        """
        one = self.data.sentences[sentence].head(head.layer, head.head)
        made_of = one.origins
        if made_of is None or len(made_of.targets) < 2:
            return []
        place = int(one.probability[-1][list(made_of.targets)].argmax())
        found = []
        for side, values in (("query", made_of.by_query), ("key", made_of.by_key)):
            above = values[:, place] - values.mean(1)
            for part, more in zip(made_of.parts, above, strict=True):
                if part.kind == "head" and more > 0:
                    found.append(Source(part, float(more), side))
        return sorted(found, key=lambda source: -source.value)[:most]

    def rise(self, sentence: int = 0) -> Rise:
        """From which state on the answer leads in the logit lens of a text's last token."""
        lens = self.data.sentences[sentence].lens
        first = _from(lens.target_rank[:, -1] == 0)
        before = None
        if lens.other_log_probability is not None:
            before = _from(lens.target_log_probability[:, -1] > lens.other_log_probability)
        return Rise(*(None if state is None else lens.labels[state] for state in (first, before)))


def _told_apart(words: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The first words, each once, whatever its case: "John" and "john" are one."""
    first = {}
    for word in words:
        first.setdefault(word.lower(), word)
    return tuple(first.values())[:most]


def _from(holds: np.ndarray) -> int | None:
    """The index from which on something holds to the end; None if it does not at the end."""
    if not holds[-1]:
        return None
    failing = np.flatnonzero(~holds)
    return int(failing[-1]) + 1 if len(failing) else 0


ABLE = 0.8
"""A model can do a task if it is right in at least this part of the sentences, by chance in 0.5."""

NOTABLE = 0.1
"""An effect is notable from this part of the mean logit difference on."""

ALONE = 0.25
"""A head matters through others if its direct effect is at most this part of what is lost without
it."""

CLEAR = 2
"""Standard errors that a mean must be away from 0."""

MOST = 6
"""Heads that are listed, at most."""


def context(data: PredictionData) -> dict:
    """What templates of articles about a prediction use: see `report.kinds`."""
    return {"find": PredictionFindings(data)}


@dataclass(frozen=True)
class HeadMean:
    """A head with a mean over sentences and its standard error, in logits."""

    head: Head
    error: float
    """NaN where sentences are too few to tell."""

    @property
    def value(self) -> float:
        """The mean."""
        return self.head.value

    @property
    def label(self) -> str:
        """ "L5H1"."""
        return self.head.label


@dataclass(frozen=True)
class Mean:
    """A mean over sentences and its standard error, NaN where they are too few to tell."""

    value: float
    error: float


class PredictionFindings(SentenceFindings):
    """Findings about the prompts of an article, and its generated sentences."""

    @property
    def generated(self) -> GeneratedData | None:
        """The generated sentences, if they were measured."""
        return self.data.generated

    @functools.cached_property
    def prompts(self) -> list[Sentence]:
        """The texts that ask for something at their last token."""
        return [sentence for sentence in self.data.sentences if sentence.asks]

    @property
    def logits(self) -> np.ndarray:
        """What was asked, of every generated sentence or every prompt: float [sentences]."""
        if self.generated is not None:
            return self.generated.logit
        return np.array([sentence.logit[-1] for sentence in self.prompts])

    @property
    def right(self) -> float:
        """The part of them in which the right answer is likelier than the other."""
        return float((self.logits > 0).mean())

    @property
    def first(self) -> float:
        """The part of the generated sentences in which the right answer is the likeliest token."""
        return float(self.generated.first.mean()) if self.generated is not None else 0.0

    @property
    def able(self) -> bool:
        """Whether the model can do the task."""
        return self.right >= ABLE

    @property
    def logit(self) -> float:
        """The mean of `logits`."""
        return float(self.logits.mean())

    @property
    def whole(self) -> Mean:
        """Its mean and standard error."""
        return Mean(self.logit, _error(self.logits))

    def mean(self, measure: str) -> np.ndarray:
        """The mean over sentences of every head, float [layers, heads], in logits.

        measure: "direct", "zero", "mean", or "resample" if sentences were generated
        """
        if self.generated is not None:
            return self.generated.mean(measure)
        return self._of_prompts(measure).mean(0)

    def error(self, measure: str) -> np.ndarray | None:
        """The standard errors of `mean`; None for fewer than 3 sentences."""
        if self.generated is not None:
            return self.generated.error(measure)
        values = self._of_prompts(measure)
        return values.std(0, ddof=1) / len(values) ** 0.5 if len(values) > 2 else None

    def _of_prompts(self, measure):
        if measure == "direct":
            return np.stack([sentence.heads[-1] for sentence in self.prompts])
        return np.stack([sentence.drop(measure) for sentence in self.prompts])

    @property
    def ablated(self) -> int:
        """In how many sentences heads were ablated, of those that means are over."""
        if self.generated is not None:
            return self.generated.ablated("zero")
        return len(self.prompts)

    @functools.cached_property
    def writers(self) -> list[HeadMean]:
        """The heads that write the answer, the largest mean direct effect first."""
        return self._ranked(self.mean("direct"), "direct")

    @functools.cached_property
    def against(self) -> list[HeadMean]:
        """The heads that write against it, the strongest first; their values are below 0."""
        return self._ranked(self.mean("direct"), "direct", lambda value: -value)

    @functools.cached_property
    def losses(self) -> list[HeadMean]:
        """The heads without which most is lost, with their means over texts in their place."""
        return self._ranked(self.mean("mean"), "mean")

    @functools.cached_property
    def through(self) -> list[HeadMean]:
        """Those of `losses` that add little by themselves, so matter through others."""
        direct = self.mean("direct")
        return [
            one
            for one in self._ranked(self.mean("mean"), "mean", most=None)
            if abs(direct[one.head.layer, one.head.head]) <= ALONE * one.head.value
        ][:MOST]

    def alike(self, heads: list[HeadMean]) -> list[HeadMean]:
        """Those of some heads without which little is lost where they write what they write in a
        like sentence with other names; none where that was not measured."""
        if self.generated is None or "resample" not in self.generated.ablations:
            return []
        lost = self.mean("resample")
        return [one for one in heads if lost[one.head.layer, one.head.head] <= ALONE * one.value]

    @functools.cached_property
    def constant(self) -> Head | None:
        """The head without which most is lost with zeros in its place and not with its mean: it
        writes the same in every text. None if that is never notable."""
        zero, mean = self.mean("zero"), self.mean("mean")
        head = largest(np.where(mean <= ALONE * zero, zero, -np.inf))
        return head if head.value >= NOTABLE * abs(self.logit) else None

    @functools.cached_property
    def repaired(self) -> list[HeadMean]:
        """Heads without which less is lost than they add, by a notable amount: others make up for
        them. Values are what they add less what is lost."""
        return self._ranked(self.mean("direct") - self.mean("mean"), None, positive="direct")

    def _ranked(
        self,
        values: np.ndarray,
        measure: str | None,
        sign: Callable[[np.ndarray], np.ndarray] = lambda value: value,
        most: int | None = MOST,
        positive: str | None = None,
    ) -> list[HeadMean]:
        """Heads whose value is notable and clear, the largest first.

        positive: a measure that must be notable, too
        """
        size = NOTABLE * abs(self.logit)
        error = self.error(measure) if measure else None
        order = np.argsort(-sign(values), axis=None, kind="stable")
        found = []
        for layer, head in zip(*np.unravel_index(order, values.shape), strict=True):
            value = float(values[layer, head])
            own = math.nan if error is None else float(error[layer, head])
            if sign(value) < size or (most is not None and len(found) == most):
                break
            if sign(value) < CLEAR * own:  # not where it is not known
                continue
            if positive and self.mean(positive)[layer, head] < size:
                continue
            found.append(HeadMean(Head(int(layer), int(head), value), own))
        return found

    @property
    def strongest(self) -> Head:
        """The head with the largest mean direct effect."""
        return largest(self.mean("direct"))

    def beside(self, head: Head, measure: str) -> float:
        """Another mean of a head."""
        return float(self.mean(measure)[head.layer, head.head])

    def at_most(self, heads: list[HeadMean], measure: str) -> float:
        """The largest size of another mean of some heads."""
        return max(abs(self.beside(one.head, measure)) for one in heads)

    def sum(self, heads: list[HeadMean]) -> float:
        """What heads add by themselves, together."""
        return sum(one.value for one in heads)

    def share(self, heads: list[HeadMean]) -> float:
        """Their part of all that heads add for the answer, those against it left out."""
        direct = self.mean("direct")
        added = float(direct[direct > 0].sum())
        return self.sum(heads) / added if added else 0.0

    @property
    def all_heads(self) -> float:
        """What all heads add, those for and those against the answer."""
        return float(self.mean("direct").sum())

    @property
    def all_feed_forward(self) -> float | None:
        """What all feed-forward layers add over the generated sentences; None without these."""
        return None if self.generated is None else float(self.generated.feed_forward.sum())

    def label(self, layer: int, head: int) -> str:
        """ "L5H1"."""
        return head_label(layer, head)

    def chosen(self, head: Head) -> int | None:
        """The place of a head among those of which it is told what they write; None: it is not."""
        shown = self.data.shown_heads
        place = head.layer, head.head
        return shown.index(place) if place in shown else None


def _error(values):
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 2 else math.nan


NAMES = {"data": PredictionData, "find": PredictionFindings}
