"""Articles about a prediction: what every part of a model does to it, text by text.

The texts are prompts that break off, or one passage. The article may have sentences generated as
well, which are measured apart: `generated.py`. An article about a passage may have the effects of
heads on its next tokens measured, too: `of_passage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count as numbers
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import prediction as of_texts
from report.datasets.formats import prediction_head, prediction_lens
from report.datasets.formats.prediction import asked_ids
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs import predictions, rows
from report.inputs.passages import corpus, passage
from report.inputs.predictions import Prompt
from report.measuring.forecast import (
    MEASURING,
    WITHOUT,
    WRITING,
    Part,
    Size,
    needs,
    reads,
    time_of_writing,
    timed,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count, large, quoted

if TYPE_CHECKING:
    from report.effects.asked import Asked
    from report.effects.replacing import Replacement
    from report.effects.sentence import Sentence
    from report.models.load.load import LoadedModel
    from report.models.text.tokens import TokenizedText
    from report.study.front_matter import FrontMatter

SHOWN = 12
"""Heads of which it is told what they write and what their scores are made of, at most."""

MEANS_OF = 16
"""Texts of the corpus that ships, over which heads' contexts are averaged for mean ablations."""

READ = "Measuring what heads read"

MOST = 512
"""Tokens of a text, at most; what is measured grows with the square of their number."""

LARGEST = 500_000_000
"""Parameters of a model that a passage is predicted with besides, at most: it reads the passage
again without each head."""

NOTHING = {"texts": 0, "tokens": 0}
"""Of a mean that is not taken."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    prompts: Sequence[Prompt]
    corpus: Sequence[str]
    """Over whose tokens heads' contexts are averaged."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    prompts: Sequence[Prompt]
    tokens: Sequence[Sequence[dict]]
    """Of each text, each with "id" and "text"."""
    sentences: Sequence[Sentence]
    words: Mapping[int, dict]
    """The tokens of the vocabulary that are named somewhere."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The prompts, or the passage; ReportError if it cannot be read."""
    texts = [text.text for text in corpus()[:MEANS_OF]]
    if isinstance(wanted.prompts, list):
        return Inputs(predictions.prompts_of(wanted.prompts), texts)
    named = wanted.passage
    if not isinstance(named, str):
        return Inputs(predictions.of_passage(rows.specified(named)), texts)
    one = rows.own_text(named) if "\n" in named else passage(named)
    return Inputs(predictions.of_passage(one), texts)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    return {
        "prompts": hashed([asdict(prompt) for prompt in inputs.prompts]),
        "corpus": hashed(list(inputs.corpus)),
    }


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its prompts itself."""
    return []


def tokenized(loaded: LoadedModel, inputs: Inputs) -> list[TokenizedText]:
    """The texts as a model reads them, whose weights are not needed."""
    from report.models.text.tokens import tokenize

    texts = [tokenize(loaded, prompt.text) for prompt in inputs.prompts]
    _require_short(max(len(text.token_ids) for text in texts))
    return texts


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over every text, and over each again without each head.

    returns: what was measured, and the manifest's prediction
    raises: ReportError if the model's parts cannot be told apart, or a text cannot be read
    """
    from report.effects.sentence import heads_that_matter, measure_sentence, with_heads
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    texts = tokenized(loaded, inputs)
    asked = [asked_of(loaded, prompt) for prompt in inputs.prompts]
    longest = max(len(text.token_ids) for text in texts)
    _announce(loaded, texts, announce)
    step, layers, of_heads = _steps(loaded, len(texts), progress)
    progress(MEASURING, 0, 2 * len(texts))
    with enough_memory(f"measuring {longest} tokens"):
        self_check.checked(loaded)
        replaced, about = replacements(loaded, inputs.corpus)
        ids = [text.token_ids for text in texts]
        of_all = partial(_parts, loaded, ids, asked[0], replaced)
        will_take(progress, loaded.identity["name"], of_all)
        measured = [
            measure_sentence(loaded, text, last, replaced, step, layers=layers)
            for text, last in zip(ids, asked, strict=True)
        ]
        heads = heads_that_matter(measured)
        for place, sentence in enumerate(measured):
            measured[place] = with_heads(loaded, sentence, heads)
            of_heads()
    named = words_in(loaded, measured)
    reasons = {name: why for sentence in measured for name, why in sentence.reasons.items()}
    tokens = [text.tokens for text in texts]
    found = Measured(inputs.prompts, tokens, measured, named)
    return found, {
        "token_ids_sha256": hashed([text.token_ids for text in texts]),
        "prediction": _facts(found, about, heads, reasons),
    }


def _steps(loaded, texts, progress):
    """What is called after each part of a text, each layer that is ablated, and each text of whose
    heads it is told more."""

    def steps(what, total):
        done = numbers(1)
        return lambda: progress(what, next(done), total)

    ablated = 2 * texts * loaded.measured_layers
    return steps(MEASURING, 2 * texts), steps(WITHOUT, ablated), steps(READ, texts)


def _parts(loaded, ids, last, replaced):
    """What texts take, from the first one; the time of the other work grows with their tokens."""
    from report.effects.ablation import by_layer, sample_of
    from report.effects.sentence import sample_of_heads

    end, layers = [last] if last is not None else [], loaded.measured_layers
    each = timed(*sample_of(loaded, ids[0], end, replaced[0], loss=last is None))
    times = sum(map(len, ids)) / len(ids[0])
    shape = layers, loaded.structure[0].heads
    written = sum(about_bytes(shape, len(text)) for text in ids)
    yield Part(MEASURING, steps=[len(text) for text in ids for _ in range(2)])
    steps = [len(text) * part for text in ids for _ in replaced for part in by_layer(layers)]
    yield Part(WITHOUT, len(replaced) * times * each, steps)
    with suppress(ReportError):  # which is told of where they are measured
        yield Part(READ, times * timed(*sample_of_heads(loaded, ids[0])))
    yield Part(WRITING, time_of_writing(written))


def of_passage(
    loaded: LoadedModel,
    text: str,
    tokens: Sequence[dict],
    texts: Sequence[str],
    progress: Progress,
    announce: Announce,
) -> tuple[Measured | None, dict]:
    """What heads do to every next token of a passage, without lens or what they write.

    tokens: of the passage, as it is measured; texts: over which heads' contexts are averaged
    progress: called after each layer whose heads were ablated
    returns: what was measured, None where it cannot be; and the manifest's prediction, which says
        why not
    """
    from report.effects.sentence import measure_sentence

    token_ids = [token["id"] for token in tokens]
    try:
        _require_fitting(loaded, token_ids)
        heads = loaded.measured_layers * loaded.structure[0].heads
        what = "the passage again without each head"
        announce(reads(loaded.identity["name"], what, heads * len(token_ids), heads))
        (_, mean), about = replacements(loaded, texts)
        done = numbers(1)
        step = lambda: progress(WITHOUT, next(done), loaded.measured_layers)  # noqa: E731
        measured = [measure_sentence(loaded, token_ids, None, [mean], lens=False, layers=step)]
    except ReportError as error:
        return None, _facts(Measured([], [], [], {}), NOTHING, [], {"effects": str(error)})
    return _of_text(loaded, text, tokens, measured, about)


def size_of_passage(loaded: LoadedModel, token_ids: Sequence[int]) -> Size:
    """About what the datasets of `of_passage` take to write; nothing where it gives none."""
    from report.effects.anatomy import require_whole

    try:
        _require_fitting(loaded, token_ids)
        require_whole(loaded)
    except ReportError:
        return Size(0)
    number = about_bytes((loaded.measured_layers, loaded.structure[0].heads), len(token_ids))
    return Size(number, time_of_writing(number))


def parts_of_passage(
    loaded: LoadedModel, token_ids: Sequence[int], texts: Sequence[str]
) -> Iterator[Part]:
    """What `of_passage` takes, by a sample; texts: as of that."""
    from report.effects.ablation import by_layer, sample_of

    with suppress(ReportError):  # which is told of where they are measured
        _require_fitting(loaded, token_ids)
        (_, mean), _ = replacements(loaded, texts)
        seconds = timed(*sample_of(loaded, token_ids, (), mean, loss=True))
        yield Part(WITHOUT, seconds, by_layer(loaded.measured_layers))


def without_ablations(
    loaded: LoadedModel,
    text: str,
    tokens: Sequence[dict],
    lens: bool,
    progress: Callable[[], object],
) -> tuple[Measured, dict]:
    """What heads do to every next token of a passage, in the time of a few forward passes.

    tokens: of the passage, as it is measured; lens: whether the logit lens is measured, too
    progress: called after each part of the work; what it raises ends the measuring
    returns: what was measured, and the manifest's prediction
    raises: ReportError if the model's parts cannot be told apart, or the text is too long
    """
    from report.effects.sentence import lens_of, measure_sentence
    from report.models.load.memory import enough_memory

    token_ids = [token["id"] for token in tokens]
    _require_short(len(token_ids))
    with enough_memory(f"measuring {count(len(tokens), 'token')}"):
        sentence = measure_sentence(loaded, token_ids, None, [], progress, lens=False)
        if lens:
            seen = lens_of(loaded, token_ids, sentence.asked, progress)
            sentence = replace(sentence, lens=seen)
    return _of_text(loaded, text, tokens, [sentence], NOTHING)


def _of_text(loaded, text, tokens, measured, replaced):
    """A passage as it is written, and the manifest's prediction."""
    found = Measured([Prompt(text)], [tokens], measured, words_in(loaded, measured))
    return found, _facts(found, replaced, [], {})


def _facts(measured, replaced, heads, reasons):
    """The manifest's prediction."""
    return {
        "sentences": [
            asdict(prompt) | {"tokens": len(tokens)}
            for prompt, tokens in zip(measured.prompts, measured.tokens, strict=True)
        ],
        "replaced": replaced,
        "heads": [list(head) for head in heads],
        "reasons": reasons,
    }


def _require_fitting(loaded, token_ids):
    _require_short(len(token_ids))
    _require_small(loaded)


def _require_short(tokens):
    if tokens > MOST:
        raise ReportError(
            f"a text has {tokens} tokens, and effects on predictions are told of at most {MOST}; "
            "shorten it"
        )


def _require_small(loaded):
    number = loaded.identity["parameters"]
    if number > LARGEST:
        raise ReportError(
            f"it has {large(number)} parameters, and a passage is read again without each head of "
            f"models with at most {large(LARGEST)}; an article of `kind: prediction` measures any"
        )


def asked_of(loaded: LoadedModel, prompt: Prompt) -> Asked | None:
    """What is asked at a prompt's last token; None for a passage.

    raises: ReportError if the target and the other begin with the same token, or tokens do not part
        where the text ends
    """
    from report.effects.asked import MEAN, Asked
    from report.models.text.vocabulary import next_token

    if prompt.target is None:
        return None
    target = next_token(loaded, prompt.text, prompt.target)
    if prompt.other is None:
        return Asked(-1, target, MEAN)
    other = next_token(loaded, prompt.text, prompt.other)
    if other == target:
        raise ReportError(
            f"{quoted(prompt.target)} and {quoted(prompt.other)} begin with the same token of "
            f"{loaded.identity['name']}, so it cannot be told which it predicts; choose others"
        )
    return Asked(-1, target, other)


def replacements(
    loaded: LoadedModel, texts: Sequence[str]
) -> tuple[list[Replacement], dict[str, int]]:
    """Zeros, and the mean over texts; and the number of "texts" and "tokens" of that mean. A loaded
    model reads the same texts once."""
    from report.effects.replacing import means, zeros
    from report.models.text.tokens import encode_texts

    texts = tuple(texts)
    if texts not in loaded.replacements:
        encoded = list(encode_texts(loaded, list(texts)).token_ids.values())
        about = {"texts": len(encoded), "tokens": sum(len(ids) - 1 for ids in encoded)}
        loaded.replacements[texts] = [zeros(loaded), means(loaded, encoded)], about
    return loaded.replacements[texts]


def words_in(loaded: LoadedModel, sentences: Sequence[Sentence]) -> dict[int, dict]:
    """All tokens of the vocabulary that are named of some texts."""
    from report.models.text.vocabulary import words as spelt

    ids: set[int] = set()
    for sentence in sentences:
        ids |= {*asked_ids(sentence.asked)}
        if sentence.lens is not None:
            ids |= {*sentence.lens.tokens.ravel().tolist()}
        for one in sentence.writes.values():
            ids |= {*one.promoted.ravel().tolist(), *one.suppressed.ravel().tolist()}
    return spelt(loaded, ids)


def _announce(loaded, texts, announce):
    """Say what is read and written."""
    from report.effects.ablation import logits_at_once

    tokens, shape = (
        [len(text.token_ids) for text in texts],
        (
            loaded.measured_layers,
            loaded.structure[0].heads,
        ),
    )
    passes = 2 * len(texts) * shape[0] * shape[1]
    what = f"{count(len(texts), 'text')}, and each again without each head"
    name = loaded.identity["name"]
    said = reads(name, what, sum(tokens) * (1 + 2 * shape[0] * shape[1]), passes + len(texts))
    announce(said + needs(loaded, logits=logits_at_once(loaded, max(tokens))))
    announce(writes(name, sum(map(partial(about_bytes, shape), tokens))))


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write every dataset of an article about predictions, or of the predictions beside a passage.

    progress: called after each text
    raises: ReportError if a number is not finite
    """
    for place in range(len(measured.sentences)):
        for name, make in makers(measured, place):
            files.write(name, make())
        progress(place + 1, len(measured.sentences))


def makers(measured: Measured, place: int) -> Iterator[tuple[str, Callable[[], dict]]]:
    """Every dataset of a text: its name, and what makes it; place: the text's number.

    What is made raises ReportError if a number is not finite.
    """
    sentence, words = measured.sentences[place], measured.words
    about = {"text": measured.prompts[place].text}, measured.tokens[place]
    yield of_texts.sentence_file(place), partial(of_texts.encode, *about, sentence, words)
    if sentence.lens is not None:
        yield prediction_lens.lens_file(place), partial(prediction_lens.encode, sentence, words)
    for layer, head in np.ndindex(sentence.effects.direct.heads.shape[1:]):
        make = partial(prediction_head.encode, sentence, layer, head, words)
        yield prediction_head.head_file(place, layer, head), make


def about_bytes(shape: tuple[int, int], tokens: int) -> int:
    """About how many bytes the datasets of a text take.

    shape: layers and heads of a layer
    """
    layers, of_layer = shape
    heads, cells = layers * of_layer, tokens * (tokens + 1) // 2
    by_target = heads * (200 + (7 if tokens <= prediction_head.LONG else 5) * cells)
    parts = layers * (of_layer + 2) // 2  # before a layer in the middle
    in_full = min(SHOWN, heads) * tokens * (260 + 10 * parts)
    lens = (2 * layers + 1) * tokens * 60
    return by_target + in_full + lens + 5 * tokens * heads
