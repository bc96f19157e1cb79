"""What an article may say of one text: where a head looks, what makes it, when the answer leads."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from report.datasets.read.predicted import Part
from report.datasets.read.prediction import PredictionData
from report.figures.parts.heads import Head


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
    """The part of `report.findings.prediction.PredictionFindings` that reads one text.

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
