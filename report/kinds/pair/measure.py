"""Articles about two prompts: what putting each head's output from one into the other does, token
by token and both ways; ablations beside it; and what the heads that matter read of earlier parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count as numbers
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats.pair import FILE, encode
from report.datasets.formats.passage import encoded_token
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs.passages import corpus
from report.inputs.predictions import Prompt
from report.kinds.prediction.measure import MEANS_OF, asked_of, replacements
from report.measuring.forecast import needs, reads, writes
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    from report.effects.asked import Asked
    from report.effects.patching import Pair, Patched
    from report.effects.paths import Into
    from report.models.load.load import LoadedModel
    from report.models.text.tokens import TokenizedText
    from report.study.front_matter import FrontMatter

RECEIVERS = 12
"""Heads whose edges are measured, at most."""

MOST = 64
"""Tokens of a prompt, at most; what is measured grows with the square of their number."""

SEED = 20261128
"""What random heads are drawn from."""

EDGES = 1000
"""About how many edges are kept."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    clean: str
    corrupted: str
    answer: str
    other: str
    corpus: Sequence[str]
    """Over whose tokens heads' contexts are averaged."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    start: int
    patched: Patched
    ablated: Mapping[str, np.ndarray]
    receivers: Sequence[Into]
    matched: Sequence[Into]


def inputs(wanted: FrontMatter) -> Inputs:
    """The prompts."""
    prompts = wanted.pair.model_dump()
    return Inputs(**prompts, corpus=tuple(text.text for text in corpus()[:MEANS_OF]))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    prompts = [inputs.clean, inputs.corrupted, inputs.answer, inputs.other]
    return {"pair": hashed(prompts), "corpus": hashed(list(inputs.corpus))}


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its prompts itself."""
    return []


def tokenized(loaded: LoadedModel, inputs: Inputs) -> list[TokenizedText]:
    """Both prompts as a model reads them, whose weights are not needed.

    raises: ReportError if they are not of as many tokens, or of too many
    """
    from report.effects.patching import first_difference
    from report.models.text.tokens import tokenize

    texts = [tokenize(loaded, text) for text in (inputs.clean, inputs.corrupted)]
    first_difference(loaded, *(text.token_ids for text in texts))
    if len(texts[0].token_ids) > MOST:
        raise ReportError(
            f"the prompts have {len(texts[0].token_ids)} tokens, and a pair has at most {MOST}; "
            "shorten them"
        )
    return texts


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over both prompts, and over each again with each head's output of the other.

    returns: what was measured, and the manifest's pair
    raises: ReportError if the prompts do not fit together, or the model answers both alike
    """
    from report.effects.patching import pair, patched
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    texts = tokenized(loaded, inputs)
    question = _question(loaded, inputs)
    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    done, total = numbers(1), 3 * layers + 2 * RECEIVERS
    step = lambda *_: progress("Measuring", next(done), total)  # noqa: E731
    progress("Measuring", 0, total)
    with enough_memory("measuring two prompts"):
        self_check.checked(loaded)
        of = pair(loaded, *(text.token_ids for text in texts), question)
        _announce(loaded, of, layers * heads, announce)
        shares = patched(of, step)
        ablated, about = _ablated(loaded, of, inputs.corpus, step)
        receivers, reason = receivers_of(shares.all_restored), ""
        try:
            into, matched = _paths(of, receivers, (layers, heads), step)
        except ReportError as error:
            into, matched, reason = [], [], str(error)
    return Measured(of.start, shares, ablated, into, matched), {
        "token_ids_sha256": hashed([text.token_ids for text in texts]),
        "pair": {
            name: {
                "text": getattr(inputs, name),
                "tokens": [encoded_token(token) for token in text.tokens],
                "difference": round(getattr(of, name).value, 4),
            }
            for name, text in zip(("clean", "corrupted"), texts, strict=True)
        }
        | {
            "answer": inputs.answer,
            "other": inputs.other,
            "start": of.start,
            "replaced": about,
            "reason": reason,
        },
    }


def _question(loaded, inputs) -> Asked:
    """What is asked at the last token; ReportError if it is not the same after both prompts."""
    each = [
        asked_of(loaded, Prompt(text, inputs.answer, inputs.other))
        for text in (inputs.clean, inputs.corrupted)
    ]
    if each[0] != each[1]:
        raise ReportError(
            "the first tokens of `answer` and `other` are not the same after both prompts; end "
            "both with the same word"
        )
    return each[0]


def _ablated(loaded, of: Pair, texts, step):
    """Shares of the clean run that are lost by zeros and by means, and over what these are."""
    from report.effects.ablation import ablation

    replaced, about = replacements(loaded, texts)
    ids, lost = of.clean.token_ids, {}
    for number, each in enumerate(replaced):
        count = step if number else None  # layers are counted once for both
        lost[each.kind] = ablation(loaded, ids, [of.asked], each, progress=count).drop[0] / of.gap
    return lost, about


def receivers_of(restored: np.ndarray) -> list[tuple[int, int]]:
    """(layer, head) of the heads that matter most, the first first.

    restored: [layers, heads]
    """
    order = np.argsort(-np.abs(restored), axis=None, kind="stable")[:RECEIVERS]
    return [
        tuple(map(int, place))
        for place in zip(*np.unravel_index(order, restored.shape), strict=True)
    ]


def matched_with(receivers: Sequence[tuple[int, int]], heads: int) -> list[tuple[int, int]]:
    """A random head for each receiver, of its layer and none of them, while the layer has any.

    heads: of a layer
    """
    rng, matched = np.random.default_rng(SEED), []
    for layer in sorted({layer for layer, _ in receivers}):
        number = sum(at == layer for at, _ in receivers)
        free = [head for head in range(heads) if (layer, head) not in receivers]
        drawn = rng.permutation(free)[:number].tolist()
        matched += [(layer, int(head)) for head in sorted(drawn)]
    return matched


def _paths(of, receivers, shape, step):
    """Edges into the heads that matter, and into as many random ones of their layers."""
    from report.effects.paths import into

    matched = matched_with(receivers, shape[1])
    each = {(head.layer, head.head): head for head in into(of, [*receivers, *matched], step)}
    return [each[place] for place in receivers], [each[place] for place in matched]


def _announce(loaded, of: Pair, heads, announce):
    """Say what is read and written."""
    changed = of.tokens - of.start
    passes = 2 * heads * (changed + 1) + 2 * heads + 2 * RECEIVERS * 3 * heads // 2
    read = changed if of.prefix is not None else of.tokens
    what = "two prompts, and each again with what heads hand on in the other"
    name = loaded.identity["name"]
    announce(reads(name, what, passes * read, passes, about=True) + needs(loaded, logits=of.tokens))
    announce(writes(name, heads * (changed * 24 + 40) + EDGES * 50))


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the dataset.

    raises: ReportError if a number is not finite
    """
    shares = measured.start, measured.patched, measured.ablated
    files.write(FILE, encode(*shares, measured.receivers, measured.matched))
    progress(1, 1)
