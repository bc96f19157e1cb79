"""Atlases: every measure of every head over many texts, beside the same texts shuffled; induction
on random tokens; and what each head does to the next token, and what is lost without it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from report import measures
from report.datasets.formats import head_statistics
from report.datasets.formats import portraits as form
from report.datasets.formats.passage import part_name
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs import corpora
from report.inputs.passages import FOLDER
from report.inputs.specs import CorpusSpec
from report.kinds.atlas.beside import DIRECT, INDUCTION, LOST
from report.measures import Measure, OwnMeasure, known, own_measures
from report.measuring.forecast import (
    MEASURING,
    WITHOUT,
    WRITING,
    Part,
    needs,
    reads,
    time_of_writing,
    timed,
    will_take,
    writes,
)
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.measurements.portraits import Portraits, PortraitTally
    from report.measuring.kind import Piece
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

NOT_IN_SUMS = ("corpus", "effects")
"""Parts of the key that may change while the sums over texts stay right."""

SHUFFLED = "shuffled/"
"""Begins the name of a measure's sums over the shuffled texts."""

MANY_KINDS = CorpusSpec(
    file=str(FOLDER.parent / "texts" / "many-kinds.jsonl"), title="many kinds", license="CC0 1.0"
)
"""The texts of an article that names none: stories, letters, dialogue, code, tables and lists, in
eleven languages, written for this project."""

RANDOM = "Measuring random tokens"

LONGEST = 512
"""Tokens of a text that effects are measured on, at most: ablations grow with their square."""

SAMPLE, COUNTED = 60, 512
"""Texts, about, that every head reads as examples, and texts whose tokens are counted: both spread
evenly over the corpus, so that what is held does not grow with it."""

COLUMNS, EXAMPLES = 8, 6000
"""Of the table of a measure, in which a number takes about 6 bytes; and bytes of the portrait of a
head with its examples."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    corpus: corpora.Corpus
    effects: int
    """Of how many texts effects are measured."""
    measures: Sequence[OwnMeasure] = ()
    """Of the publication's own."""
    examples: bool = True
    """Whether texts are shown."""


@dataclass(frozen=True)
class Means:
    """A number of every head, as a table of heads has it; all float64 [layer, head]."""

    values: np.ndarray
    errors: np.ndarray
    """Standard errors over texts or sequences; NaN where there is one only."""
    number: int
    """Of the texts or sequences."""

    def mean(self, name: str) -> np.ndarray:
        """The values."""
        return self.values

    def error(self, name: str) -> np.ndarray:
        """Their standard errors."""
        return self.errors

    def spread(self, name: str) -> np.ndarray:
        """The standard deviation over texts."""
        return self.errors * self.number**0.5

    def even(self, name: str) -> np.ndarray:
        """Unknown: it is no measure of attention alone."""
        return np.full(self.values.shape, np.nan)


def with_control(numbers: np.ndarray, control: np.ndarray) -> dict[str, Means]:
    """Means over texts, sequences or words: "corpus" and "control" -> numbers.

    numbers, control: float64 [number, layer, head]
    """
    number = len(numbers)
    return {
        source: Means(values.mean(0), values.std(0, ddof=1) / number**0.5, number)
        for source, values in (("corpus", numbers), ("control", control))
    }


Beside = dict[Measure, dict[str, Means]]
"""Measure -> "corpus" and "control" -> its numbers."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    texts: HeadStatistics
    shuffled: HeadStatistics
    beside: Beside
    portraits: Portraits
    words: dict[int, dict[str, str]]
    """Token id -> its "text", and its "bytes" where that is not whole characters."""
    measures: Sequence[OwnMeasure] = ()
    examples: bool = True


def inputs(wanted: FrontMatter) -> Inputs:
    """The texts; nothing is read yet."""
    texts = corpora.specified(wanted.corpus or MANY_KINDS)
    return Inputs(texts, wanted.effects, own_measures(wanted.measures or ()), wanted.examples)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on; a corpus that is not on this machine counts as unchanged."""
    of_author = measures.parts(inputs.measures, before)
    numbers = {} if inputs.examples else {"examples": False}
    return {
        "corpus": inputs.corpus.sha256_or(before),
        "effects": inputs.effects,
        **of_author,
        **numbers,
    }


def words(inputs: Inputs) -> list[str]:
    """The options of a command that names the same texts."""
    return inputs.corpus.words


def measure_batch(
    loaded: LoadedModel, inputs: Inputs, piece: Piece, progress: Progress, announce: Announce
) -> tuple[tuple[Beside, dict] | None, PortraitTally]:
    """Run a model over the texts of a piece, and over the same shuffled; and over random tokens and
    the texts for effects, if what is measured once a model is a part of it.

    raises: ReportError if a text for effects cannot be read
    """
    from report.measurements.portraits import PortraitTally
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.text.tokens import encode_texts

    encoded = encode_texts(loaded, [text for _, text in piece.texts])
    index = [index for index, _ in piece.texts]
    places, ids = list(encoded.token_ids), list(encoded.token_ids.values())
    taken = [*known(inputs.measures).values()]
    chosen = _for_effects(loaded, inputs) if piece.per_model else []
    if piece.per_model:
        loaded.announce_bytes([*chain.from_iterable(ids)], announce)
        announce(_reads(loaded, inputs, ids, chosen))
        shape = loaded.measured_layers * loaded.structure[0].heads
        size = 2 * COLUMNS * 6 * (len(taken) + 3) + inputs.examples * EXAMPLES
        announce(writes(loaded.identity["name"], shape * size))
        of_all = partial(_work, loaded, inputs, ids, chosen, taken, shape * size)
    longest, failed, once = max(map(len, [*ids, *chosen, []])), {}, None
    numbers = [index[place] for place in places]
    total = len(ids) + piece.per_model
    progress(MEASURING, 0, total)
    with enough_memory(f"measuring {longest} tokens"):
        self_check.checked(loaded)
        if piece.per_model:
            will_take(progress, loaded.identity["name"], of_all)
            once = _once(loaded, chosen, inputs.effects, progress)
        progress(MEASURING, int(piece.per_model), total)
        step = lambda n, _: progress(MEASURING, n // 2 + piece.per_model, total)  # noqa: E731
        whole, portraits = _portrayed(loaded, inputs, numbers, ids, taken, failed, step)
        shuffled = _of_shuffled(loaded, ids, taken, failed, lambda n, _: step(len(ids) + n, None))
    sums = whole.sums | {f"{SHUFFLED}{name}": each for name, each in shuffled.sums.items()}
    why = {numbers[place]: reason for place, reason in failed.items()}
    why |= {index[place]: reason for place, reason in encoded.failed.items()}
    tokens = sum(len(text) for place, text in enumerate(ids) if place not in failed)
    counts = replace(whole, sums=sums), tokens, encoded.left_out, why
    return once, PortraitTally(*counts, portraits=portraits, words=_words(loaded, portraits))


def _portrayed(loaded, inputs, numbers, ids, taken, failed, step):
    """The sums of measures over texts, and portraits of the heads; numbers: of the texts."""
    from report.measurements.portraits import Portraits
    from report.models.attention.kernel import ROWS
    from report.models.measure.passage import Recorders, run_texts
    from report.models.measure.portraits import PortraitRecorder

    portraits = Portraits.empty(loaded.measured_layers, loaded.structure[0].heads)
    sample, counted = (max(1, len(inputs.corpus) // most) for most in (SAMPLE, COUNTED))
    read = iter(range(len(ids)))

    def add(text):
        number = numbers[next(place for place in read if place not in failed)]
        counts = {"sample": number % sample == 0, "tokens": number % counted == 0}
        portraits.add(number, text, **counts, shown=inputs.examples)

    recorders = Recorders(loaded, ROWS, taken, partial(PortraitRecorder, done=add))
    return run_texts(recorders, None, ids, step, failed)[1], portraits


def _of_shuffled(loaded, ids, taken, failed, step):
    """The sums of measures over the same texts, shuffled; those that failed are left out."""
    from report.models.measure.passage import measure_batch as measure_texts

    of = [_shuffled(loaded, text) for place, text in enumerate(ids) if place not in failed]
    again = {}
    statistics = measure_texts(loaded, of, progress=step, failed=again, measures=taken)[1]
    places = [place for place in range(len(ids)) if place not in failed]
    failed |= {places[place]: reason for place, reason in again.items()}
    return statistics


def _words(loaded, portraits):
    """What `Measured` has of all tokens that portraits may name."""
    from report.models.text.vocabulary import words

    ids = {*portraits.tokens, *chain.from_iterable(portraits.texts.values())}
    return words(loaded, ids)


def _parts(portraits, words):
    """Number of a text -> place of a token that is a part of a character -> which part of which."""
    from report.models.text.tokens import with_parts

    return {
        number: {
            place: part_name(token["part"])
            for place, token in enumerate(with_parts([{"special": False, **words[n]} for n in ids]))
            if "part" in token
        }
        for number, ids in portraits.texts.items()
    }


def _for_effects(loaded, inputs):
    """Token ids of the texts for effects: every n-th of the corpus that is short enough."""
    from report.models.text.tokens import encode_texts

    if not inputs.effects:
        return []
    apart = max(1, len(inputs.corpus) // inputs.effects)
    texts = [text for place, (_, text) in enumerate(inputs.corpus) if place % apart == 0]
    encoded = encode_texts(loaded, texts).token_ids.values()
    return [ids for ids in encoded if len(ids) <= LONGEST][: inputs.effects]


def _reads(loaded, inputs, ids, chosen):
    """What will be read, by the texts of the first piece."""
    from report.effects.ablation import logits_at_once
    from report.models.measure.repetition import SEQUENCES, span

    number = len(inputs.corpus)
    tokens = round(2 * sum(map(len, ids)) * number / max(1, len(ids)))
    random = 2 * SEQUENCES, 2 * SEQUENCES * (1 + 2 * span(loaded))
    heads = loaded.measured_layers * loaded.structure[0].heads
    what = f"{number:,} texts, the same shuffled, and {2 * SEQUENCES} sequences of random tokens"
    if chosen:
        what += f"; and {len(chosen)} of the texts again without each head"
    passes = 2 * number + random[0] + (1 + heads) * len(chosen)
    tokens += random[1] + (1 + heads) * sum(map(len, chosen))
    reading = reads(loaded.identity["name"], what, tokens, passes, len(ids) < number)
    logits = logits_at_once(loaded, max(map(len, chosen))) if chosen else 0
    return reading + needs(loaded, tokens, logits=logits)


def _shuffled(loaded, token_ids):
    """The tokens of a text in another order, the same on every machine; special ones stay."""
    special = {*(loaded.tokenizer.all_special_ids if loaded.tokenizer else ())}
    free = [place for place, token in enumerate(token_ids) if token not in special]
    text = repr(list(token_ids))
    order = sorted(free, key=lambda place: hashlib.sha256(f"{place} {text}".encode()).digest())
    shuffled = list(token_ids)
    for place, source in zip(free, order, strict=True):
        shuffled[place] = token_ids[source]
    return shuffled


def _work(loaded, inputs, ids, chosen, taken, size):
    """What is to be measured, by a text of middling length, whole and shuffled.

    ids: of the texts of the first piece; chosen: of those for effects; size: bytes
    """
    from report.effects.ablation import by_layer, sample_of
    from report.models.measure.passage import measure_corpus, reads_layer_by_layer

    if not ids or reads_layer_by_layer(loaded):
        return  # a text takes as long as all, so nothing is known before
    yield Part(RANDOM)
    yield Part(WRITING, time_of_writing(size))
    text = sorted(ids, key=len)[len(ids) // 2]
    each = timed(lambda: measure_corpus(loaded, [text], measures=taken))
    each += timed(lambda: _portrayed(loaded, inputs, [0], [text], taken, {}, lambda *_: None))
    tokens = sum(map(len, ids)) * len(inputs.corpus) / len(ids)
    yield Part(MEASURING, each * tokens / len(text))
    if chosen:
        layers = by_layer(loaded.measured_layers)
        with suppress(ReportError):  # which is told of where they are measured
            seconds = timed(*sample_of(loaded, chosen[0], loss=True)) / len(chosen[0])
            steps = [len(text) * layer for text in chosen for layer in layers]
            yield Part(WITHOUT, seconds * sum(map(len, chosen)), steps)


def _once(loaded, chosen, wanted, progress):
    """What is measured once a model: numbers of heads, and the manifest's atlas."""
    from report.models.measure.repetition import SEQUENCES, repetition

    progress(RANDOM, 0, SEQUENCES)
    repeated = repetition(loaded, lambda n, _: progress(RANDOM, n, SEQUENCES))
    of_all = with_control(repeated.induction, repeated.unrepeated)
    numbers, texts, reason = {INDUCTION: of_all}, None, ""
    if chosen:
        try:
            numbers |= _effects(loaded, chosen, progress)
            texts = {"texts": len(chosen), "tokens": sum(map(len, chosen))}
        except ReportError as error:
            reason = str(error)
    elif wanted:
        reason = f"no text has at most {LONGEST} tokens of this model"
    about = {"sequences": repeated.sequences, "length": repeated.length}
    return numbers, about | {"effects": texts, "reason": reason}


def _effects(loaded, texts, progress):
    """Direct effects on next tokens, and losses without each head, over some texts."""
    from report.effects.ablation import ablation
    from report.effects.asked import MEAN, Asked
    from report.effects.direct import direct_effects
    from report.effects.replacing import means

    replacement = means(loaded, texts)
    direct, lost, layers = [], [], loaded.measured_layers
    for number, ids in enumerate(texts):
        step = lambda done, _, n=number: progress(  # noqa: E731
            WITHOUT, n * layers + done, len(texts) * layers
        )
        questions = [Asked(place, token, MEAN) for place, token in enumerate(ids[1:])]
        direct.append(direct_effects(loaded, ids, questions).heads.sum(0))
        without = ablation(loaded, ids, replacement=replacement, loss=True, progress=step)
        lost.append(without.log_probability_drop.sum(-1))
    rows = np.array([len(ids) - 1 for ids in texts], float)
    pairs = ((DIRECT, direct), (LOST, lost))
    return {measure: _beside_its_layer(rows, np.stack(sums)) for measure, sums in pairs}


def _beside_its_layer(rows, sums):
    """The mean of every head, and that of the other heads of its layer.

    rows: [texts], tokens; sums: [texts, layers, heads], of a number of each token
    source: the standard error is that of a ratio of means, Cochran 1977, 6.4
    """
    texts, _, heads = sums.shape
    mean = sums.sum(0) / rows.sum()
    off = ((sums - rows[:, None, None] * mean) ** 2).sum(0)
    error = np.sqrt(off * texts / (texts - 1)) / rows.sum() if texts > 1 else mean * np.nan
    others = mean * np.nan
    if heads > 1:
        others = (mean.sum(1, keepdims=True) - mean) / (heads - 1)
    return {
        "corpus": Means(mean, error, texts),
        "control": Means(others, mean * np.nan, texts),
    }


def tally_of(dataset: dict) -> PortraitTally:
    """The sums over the texts of a finished batch, as they were kept."""
    from report.measurements.portraits import PortraitTally

    return PortraitTally.of_json(dataset)


def joined(
    inputs: Inputs, once: tuple[Beside, dict], tally: PortraitTally
) -> tuple[Measured, dict]:
    """What was measured once a model and on all texts, put together.

    returns: what was measured, and the manifest's corpus and atlas
    raises: ReportError if no text was measured
    """
    statistics = tally.statistics
    if not statistics.texts:
        raise ReportError(
            "every text of the corpus is longer than the model takes, or has fewer than 2 tokens; "
            "an atlas needs others, or a model with a larger context"
        )
    of_both: list[dict] = [{}, {}]
    for name, sums in statistics.sums.items():
        of_both[name.startswith(SHUFFLED)][name.removeprefix(SHUFFLED)] = sums
    texts, shuffled = (replace(statistics, sums=sums) for sums in of_both)
    beside, about = once
    titled = {"title": inputs.corpus.title} if inputs.corpus.title else {}
    spec = inputs.corpus.spec
    titled |= {"license": spec.license} if spec and spec.license else {}
    counts = {"texts": tally.texts, "tokens": tally.tokens, "left_out": tally.left_out}
    measured = Measured(
        texts, shuffled, beside, tally.portraits, tally.words, inputs.measures, inputs.examples
    )
    return measured, {"corpus": titled | counts, "atlas": about}


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write a table of heads for each measure that applies."""
    of_texts = {"corpus": measured.texts, "control": measured.shuffled}
    tables = [(each, of_texts) for each in known(measured.measures).values()]
    tables = [(each, of) for each, of in tables if head_statistics.applies(each, of)]
    tables += measured.beside.items()
    for place, (measure, sources) in enumerate(tables):
        name = head_statistics.FILE.format(measure.name)
        files.write(name, head_statistics.encode(measure, sources))
        progress(place + 1, len(tables) + 1)
    of, words = measured.portraits, measured.words
    files.write(form.FILE, form.encode(of, words, measured.examples, _parts(of, words)))
    progress(len(tables) + 1, len(tables) + 1)
