"""Articles about two prompts: what putting each head's output from one into the other does, token
by token and both ways; ablations beside it; and what the heads that matter read of earlier parts.

Of a set of pairs each is measured so, and all numbers are means over pairs, with standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import count as numbers
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats.pair import FILE, encode
from report.datasets.formats.passage import encoded_token, token_label
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs.conditions import ADDED, Segment
from report.inputs.pairs import TwoPrompts, pieces, rows, spelt
from report.inputs.passages import corpus
from report.inputs.predictions import Prompt
from report.kinds.prediction.measure import MEANS_OF, asked_of, replacements
from report.measuring.forecast import (
    MEASURING,
    WITHOUT,
    WRITING,
    Part,
    needs,
    reads,
    timed,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count, quoted

if TYPE_CHECKING:
    from report.effects.asked import Asked
    from report.effects.patching import Pair, Patched
    from report.effects.paths import Into
    from report.effects.replacing import Replacement
    from report.models.load.load import LoadedModel
    from report.models.text.tokens import TokenizedText
    from report.study.front_matter import FrontMatter

RECEIVERS = 12
"""Heads whose edges are measured, at most."""

MOST = 64
"""Tokens of a prompt, at most; what is measured grows with the square of their number."""

SEED = 20261128
"""What random heads are drawn from."""

KEPT = 8
"""Pairs whose states are kept, at most; those of more are computed again."""

PROMPTS = ("clean", "corrupted")

EDGES_OF = "Measuring what heads read"

EDGES = 1000
"""About how many edges are kept."""


Replaced = tuple[Sequence["Replacement"], dict[str, int]]
"""What takes the place of heads in ablations, and "texts" and "tokens" of its mean."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    clean: str
    corrupted: str
    answer: str
    other: str
    corpus: Sequence[str]
    """Over whose tokens heads' contexts are averaged."""
    fills: Mapping[str, Sequence[str]] | None = None
    """The words that stand in the places of those texts, a pair each; None: they have no places."""

    @property
    def pattern(self) -> TwoPrompts:
        """The prompts as the article has them."""
        return TwoPrompts(self.clean, self.corrupted, self.answer, self.other)

    @property
    def words(self) -> list[dict[str, str]]:
        """Of each pair what stands in its places."""
        return [{}] if self.fills is None else rows(self.fills)

    @property
    def pairs(self) -> list[TwoPrompts]:
        """The prompts as a model reads them."""
        if self.fills is None:
            return [self.pattern]
        return [self.pattern.filled(words) for words in self.words]


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    start: int
    patched: Patched
    ablated: Mapping[str, np.ndarray]
    receivers: Sequence[Into]
    matched: Sequence[Into]
    errors: Measured | None = None
    """The same of standard errors over pairs; None where there is one pair."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The prompts."""
    prompts = wanted.pair.model_dump()
    return Inputs(**prompts, corpus=tuple(text.text for text in corpus()[:MEANS_OF]))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    prompts = [inputs.clean, inputs.corrupted, inputs.answer, inputs.other]
    fills = [] if inputs.fills is None else [inputs.fills]
    return {"pair": hashed(prompts + fills), "corpus": hashed(list(inputs.corpus))}


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its prompts itself."""
    return []


def tokenized(loaded: LoadedModel, inputs: Inputs) -> list[list[TokenizedText]]:
    """Both prompts of each pair as a model reads them, whose weights are not needed.

    raises: ReportError if they are not of as many tokens, or of too many; or if the tokens of a
        place are not those of the first pair
    """
    from report.effects.patching import first_difference
    from report.models.text.tokens import tokenize

    result = []
    for number, pair in enumerate(inputs.pairs):
        with _naming(inputs, number):
            texts = [tokenize(loaded, text) for text in (pair.clean, pair.corrupted)]
            first_difference(loaded, *(text.token_ids for text in texts))
            require_short(len(texts[0].token_ids))
        result.append(texts)
    if inputs.fills is not None:
        for name in PROMPTS:
            _require_aligned(loaded, inputs, name)
    return result


def require_short(tokens: int) -> None:
    """Stop for prompts that are too long; ReportError."""
    if tokens > MOST:
        raise ReportError(
            f"the prompts have {tokens} tokens, and a pair has at most {MOST}; shorten them"
        )


@contextmanager
def _naming(inputs, number):
    """Say in errors of which pair of a set they are."""
    try:
        yield
    except ReportError as error:
        if inputs.fills is None:
            raise
        raise ReportError(f"{spelt(number + 1, inputs.words[number])}: {error}") from error


def _require_aligned(loaded, inputs, name):
    """Stop where a token of one pair has not the place that it has in the first; name: of the
    prompt."""
    pattern = getattr(inputs, name)
    first = _tokens_of(loaded, pattern, inputs.words[0])
    for number, words in enumerate(inputs.words[1:], 1):
        here = _tokens_of(loaded, pattern, words)
        for (text, tokens), (of_first, in_first) in zip(here, first, strict=True):
            if len(tokens) != len(in_first):
                listed = ", ".join(f"“{token}”" for token in tokens) or "none of its own"
                raise ReportError(
                    f"{spelt(number + 1, words)}: {quoted(text)} has "
                    f"{count(len(tokens), 'token')} of {loaded.identity['name']} in the {name} "
                    f"prompt ({listed}), and {quoted(of_first)} in pair 1 has {len(in_first)}; "
                    "take words of as many tokens in all pairs"
                )


def _tokens_of(loaded, pattern, words):
    """Piece by piece of a pattern: its text, and those of its tokens."""
    from report.models.text.segments import segmented

    texts = [text for _, text in pieces(pattern, words)]
    read = segmented(loaded, [Segment(str(place), text) for place, text in enumerate(texts)])
    listed = [[] for _ in texts]
    for segment, token in zip(read.segment, read.tokens, strict=True):
        if segment != ADDED:
            listed[int(segment)].append(token["text"])
    return [*zip(texts, listed, strict=True)]


def _places(loaded, pattern, words):
    """Of each token the name of the place that it stands in, or None."""
    from report.models.text.segments import segmented

    named = pieces(pattern, words)
    read = segmented(loaded, [Segment(str(at), text) for at, (_, text) in enumerate(named)])
    return [None if each == ADDED else named[int(each)][0] for each in read.segment]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over both prompts, and over each again with each head's output of the other.

    returns: what was measured, and the manifest's pair
    raises: ReportError if the prompts do not fit together, or the model answers both alike
    """
    from report.effects.patching import pair
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    texts, questions = tokenized(loaded, inputs), []
    for number, each in enumerate(inputs.pairs):
        with _naming(inputs, number):
            questions.append(_question(loaded, each))
    layers, heads = loaded.measured_layers, loaded.structure[0].heads
    steps = _steps(len(texts), layers, progress)
    progress(MEASURING, 0, len(texts) * layers)

    @lru_cache(KEPT)
    def opened(number):
        with _naming(inputs, number):
            return pair(loaded, *(text.token_ids for text in texts[number]), questions[number])

    each = range(len(texts))
    with enough_memory("measuring two prompts"):
        self_check.checked(loaded)
        starts, values = zip(*(_about(opened(number)) for number in each), strict=True)
        _announce(loaded, opened(0), starts, layers * heads, announce)
        replaced = replacements(loaded, inputs.corpus)
        of_all = partial(_parts, opened(0), len(texts), replaced[0])
        will_take(progress, loaded.identity["name"], of_all)
        result, reason = _measured(loaded, opened, each, replaced[0], steps)
    facts = _facts(inputs.pattern, texts, values, result.start, replaced[1], reason)
    if inputs.fills is not None:
        facts["pair"]["set"] = _set(loaded, inputs, values)
    return result, facts


def _facts(pattern: TwoPrompts, texts, values, start, about, reason):
    """What the manifest has; texts, values: of each pair both."""
    return {
        "token_ids_sha256": hashed([text.token_ids for both in texts for text in both]),
        "pair": {
            name: _prompt(getattr(pattern, name), texts[0][place], [both[place] for both in values])
            for place, name in enumerate(PROMPTS)
        }
        | {
            "answer": pattern.answer,
            "other": pattern.other,
            "start": start,
            "replaced": about,
            "reason": reason,
        },
    }


def _about(pair):
    """The first token that differs, and what is asked after both prompts."""
    return pair.start, (pair.clean.value, pair.corrupted.value)


def _prompt(text, read, values):
    """What the manifest has of a prompt; of a set the pattern, the tokens of its first pair, and
    the mean difference."""
    return {
        "text": text,
        "tokens": [encoded_token(token) for token in read.tokens],
        "difference": round(float(np.mean(values)), 4),
    }


def _set(loaded, inputs, values):
    """What the manifest has of a set: the places of tokens, and each pair."""
    return {
        "places": {
            name: _places(loaded, getattr(inputs, name), inputs.words[0]) for name in PROMPTS
        },
        "pairs": [
            asdict(pair) | {"differences": [round(value, 4) for value in both]}
            for pair, both in zip(inputs.pairs, values, strict=True)
        ],
    }


def _question(loaded, pair: TwoPrompts) -> Asked:
    """What is asked at the last token; ReportError if it is not the same after both prompts."""
    each = [
        asked_of(loaded, Prompt(text, pair.answer, pair.other))
        for text in (pair.clean, pair.corrupted)
    ]
    if each[0] != each[1]:
        raise ReportError(
            "the first tokens of `answer` and `other` are not the same after both prompts; end "
            "both with the same word"
        )
    return each[0]


def _steps(pairs, layers, progress):
    """What is called after each layer that is patched, each that is ablated, and each head whose
    edges are measured."""

    def steps(what, total):
        done = numbers(1)
        return lambda *_: progress(what, next(done), pairs * total)

    return steps(MEASURING, layers), steps(WITHOUT, 2 * layers), steps(EDGES_OF, 2 * RECEIVERS)


def _parts(of, pairs, replaced):
    """What all pairs take, by the first; to write it takes no time."""
    from report.effects import paths
    from report.effects.ablation import by_layer, sample_of

    layers = by_layer(of.loaded.measured_layers)
    each = timed(*sample_of(of.loaded, of.clean.token_ids, [of.asked], replaced[0]))
    yield Part(MEASURING, steps=layers * pairs)
    yield Part(WRITING, 0.0)
    yield Part(WITHOUT, 2 * pairs * each, layers * 2 * pairs)
    with suppress(ReportError):  # which is told of where they are measured
        yield Part(EDGES_OF, pairs * timed(*paths.sample_of(of, RECEIVERS)))


def _measured(loaded, opened, each, replaced, steps):
    """Of all pairs: `Measured`; and why there are no paths.

    opened: called with the number of a pair, gives its `Pair`; steps: as of `_steps`
    """
    shares = [_shares(loaded, opened(number), replaced, *steps[:2]) for number in each]
    receivers = receivers_of(np.mean([item.all_restored for _, item, _ in shares], 0))
    heads = loaded.structure[0].heads
    try:
        paths = [_paths(opened(number), receivers, heads, steps[2]) for number in each]
        reason = ""
    except ReportError as error:
        paths, reason = [([], [])] * len(shares), str(error)
    result = [Measured(*of_pair, *both) for of_pair, both in zip(shares, paths, strict=True)]
    return over_pairs(result), reason


def _shares(loaded, of: Pair, replaced, step, ablated):
    """Of a pair where it parts, what patching does, and what ablating does."""
    from report.effects.patching import patched

    return of.start, patched(of, step), _ablated(loaded, of, replaced, ablated)


def require_fitting(
    loaded: LoadedModel, texts: Sequence[TokenizedText], called: tuple[str, str]
) -> int:
    """The first token in which two texts differ.

    called: what messages call the two
    raises: ReportError if they are not of as many tokens, or none differs
    """
    from report.effects.patching import first_difference

    return first_difference(loaded, *(text.token_ids for text in texts), called)


def likeliest(loaded: LoadedModel, text: TokenizedText, number: int) -> dict[int, str]:
    """The most likely tokens after a text, the first first: id -> what is shown for it."""
    from report.effects.passing import logits_of
    from report.models.text.vocabulary import words

    ids = logits_of(loaded.model, text.token_ids)[-1].topk(number).indices.tolist()
    spelt = words(loaded, ids)
    return {each: token_label(spelt[each]["text"], spelt[each].get("bytes")) for each in ids}


def without_paths(
    loaded: LoadedModel,
    texts: Sequence[TokenizedText],
    answers: tuple[int, int],
    replaced: Replaced,
    progress: Callable[[], object],
) -> tuple[Measured, dict]:
    """What heads carry of the difference between two texts, without what they read of each other.

    answers: ids of two tokens, the answer and the other
    progress: called after each layer; what it raises ends the measuring
    returns: what was measured, and the manifest's pair
    raises: ReportError as `measure`, and for tokens that are the same
    """
    from report.effects.asked import Asked
    from report.effects.patching import pair
    from report.models.load.memory import enough_memory
    from report.models.text.vocabulary import words

    require_short(len(texts[0].token_ids))
    if answers[0] == answers[1]:
        raise ReportError("both answers are the same token; choose two")
    with enough_memory("patching two texts"):
        of = pair(loaded, *(text.token_ids for text in texts), Asked(-1, *answers))
        step = lambda *_: progress()  # noqa: E731
        shares = _shares(loaded, of, replaced[0], step, step)
    spelt = words(loaded, answers)
    prompts = TwoPrompts(*(text.text for text in texts), *(spelt[item]["text"] for item in answers))
    reason = "paths are measured in articles only"
    values = [_about(of)[1]]
    facts = _facts(prompts, [texts], values, of.start, replaced[1], reason)
    return Measured(*shares, [], []), facts


def over_pairs(each: Sequence[Measured]) -> Measured:
    """Means over pairs, with standard errors where there are several."""
    result = _over(each, lambda values: np.mean(values, 0))
    if len(each) == 1:
        return result
    error = lambda values: np.std(values, 0, ddof=1) / len(values) ** 0.5  # noqa: E731
    return replace(result, errors=_over(each, error))


def _over(each, of):
    """`Measured` of what `of` makes of a list of arrays, one a pair."""
    first = each[0]

    def into(name):
        return [
            replace(
                heads[0],
                edges=of([head.edges for head in heads]),
                whole=of([head.whole for head in heads]),
            )
            for heads in zip(*(getattr(item, name) for item in each), strict=True)
        ]

    return Measured(
        min(item.start for item in each),
        replace(
            first.patched,
            **{
                name: of([vars(item.patched)[name] for item in each])
                for name in vars(first.patched)
            },
        ),
        {kind: of([item.ablated[kind] for item in each]) for kind in first.ablated},
        into("receivers"),
        into("matched"),
    )


def _ablated(loaded, of: Pair, replaced, step):
    """Shares of the clean run that are lost by zeros and by means."""
    from report.effects.ablation import ablation

    ids, lost = of.clean.token_ids, {}
    for each in replaced:
        lost[each.kind] = ablation(loaded, ids, [of.asked], each, progress=step).drop[0] / of.gap
    return lost


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


def _paths(of, receivers, heads, step):
    """Edges into the heads that matter, and into as many random ones of their layers."""
    from report.effects.paths import into

    matched = matched_with(receivers, heads)
    each = {(head.layer, head.head): head for head in into(of, [*receivers, *matched], step)}
    return [each[place] for place in receivers], [each[place] for place in matched]


def cost(
    loaded: LoadedModel, tokens: int, starts: Sequence[int], resumes: bool, paths: bool = True
) -> str:
    """The sentence about what is read.

    tokens: of a prompt; starts: of each pair the first token that differs
    resumes: whether tokens before a patched one are read once; paths: whether these are measured
    """
    heads, passes, read = loaded.measured_layers * loaded.structure[0].heads, 0, 0
    for start in starts:
        changed = tokens - start
        at_tokens = changed * (changed + 1) // 2 if resumes else changed * tokens
        whole = changed if resumes else tokens
        into = 2 * RECEIVERS * 3 * heads // 2 if paths else 0
        passes += 2 * heads * (changed + 2) + into
        read += 2 * heads * (at_tokens + whole + tokens) + into * whole
    what = "two prompts" if len(starts) == 1 else f"{len(starts)} pairs of prompts"
    what += ", and each again with what heads hand on in the other"
    return reads(loaded.identity["name"], what, read, passes, about=True)


def _announce(loaded, of: Pair, starts, heads, announce):
    """Say what is read and written; of: the first pair, starts: of all where they part."""
    sentence = cost(loaded, of.tokens, starts, of.prefix is not None)
    announce(sentence + needs(loaded, logits=of.tokens))
    columns = 1 + (len(starts) > 1)  # numbers, and their standard errors
    cells = heads * ((of.tokens - min(starts)) * 24 + 40) + EDGES * 50
    announce(writes(loaded.identity["name"], columns * cells))


def encoded(measured: Measured) -> dict:
    """The dataset."""
    shares = [
        (item.patched, item.ablated, item.receivers, item.matched)
        for item in (measured, measured.errors)
        if item is not None
    ]
    return encode(measured.start, *shares)


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the dataset.

    raises: ReportError if a number is not finite
    """
    files.write(FILE, encoded(measured))
    progress(1, 1)
