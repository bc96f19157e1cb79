"""Articles about the regions of a text: what heads give to each, which regions they come back to,
and what the loss on the answer is without the heads that do so most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from report.datasets.formats import passage as of_tokens
from report.datasets.formats.needle import FILE as NEEDLE
from report.datasets.formats.passage import visible
from report.datasets.formats.regions import FILE, MAP, encode, encode_map
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs import rows
from report.inputs.needles import DEPTHS, NeedlesSpec, filler
from report.inputs.passages import Passage, corpus, passage
from report.kinds.prediction.measure import MEANS_OF, replacements
from report.kinds.regions.measure_needle import SETS, contexts, measure_needles, of_needles
from report.measuring.forecast import (
    MEASURING,
    WRITING,
    Part,
    beyond,
    needs,
    reads,
    time_of_writing,
    timed,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.measurements.needle import Needles
    from report.measurements.regions import Received
    from report.models.load.load import LoadedModel
    from report.models.measure.regions import RegionRecorder
    from report.models.text.tokens import TokenizedText
    from report.study.front_matter import FrontMatter

FEWEST, MOST = 2, 128
"""Regions of a text; what is kept of a head grows with the square of their number. What comes back
is told of those that have a number, see `report.measurements.regions`: of 14 at least."""

PART = 20
"""A receiver head is one of the twentieth of all heads that are most uneven, and at most half of
the heads of its layer are."""

DRAWS = 100
"""Sets of random heads."""

PASSES = 2 + 2 * (1 + DRAWS)
"""How often a text is read: for its attention, and for its loss; and by each way to replace heads,
without the receivers and without each set."""

NEEDLES = "Reading needles"

FEW = 3
"""Sets that are replaced to tell how long all take."""

BESIDE = 1000
"""Tokens that are read beside those of a text with a needle, about: its last ones, without each
set of heads."""

SEED = 20261128
"""What they are drawn from."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    passage: Passage
    by: str | dict[str, str | list[str]]
    """ "sentences" and the like, or {"pattern": a regular expression}, or {"marks": texts}."""
    answer: int
    """How many of the last regions are the answer."""
    corpus: Sequence[str]
    """Over whose tokens heads' contexts are averaged."""
    needle: NeedlesSpec | None = None
    """Facts that are hidden in a long text."""
    chat: bool | str = False
    """Whether turns are put into the model's chat template; "available": if it has one."""


@dataclass(frozen=True)
class Text:
    """The text as a model reads it."""

    tokenized: TokenizedText
    region: list[int]
    """Of each token, from 0."""
    regions: list[tuple[int, int, str]]
    """First token, number of tokens and text of each."""
    answer: range
    """Regions whose loss is asked."""
    template: Sequence[int] = ()
    """Regions that a chat template wrote."""

    @property
    def tokens_of_answer(self) -> list[int]:
        """The tokens of the answer."""
        return [token for token, region in enumerate(self.region) if region in self.answer]


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    passage: Passage
    text: Text
    sums: RegionRecorder
    received: Received
    receivers: Sequence[tuple[int, int]]
    needles: Needles | None
    """None: there are none, or they could not be read."""
    rises: Mapping[str, np.ndarray]
    """Kind of ablation -> rise of the loss on the answer without the receivers, then without each
    set of random heads: float [1 + DRAWS]. Empty where heads could not be replaced."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The passage; ReportError if it cannot be read."""
    named = wanted.passage
    if not isinstance(named, str):
        text = rows.specified(named)
    else:
        text = rows.own_text(named) if "\n" in named else passage(named)
    spec = wanted.regions
    by = spec.by or spec.cut
    if find_spec("regex"):  # comes with what measures; without it, datasets are only read
        _require_cut(text.text, by)
    means = tuple(text.text for text in corpus()[:MEANS_OF])
    return Inputs(text, by, spec.answer, means, wanted.needle, wanted.chat)


def _require_cut(text, by):
    """Stop for a text that no model can have cut so, before one is loaded."""
    from report.models.text.regions import beginnings, turns

    number = len(beginnings(text, **_options(by)))
    if by == "roles":
        turns(text)
    if number < FEWEST or (number > 2 * MOST):  # some may have no token
        raise _other_number(number)


def _options(by):
    return by if isinstance(by, dict) else {"by": by}


def _other_number(number):
    from report.models.text.regions import RegionsError

    return RegionsError(
        f"the text has {count(number, 'region')}, and an article takes {FEWEST} to {MOST}; "
        f"take a {'longer' if number < FEWEST else 'shorter'} one, or cut it otherwise by "
        "`regions`"
    )


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    return {
        "passage": hashed(asdict(inputs.passage)),
        "regions": hashed([inputs.by, inputs.answer]),
        "corpus": hashed(list(inputs.corpus)),
        **({"chat": inputs.chat} if inputs.chat else {}),
        **(
            {"needle": hashed([inputs.needle.model_dump(), _filler().text])}
            if inputs.needle
            else {}
        ),
    }


def _filler():
    return filler([text.text for text in corpus()])


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its text itself."""
    return []


def tokenized(loaded: LoadedModel, inputs: Inputs) -> Text:
    """The text as a model reads it, whose weights are not needed.

    raises: ReportError if it cannot be cut so, or has too few or too many regions
    """
    from report.models.load.tokenizing import encoded
    from report.models.text.regions import ADDED, first_tokens, numbered, pieces
    from report.models.text.tokens import reading

    text, begin, template, chat = _read(loaded, inputs)
    read = encoded(loaded.tokenizer, text.text, **reading(chat))
    spans = read["offset_mapping"]
    piece = pieces(text.text, begin, spans, read["special_tokens_mask"])
    added = [at == ADDED or at in template for at in piece]
    region = numbered(piece)
    firsts = first_tokens(piece)
    ends = [*firsts[1:], len(region)]
    of_text = [place for place, first in enumerate(firsts) if not added[first]]
    if not FEWEST <= len(of_text) <= MOST:
        raise _other_number(len(of_text))
    if inputs.answer >= len(of_text):
        raise ReportError(
            f"`answer: {inputs.answer}` leaves no region before it, the text has {len(of_text)}; "
            "name fewer"
        )
    texts = [
        "".join(token["text"] for token in text.tokens[a:b])
        if piece[a] == ADDED
        else text.text[spans[a][0] : spans[b - 1][1]]
        for a, b in zip(firsts, ends, strict=True)
    ]
    listed = [
        (a, b - a, visible(each.strip())) for a, b, each in zip(firsts, ends, texts, strict=True)
    ]
    by_template = [place for place, first in enumerate(firsts) if piece[first] in template]
    answer = range(of_text[-inputs.answer], of_text[-1] + 1)
    return Text(text, region, listed, answer, by_template)


def _read(loaded, inputs):
    """The text as tokens, where its pieces begin, which of them a chat template wrote, and whether
    one did."""
    from report.models.text.chat import has_template
    from report.models.text.regions import beginnings, turns
    from report.models.text.tokens import tokenize, tokenize_whole
    from report.models.text.turns import in_template

    text = inputs.passage.text
    if inputs.chat is True or (inputs.chat and has_template(loaded.tokenizer)):
        whole, begin, template = in_template(loaded.tokenizer, turns(text))
        return tokenize_whole(loaded, whole, True), begin, template, True
    return tokenize(loaded, text), beginnings(text, **_options(inputs.by)), set(), False


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over the text, and again with sets of heads replaced.

    returns: what was measured, and the manifest's regions
    raises: ReportError as `tokenized`
    """
    from report.measurements.regions import received
    from report.models.load.memory import enough_memory
    from report.models.measure.regions import measure_regions

    text = tokenized(loaded, inputs)
    ids = text.tokenized.token_ids
    _announce(loaded, text, announce)
    with enough_memory(f"measuring {len(ids)} tokens"):
        progress(MEASURING, 0, PASSES)
        sums = measure_regions(loaded, ids, text.region)
        progress(MEASURING, 1, PASSES)
        scores = received(sums.between, sums.even)
        receivers, reason = receivers_of(scores.unevenness), ""
        rises, loss, about = {}, None, {"texts": 0, "tokens": 0}
        try:
            rises, loss, about = _ablated(loaded, text, receivers, inputs, progress)
        except ReportError as error:
            reason = str(error)
    facts = {
        "by": inputs.by,
        "answer": [text.answer.start, text.answer.stop - 1],
        "tokens": len(text.tokens_of_answer),
        "loss": loss,
        "draws": DRAWS if rises else 0,
        "replaced": about,
        "reason": reason,
        **({"template": list(text.template)} if text.template else {}),
    }
    needles, about_needles = _needles(loaded, inputs, progress) if inputs.needle else (None, {})
    measured = Measured(inputs.passage, text, sums, scores, receivers, needles, rises)
    return measured, {"token_ids_sha256": hashed([ids]), "regions": facts} | about_needles


def _needles(loaded, inputs, progress):
    """What heads do with facts in a long text, and the manifest's needle."""
    from report.models.load.memory import enough_memory

    spec, texts, needles, reason = inputs.needle, _filler(), None, ""
    every = contexts(spec)

    def sets_of(score):
        chosen = receivers_of(score)
        if not chosen:
            raise ReportError("no head can be compared with others of its layer")
        return [chosen, *random_sets(chosen, score.shape[1])[:SETS]]

    try:
        with enough_memory(f"measuring {max(spec.lengths)} tokens"):
            mean = replacements(loaded, inputs.corpus)[0][1]
            step = lambda done: progress(NEEDLES, done, every)  # noqa: E731
            needles = measure_needles(loaded, spec, texts, mean, sets_of, step)
    except ReportError as error:
        reason = str(error)
    facts = [each.model_dump() for each in spec.facts]
    about = {"lengths": spec.lengths, "facts": facts, "texts": texts.texts, "sets": SETS}
    return needles, {"needle": about | {"depths": DEPTHS, "reason": reason}}


def receivers_of(unevenness: np.ndarray) -> list[tuple[int, int]]:
    """(layer, head) of the heads that are most uneven, the first first, see `PART`.

    unevenness: [layers, heads]; NaN where it is unknown
    """
    heads, chosen = unevenness.shape[1], []
    number = max(1, round(unevenness.size / PART))
    for at in np.argsort(-np.nan_to_num(unevenness, nan=-np.inf), axis=None, kind="stable"):
        layer, head = divmod(int(at), heads)
        room = sum(each == layer for each, _ in chosen) < heads // 2
        if room and len(chosen) < number and not np.isnan(unevenness[layer, head]):
            chosen.append((layer, head))
    return chosen


def random_sets(receivers: Sequence[tuple[int, int]], heads: int) -> list[list[tuple[int, int]]]:
    """Sets of random heads, as many in each layer as there are receivers, and none of them.

    heads: of a layer
    """
    rng = np.random.default_rng(SEED)
    mine = {layer: [head for at, head in receivers if at == layer] for layer, _ in receivers}
    others = {layer: [h for h in range(heads) if h not in few] for layer, few in mine.items()}
    return [
        [
            (layer, int(head))
            for layer, few in sorted(mine.items())
            for head in sorted(rng.choice(others[layer], len(few), replace=False))
        ]
        for _ in range(DRAWS)
    ]


def _ablated(loaded, text, receivers, inputs, progress) -> tuple[dict, float, dict[str, Any]]:
    """Rises of the loss on the answer by kind of ablation, that loss, and over what means are."""
    from report.effects.together import log_probabilities

    if not receivers:
        raise ReportError(
            "no head can be compared with others of its layer, by what regions receive of it"
        )
    sets = [receivers, *random_sets(receivers, loaded.structure[0].heads)]
    replaced, about = replacements(loaded, inputs.corpus)
    ids, rises = text.tokenized.token_ids, {}
    whole = log_probabilities(loaded, ids, [[]], replaced[0], text.tokens_of_answer).mean()

    def parts():
        sample = ids, sets[:FEW], replaced[0], text.tokens_of_answer
        each = timed(lambda: log_probabilities(loaded, *sample)) / (FEW + 1)  # one more, by itself
        yield Part(MEASURING, each * PASSES)
        yield Part(WRITING, time_of_writing(_bytes(loaded, text)))
        if inputs.needle:
            read = np.add(inputs.needle.lengths, BESIDE).mean() * contexts(inputs.needle)
            yield Part(NEEDLES, each / len(ids) * read)

    will_take(progress, loaded.identity["name"], parts)
    for turn, each in enumerate(replaced):
        before = 2 + turn * len(sets)
        step = lambda done, _, at=before: progress(MEASURING, at + done, PASSES)  # noqa: E731
        rises[each.kind] = whole - log_probabilities(
            loaded, ids, sets, each, text.tokens_of_answer, step
        ).mean(1)
    return rises, float(-whole), about


def _announce(loaded, text, announce):
    """Say what is read and written."""
    name, tokens = loaded.identity["name"], len(text.region)
    what = "a text, and again without sets of heads"
    sentence = reads(name, what, PASSES * tokens, PASSES, about=True)
    announce(sentence + needs(loaded, logits=tokens))
    if longer := beyond(loaded.identity, tokens):
        announce(longer)
    announce(writes(name, _bytes(loaded, text)))


def _bytes(loaded, text):
    """About how much is written."""
    heads, number = loaded.measured_layers * loaded.structure[0].heads, len(text.regions)
    return heads * (number * (number + 1) // 2 * 5 + number * 30 + 400)


def write(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write every dataset of an article about regions.

    progress: called after each layer
    returns: the manifest's passage
    raises: ReportError if a number is not finite
    """
    text, sums = measured.text, measured.sums
    files.write("passage.json", of_tokens.encode(measured.passage, text.tokenized.tokens))
    shares = sums.shares, sums.even_shares
    of_heads = encode(text.regions, shares, measured.received, measured.receivers, measured.rises)
    files.write(FILE, of_heads)
    if measured.needles is not None:
        files.write(NEEDLE, of_needles(measured.needles))
    for layer, between in enumerate(sums.between):
        files.write(MAP.format(layer=layer), encode_map(between))
        progress(layer + 1, len(sums.between))
    return {"passage": {"name": measured.passage.name, "tokens": len(text.region)}}
