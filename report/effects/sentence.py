"""All that is told of one text: effects, what heads write, lens, ablations, origins of scores.

Every token but the last predicts the next token of the text; where something is asked at the last
token, it predicts that. What is asked at a token is a row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from report.effects.ablation import ablation
from report.effects.asked import MEAN, Asked
from report.effects.by_target import ByTarget, by_target
from report.effects.lens import Lens, logit_lens
from report.effects.origins import Origins, origins_of_heads
from report.effects.replacing import Replacement
from report.effects.writes import Writes, writes_of_heads
from report.errors import ReportError

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

HEADS = 12
"""Heads of which it is told what they write, and what their scores are made of."""


@dataclass(frozen=True)
class Sentence:
    """What is told of a text.

    token_ids: [T]
    asked: the rows, one a token from the first on: its next token's logit less the mean of all;
        at the last token what was asked
    effects: direct effects at every row, by target
    lens: of all rows; each asks about its token, and the one that the last asks against, or its
        token again. None where only effects are told
    drops: "zero" or "mean" -> float64 [layers, heads], how much what is asked at the last row
        falls; where nothing was, how much the loss of the text rises, in nats a token
    before: what falls, without ablation: a logit difference, or the log probability a token
    writes, origins: (layer, head) -> of the last row
    """

    token_ids: tuple[int, ...]
    asked: tuple[Asked, ...]
    effects: ByTarget
    lens: Lens | None
    drops: dict[str, np.ndarray]
    before: float
    writes: dict[tuple[int, int], Writes]
    origins: dict[tuple[int, int], Origins]
    reasons: dict[str, str]


def rows(token_ids: Sequence[int], last: Asked | None) -> tuple[Asked, ...]:
    """What is asked at each token of a text: its next token, and `last` at the last one."""
    following = [Asked(place, token, MEAN) for place, token in enumerate(token_ids[1:])]
    return (*following, *([last] if last else ()))


def measure_sentence(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    last: Asked | None,
    replacements: Sequence[Replacement],
    progress: Callable[[], object] = lambda: None,
    lens: bool = True,
) -> Sentence:
    """Measure all that is told of a text but what single heads write.

    last: what is asked at the last token; None for a passage, of which only next tokens are
    replacements: what heads are ablated with
    progress: called after every part of the work, 1 + one a replacement, + 1 for the lens
    lens: whether the logit lens is told of
    raises: ReportError as `direct_effects` does
    """
    asked = rows(token_ids, last)
    effects = by_target(loaded, token_ids, asked)
    progress()
    seen = _lens(loaded, token_ids, asked) if lens else None
    if lens:
        progress()
    drops, before = {}, 0.0
    for replacement in replacements:
        end = [last] if last is not None else []
        found = ablation(loaded, token_ids, end, replacement, loss=last is None)
        drops[replacement.kind] = found.loss_rise if last is None else found.drop[0]
        before = float(found.log_probability.mean() if last is None else found.before[0])
        progress()
    return Sentence(tuple(token_ids), asked, effects, seen, drops, before, {}, {}, {})


def _lens(loaded, token_ids, asked):
    """The lens of all rows; each asks about two tokens, which may be one."""
    tokens = [
        (one.token, one.against if isinstance(one.against, int) else one.token) for one in asked
    ]
    return logit_lens(loaded, token_ids, range(len(asked)), tokens)


def heads_that_matter(sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
    """The (layer, head) of the largest direct effect or drop in any of the texts, largest first.

    Each measure counts in units of its own largest value, so that none has all of them.
    """
    size = 0.0
    for sentence in sentences:
        measures = [sentence.effects.direct.heads[-1], *sentence.drops.values()]
        for one in map(np.abs, measures):
            size = np.maximum(size, one / max(float(one.max()), 1e-12))
    places = np.argsort(-size, axis=None, kind="stable")[:HEADS]
    return [tuple(map(int, np.unravel_index(place, size.shape))) for place in places]


def with_heads(
    loaded: "LoadedModel", sentence: Sentence, heads: Sequence[tuple[int, int]]
) -> Sentence:
    """The same with what chosen heads write, and what their scores are made of, at the last row.

    Where a model does not show the latter, `reasons` says why.
    """
    last, made_of, reasons = len(sentence.asked) - 1, {}, {}
    found = dict(zip(heads, writes_of_heads(loaded, sentence.token_ids, heads, last), strict=True))
    for layer in sorted({layer for layer, _ in heads}):
        own = [head for at, head in heads if at == layer]
        try:
            told = origins_of_heads(loaded, sentence.token_ids, layer, own, last)
        except ReportError as error:
            reasons["origins"] = str(error)
            break
        made_of |= {(layer, one.head): one for one in told}
    return replace(sentence, writes=found, origins=made_of, reasons=reasons)
