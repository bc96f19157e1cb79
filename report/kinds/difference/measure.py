"""Two models over the same texts: every measure of every head in both, how far its attention moved,
and which way its update points."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from itertools import count as numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from report import measures
from report.datasets.formats import attention_pair, head_statistics
from report.datasets.formats import passage as of_tokens
from report.datasets.formats.attention_pair import LONGEST
from report.datasets.formats.changes import FILE, encode
from report.datasets.write.attention import scores_dataset
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs import corpora, rows
from report.inputs.passages import Passage, corpus
from report.kinds.difference.beside import APART, BOTH, DISTANCE
from report.measures import OwnMeasure, known, own_measures
from report.measuring.forecast import (
    MEASURING,
    WRITING,
    Part,
    needs,
    reads,
    time_of_writing,
    timed,
    will_take,
    writes,
)
from report.measuring.key import files_of, known_model
from report.measuring.kind import Announce, Progress
from report.models.find import names
from report.models.find.names import Source

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.measurements.passage import PassageMeasurement
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

COLUMNS, BYTES, OF_A_CELL = 4, 6, 12
"""Of a measure in the table of changes, and of a number in it; and of the attention of a head of
two models to a target."""

EFFECTS = "Measuring effects"


@dataclass(frozen=True)
class Reference:
    """The model that others are compared with."""

    named: str
    options: dict[str, Any]
    """How it is loaded, as the others are; see `load_model`."""

    @property
    def source(self) -> Source:
        """Where it is; ReportError if it cannot be found, or is on the hub at no certain commit."""
        source = names.find_first(self.named, ask=False)
        if source.origin == "hub" and source.revision is None:
            raise ReportError(
                f"the first model of `difference`, {self.named!r}, is on the hub; name its commit "
                "as well, owner/model@commit, of 40 hex digits"
            )
        return source


@dataclass(frozen=True)
class Inputs:
    """What is read, and the model that others are compared with."""

    corpus: corpora.Corpus
    reference: Reference
    measures: Sequence[OwnMeasure] = ()
    """Of the publication's own."""
    maps: int | None = None
    """Of how many heads the attention over a text is kept; None: all."""


@dataclass(frozen=True)
class Maps:
    """The attention of heads over a text in both models."""

    passage: Passage
    tokens: Sequence[dict]
    """Each with "id" and "text", perhaps "bytes" and "special"."""
    pair: tuple[PassageMeasurement, PassageMeasurement]
    """The reference, and the model."""
    heads: Sequence[tuple[int, int]]
    """(layer, head) of those that are kept, the one that moved most over all texts first."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files: sums over each half of the texts, see
    `models.measure.difference.compare`."""

    halves: tuple[HeadStatistics, HeadStatistics]
    measures: Sequence[OwnMeasure] = ()
    maps: Maps | None = None
    """None: no text is short enough."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The texts and the first model; neither is read yet."""
    texts = corpora.specified(wanted.corpus) if wanted.corpus else corpora.shipped(corpus())
    like = ("dtype", "device", "trust_remote_code", "alibi_factor", "layer_by_layer")
    options = {name: getattr(wanted, name) for name in like}
    if wanted.tokenizer:
        options["tokenizer"] = wanted.tokenizer.model_dump()
    reference = Reference(wanted.difference[0], options)
    return Inputs(texts, reference, own_measures(wanted.measures or ()), wanted.maps)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on; texts and a reference that are not on this machine count as
    unchanged."""
    return {
        "corpus": inputs.corpus.sha256_or(before),
        "difference": _identified(inputs.reference, (before or {}).get("difference")),
        **({"maps": inputs.maps} if inputs.maps else {}),
        **measures.parts(inputs.measures, before),
    }


def _identified(reference, before):
    """Name and files of the reference; before: as they were."""
    try:
        source = reference.source
        model = known_model(source, None, before["model"]) if before else files_of(source, None)
    except ReportError:
        if before is None:
            raise
        return before
    return {"model_name": source.title, "model": model}


def words(inputs: Inputs) -> list[str]:
    """The options of a command that names the same texts."""
    return inputs.corpus.words


def tokenized(loaded: LoadedModel, inputs: Inputs) -> None:
    """Stop for models that do not read the same tokens or are not of one shape, before weights are
    read.

    raises: ReportError naming both models
    """
    from report.models.load.load import without_weights
    from report.models.measure.difference import require_alike

    options = {name: inputs.reference.options.get(name) for name in ("trust_remote_code",)}
    reference = without_weights(inputs.reference.source, lambda _: None, **options)
    if reference is not None:
        require_alike(reference, loaded)
        _token_ids(reference, loaded, inputs)


def _token_ids(reference, loaded, inputs):
    """Token ids of the texts that fit into both models, and the places of these in the corpus."""
    from report.models.measure.difference import require_same_tokens
    from report.models.text.tokens import encode_texts

    texts, pair = [text for _, text in inputs.corpus], (reference, loaded)
    encoded = [encode_texts(each, texts) for each in pair]
    for each in encoded:
        if each.failed:
            place, why = next(iter(each.failed.items()))
            raise ReportError(
                f"text {place} of the corpus cannot be read: {why.rstrip('.')}; mend it, or leave "
                f"it out: `skip: [{place}]` below `corpus:`"
            )
    both = [place for place in encoded[0].token_ids if place in encoded[1].token_ids]
    first, second = ([each.token_ids[place] for place in both] for each in encoded)
    require_same_tokens([each.identity["name"] for each in pair], first, second)
    if len(both) < 2:
        raise ReportError(
            "of the texts of the corpus, fewer than 2 are short enough for both models, and have 2 "
            "tokens or more; take others"
        )
    return first, both


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Load the reference as well, and run both over the texts, one text after the other.

    returns: what was measured, and the manifest's corpus and difference
    raises: ReportError as `models.measure.difference.compare`, or if the reference cannot be loaded
    """
    from report.models.attention.self_check import recorded
    from report.models.load.load import load_model
    from report.models.load.memory import enough_memory
    from report.models.measure.difference import compare, halves, require_alike, require_whole
    from report.models.measure.loss import mean_loss, predicts

    reference = load_model(inputs.reference.source, announce=announce, **inputs.reference.options)
    pair = reference, loaded
    require_alike(*pair)
    for each in pair:
        require_whole(each)
    ids, places = _token_ids(*pair, inputs)
    taken, longest = [*known(inputs.measures).values()], max(map(len, ids))
    _announce(pair, ids, len(taken), inputs.maps, announce)
    done = numbers(1)
    step = lambda n, _: progress(MEASURING, n, len(ids))  # noqa: E731
    of_effects = lambda: progress(EFFECTS, next(done), len(ids))  # noqa: E731
    progress(MEASURING, 0, len(ids))
    with enough_memory(f"comparing two models over {longest} tokens"):
        will_take(progress, loaded.identity["name"], partial(_parts, pair, ids, inputs.maps))
        sums = compare(*pair, ids, taken, step)
        reason = _add_effects(pair, ids, sums, of_effects)
        losses = [mean_loss(each.model, ids) if predicts(each) else None for each in pair]
        maps = _maps(pair, inputs, dict(zip(places, ids, strict=True)), sums)
    titled = {"title": inputs.corpus.title} if inputs.corpus.title else {}
    second, left_out = sum(halves(ids)), len(inputs.corpus) - len(ids)
    return Measured(sums, inputs.measures, maps), {
        "corpus": titled | {"texts": len(ids), "tokens": sum(map(len, ids)), "left_out": left_out},
        "difference": {
            "reference": recorded(reference, announce)["model"],
            "halves": [len(ids) - second, second],
            "losses": dict(zip(("reference", "model"), losses, strict=True)),
            "maps": [list(head) for head in maps.heads] if maps else [],
            "no_effects": reason,
        },
    }


def _parts(pair, ids, maps):
    """What all texts take: how two models compare, by the first ones; the rest by samples."""
    from report.effects.difference import compare_effects
    from report.models.measure.loss import mean_loss, predicts

    lengths = [*map(len, ids)]
    yield Part(MEASURING, steps=lengths)
    sample = sorted(ids, key=len)[len(ids) // 2 :][:2] if len(ids) > 2 else ids
    times = sum(lengths) / sum(map(len, sample))
    with suppress(ReportError):  # which is told of where they are measured
        yield Part(EFFECTS, times * timed(lambda: compare_effects(*pair, sample)), lengths)
    losses = [each.model for each in pair if predicts(each)]
    if losses:
        each = timed(lambda: [mean_loss(model, sample) for model in losses])
        yield Part("The loss", times * each)
    yield Part(WRITING, time_of_writing(_bytes_of_maps(pair[1], ids, maps)))


def _bytes_of_maps(loaded, ids, maps):
    """About what the attention of heads over a text takes."""
    cells = next((len(each) ** 2 // 2 for each in ids if len(each) <= LONGEST), 0)
    heads = loaded.measured_layers * loaded.structure[0].heads
    return min(maps or heads, heads) * cells * OF_A_CELL


def _add_effects(pair, ids, sums, step):
    """Add direct effects to the sums of both halves; returns why there are none, or ""."""
    from report.effects.difference import compare_effects

    try:
        effects = compare_effects(*pair, ids, step)
    except ReportError as error:
        return str(error)
    for half, more in zip(sums, effects, strict=True):
        half.sums |= more.sums
    return ""


def _maps(pair, inputs, ids, sums):
    """The `Maps` of the first text that is short enough; None if there is none.

    ids: place of a text in the corpus -> its token ids
    """
    from report.models.measure.passage import measure_passage
    from report.models.text.tokens import tokenize

    place = next((place for place, each in ids.items() if len(each) <= LONGEST), None)
    if place is None:
        return None
    text = next(text for number, (_, text) in enumerate(inputs.corpus) if number == place)
    moved = sums[0].merge(sums[1]).mean(DISTANCE.name)
    order = np.argsort(-moved, axis=None, kind="stable")[: inputs.maps]
    return Maps(
        rows.own_text(text, "A text of the corpus"),
        tokenize(pair[1], text).tokens,
        tuple(measure_passage(each, list(ids[place]), measures=()) for each in pair),
        [divmod(int(at), moved.shape[1]) for at in order],
    )


def _announce(pair, ids, taken, maps, announce):
    """Say what each model will read, in how much memory, and how much is written."""
    from report.models.measure.loss import predicts

    longest = max(map(len, ids))
    for each in pair:
        each.announce_bytes([*chain.from_iterable(ids)], announce)
        passes = 1 + 2 * predicts(each)
        what = f"{len(ids)} texts" + ", each again for effects and the loss" * predicts(each)
        tokens, logits = passes * sum(map(len, ids)), longest * predicts(each)
        sentence = reads(each.identity["name"], what, tokens, passes * len(ids))
        announce(sentence + needs(each, kept=longest, logits=logits))
    heads = pair[1].measured_layers * pair[1].structure[0].heads
    tables = heads * COLUMNS * BYTES * (taken + 5)
    announce(writes(pair[1].identity["name"], tables + _bytes_of_maps(pair[1], ids, maps)))


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write a table for each number of a pair of heads, one of all measures in both models, and the
    attention of heads over a text.

    raises: ReportError if the scores of a head cannot be written
    """
    first, second = measured.halves
    of_all = first.merge(second)
    for name, each in APART.items():
        if name in of_all.sums:
            table = head_statistics.encode(each, {"corpus": of_all})
            files.write(head_statistics.FILE.format(name), table)
    taken = [*known(measured.measures).values(), *BOTH.values()]
    files.write(FILE, encode(measured.halves, [each for each in taken if each.name in of_all.sums]))
    total = 1 + (len(measured.maps.heads) if measured.maps else 0)
    progress(1, total)
    if not measured.maps:
        return
    files.write("passage.json", of_tokens.encode(measured.maps.passage, measured.maps.tokens))
    for place, head in enumerate(measured.maps.heads):
        pair = (scores_dataset(each, *head) for each in measured.maps.pair)
        files.write(attention_pair.FILE.format(place), attention_pair.encode(*pair))
        progress(2 + place, total)
