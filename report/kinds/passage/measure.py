"""Articles about one passage: every head on every token of it, and statistics over a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report import measures
from report.datasets.formats import head_statistics, updates
from report.datasets.formats import passage as of_tokens
from report.datasets.write.attention import attention_datasets, to_send, write_attention
from report.datasets.write.folder import Folder, Step
from report.datasets.write.processes import processors
from report.errors import ReportError
from report.inputs import corpora, rows
from report.inputs.passages import SUFFIXES, Passage, corpus, passage
from report.kinds.prediction import measure as predicted
from report.measures import OwnMeasure, known, own_measures
from report.measuring import kept_heads
from report.measuring.forecast import (
    MEASURING,
    WRITING,
    Part,
    beyond,
    needs,
    reads,
    size,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import SOMEWHERE, Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.measurements.passage import PassageMeasurement
    from report.measurements.tally import Tally
    from report.measuring.kind import Piece
    from report.models.load.load import LoadedModel
    from report.models.text.tokens import TokenizedText
    from report.study.front_matter import FrontMatter

DIVIDED = ("words", "sentences")
"""What every passage is divided by, see `report.models.text.regions.SPLIT`."""

NOT_IN_SUMS = ("passage", "corpus", "chat", "heads", "predict", "regions")
"""Parts of the key that may change while the sums over texts stay right."""

Prediction = tuple[predicted.Measured | None, dict]


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    passage: Passage
    corpus: corpora.Corpus
    name: str
    """The passage's name or path in the front matter; "" if the text is spelt out there."""
    chat: bool | str
    """Whether the passage is put into the model's chat template; "available": if it has one."""
    means_of: Sequence[str] = ()
    """Texts over which heads' contexts are averaged, where effects on next tokens are measured; ():
    they are not."""
    heads: int | None = None
    """How many heads of each layer are kept, from the first; None: all."""
    measures: Sequence[OwnMeasure] = ()
    """Measures of the publication's own."""
    regions: Mapping[str, Any] = field(default_factory=dict)
    """What the passage is divided by besides `DIVIDED`, as options of `beginnings`."""


@dataclass(frozen=True)
class OfPassage:
    """What was measured on the passage: the per-model part."""

    tokens: Sequence[dict]
    """Each with "id" and "text", perhaps "bytes" and "special"."""
    token_ids_sha256: str
    measurement: PassageMeasurement
    prediction: Prediction | None
    """What heads do to its next tokens, and the manifest's prediction; None: not asked for."""
    regions: Mapping[str, Sequence[int]]
    """By what they are, the first token of each region."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    passage: Passage
    tokens: Sequence[dict]
    """Each with "id" and "text", perhaps "bytes" and "special"."""
    measurement: PassageMeasurement
    corpus: HeadStatistics | None
    """None: it has none."""
    prediction: predicted.Measured | None
    """What heads do to its next tokens."""
    measures: Sequence[OwnMeasure] = ()
    """Of the publication's own."""
    regions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """As of `OfPassage`."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The passage and the corpus; ReportError if the passage cannot be read."""
    texts = corpora.specified(wanted.corpus) if wanted.corpus else corpora.shipped(corpus())
    effects = wanted.predict and wanted.heads is None  # of a part of the heads they are no sum
    means = [text.text for text in corpus()[: predicted.MEANS_OF]] if effects else []
    regions = wanted.regions.cut if wanted.regions else {}
    rest = wanted.chat, tuple(means), wanted.heads, own_measures(wanted.measures or ()), regions
    named = wanted.passage
    if not isinstance(named, str):
        read = Inputs(rows.specified(named), texts, "", *rest)
    elif "\n" in named:  # of several lines, so no name, but the text itself
        read = Inputs(rows.own_text(named), texts, "", *rest)
    else:
        read = Inputs(passage(named), texts, named, *rest)
    if regions and find_spec("regex"):  # before a model is loaded
        from report.models.text.regions import beginnings

        beginnings(read.passage.text, **regions)
    return read


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on; a corpus that is not on this machine counts as unchanged."""
    return {
        "passage": hashed(asdict(inputs.passage)),
        "corpus": inputs.corpus.sha256_or(before),
        "chat": inputs.chat,
        **kept_heads.parts(inputs.heads),
        **({"predict": hashed(list(inputs.means_of))} if inputs.means_of else {}),
        **({"regions": hashed(inputs.regions)} if inputs.regions else {}),
        **measures.parts(inputs.measures, before),
    }


def words(inputs: Inputs) -> list[str]:
    """Options of a command; of a path only the name, without the folders of this machine."""
    name = inputs.name
    if name.lower().endswith(SUFFIXES):
        name = f"{SOMEWHERE}/{Path(name).name}"
    return [
        *(["--passage", name] if name else []),
        *kept_heads.words(inputs.heads),
        *(["--chat"] if inputs.chat is True else []),
        *inputs.corpus.words,
    ]


def tokenized(loaded: LoadedModel, inputs: Inputs) -> TokenizedText:
    """The passage as a model reads it, whose weights are not needed."""
    from report.models.text.tokens import tokenize

    return tokenize(loaded, inputs.passage.text, _is_chat(loaded, inputs))


def _is_chat(loaded, inputs):
    from report.models.text.chat import has_template

    return has_template(loaded.tokenizer) if inputs.chat == "available" else bool(inputs.chat)


def divided(loaded: LoadedModel, inputs: Inputs, read: TokenizedText) -> dict[str, list[int]]:
    """The passage in regions: by what they are, the first token of each; without those by which it
    is one region.

    read: as of `tokenized`
    raises: ReportError if it cannot be cut as the front matter says
    """
    from report.models.load.tokenizing import encoded
    from report.models.text.regions import beginnings, first_tokens, pieces
    from report.models.text.tokens import reading

    offsets = encoded(loaded.tokenizer, read.text, **reading(_is_chat(loaded, inputs)))
    spans, added = offsets["offset_mapping"], offsets["special_tokens_mask"]
    ways = {by: {"by": by} for by in DIVIDED}
    if inputs.regions:
        ways |= {inputs.regions.get("by", "regions"): inputs.regions}
    cut = {by: beginnings(read.text, **options) for by, options in ways.items()}
    regions = {by: first_tokens(pieces(read.text, at, spans, added)) for by, at in cut.items()}
    return {by: firsts for by, firsts in regions.items() if len(firsts) > 1}


def measure_batch(
    loaded: LoadedModel, inputs: Inputs, piece: Piece, progress: Progress, announce: Announce
) -> tuple[OfPassage | None, Tally]:
    """Run a model over the texts of a piece, and over the passage if that is a part of it.

    Texts too long or too short for the model are left out; the tally says which others failed.
    returns: what was measured on the passage, or None, and the sums over the texts
    raises: ReportError if the passage cannot be measured
    """
    from report.measurements.tally import Tally
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.measure.passage import measure_batch as measure_texts
    from report.models.measure.passage import measure_passage, reads_layer_by_layer
    from report.models.text import tokens

    read = tokenized(loaded, inputs) if piece.per_model else None
    passage_ids = read.token_ids if read else None
    encoded = tokens.encode_texts(loaded, [text for _, text in piece.texts])
    index = [index for index, _ in piece.texts]
    places, ids, failed = list(encoded.token_ids), list(encoded.token_ids.values()), {}
    if read:
        loaded.announce_bytes(sum(ids, passage_ids), announce)
        announce(_reads(loaded, inputs, piece, passage_ids, ids))
    name, longest = loaded.identity["name"], max(map(len, [passage_ids or [], *ids]))
    if piece.per_model and (said := beyond(loaded.identity, longest)):
        announce(said)
    taken = [*known(inputs.measures).values()]
    with enough_memory(f"measuring {longest} tokens"):
        self_check.checked(loaded)
        kept_heads.require(loaded, inputs.heads)
        total, done, measurement = len(ids) + bool(read), 0, None
        progress(MEASURING, 0, total)
        if read and not reads_layer_by_layer(loaded):  # first, as it decides on the size
            whole = measure_passage(loaded, passage_ids, measures=taken)
            measurement, done, passage_ids = kept_heads.of(whole, inputs.heads), 1, None
            progress(MEASURING, 1, total)
            announce(writes(name, written := _size(loaded, inputs, measurement)))
            will_take(progress, name, partial(_parts, loaded, inputs, read, ids, written))
        elif read:
            will_take(progress, name, lambda: [Part(MEASURING)])
        steps = {"progress": lambda n, _: progress(MEASURING, done + n, total)}
        together, statistics = measure_texts(
            loaded, ids, passage_ids, failed=failed, measures=taken, **steps
        )
    tally = Tally(
        statistics,
        sum(len(text) for place, text in enumerate(ids) if place not in failed),
        encoded.left_out,
        {index[places[place]]: reason for place, reason in failed.items()}
        | {index[place]: reason for place, reason in encoded.failed.items()},
    )
    if together:
        measurement = kept_heads.of(together, inputs.heads)
        announce(writes(name, _size(loaded, inputs, measurement)))
    if not read:
        return None, tally
    prediction = _prediction(loaded, inputs, read.tokens, progress, announce)
    about = read.tokens, hashed(read.token_ids), measurement, prediction
    return OfPassage(*about, divided(loaded, inputs, read)), tally


def _parts(loaded, inputs, read, ids, written):
    """What is left once the passage was measured; ids: of the texts of this piece; written: the
    size of its datasets."""
    of_texts = [len(text) for text in ids]
    mean = sum(of_texts) / max(1, len(of_texts))
    yield Part(MEASURING, steps=[len(read.token_ids), *of_texts], beyond=mean)
    if inputs.means_of:
        yield from predicted.parts_of_passage(loaded, read.token_ids, inputs.means_of)
    yield Part(WRITING, written.seconds)


def _prediction(loaded, inputs, tokens, progress, announce):
    """What heads do to next tokens, and the manifest's prediction; None where it is not wanted."""
    from report.models.load.memory import enough_memory

    if not inputs.means_of:
        return None
    with enough_memory(f"measuring {len(tokens)} tokens"):
        about = inputs.passage.text, tokens, inputs.means_of
        return predicted.of_passage(loaded, *about, progress, announce)


def _reads(loaded, inputs, piece, passage_ids, ids):
    """What will be read, from the texts of the first piece; `ids`: those that can be measured."""
    from report.effects.ablation import logits_at_once

    texts, counted, tokens = len(inputs.corpus), len(piece.texts), sum(map(len, ids))
    what = f"a passage of {count(len(passage_ids), 'token')}"
    logits = logits_at_once(loaded, len(passage_ids)) if inputs.means_of else 0
    memory = needs(loaded, len(passage_ids) + tokens, len(passage_ids), logits)
    if not counted:  # the texts are read elsewhere, or were read before
        return reads(loaded.identity["name"], what, len(passage_ids), 1) + memory
    some = counted < texts
    what += f" and {count(texts, 'text')}"
    passes, tokens = (round(n * texts / counted) for n in (len(ids), tokens))
    said = reads(loaded.identity["name"], what, len(passage_ids) + tokens, 1 + passes, some)
    return said + memory


def _size(loaded, inputs, measurement):
    """About what the datasets of a passage take to write."""
    layers, heads = measurement.largest_targets.shape[:2]
    of_heads = size(partial(attention_datasets, measurement), layers, heads, processors())
    if inputs.means_of:
        of_heads += predicted.size_of_passage(loaded, measurement.token_ids)
    if measurement.magnitude is None:
        return of_heads
    return of_heads + size(lambda layer, _: [(layer_updates(measurement, layer), 1)], layers, 1)


def tally_of(dataset: dict) -> Tally:
    """The sums over the texts of a finished batch, as they were kept."""
    from report.measurements.tally import Tally

    return Tally.of_json(dataset)


def sent(own: OfPassage, most: int) -> OfPassage:
    """The per-model part as it is sent: `attention.to_send` in place of factors."""
    measurement = replace(own.measurement, factors=to_send(own.measurement, most))
    return replace(own, measurement=measurement)


def joined(inputs: Inputs, own: OfPassage, tally: Tally | None) -> tuple[Measured, dict]:
    """What was measured on the passage and on all texts of the corpus, put together.

    tally: None where there is no corpus
    returns: what was measured, and the manifest's corpus
    raises: ReportError if no text of the corpus was measured
    """
    if tally is not None and not tally.statistics.texts:
        raise ReportError(
            "every text of the corpus is longer than the model takes, or has fewer than 2 tokens; "
            "the statistics over many texts need others, or a model with a larger context"
        )
    prediction, facts = own.prediction or (None, None)
    of_texts = kept_heads.of(tally.statistics, inputs.heads) if tally else None
    about = inputs.passage, own.tokens, own.measurement
    measured = Measured(*about, of_texts, prediction, inputs.measures, own.regions)
    return measured, {
        **kept_heads.told(inputs.heads),
        "token_ids_sha256": own.token_ids_sha256,
        **({"corpus": _facts(inputs.corpus, tally)} if tally else {}),
        **({"prediction": facts} if facts else {}),
    }


def _facts(corpus, tally):
    """The manifest's corpus."""
    titled = {"title": corpus.title} if corpus.title else {}
    counts = {"texts": tally.statistics.texts, "tokens": tally.tokens, "left_out": tally.left_out}
    return titled | counts


def makers(measured: Measured) -> Iterator[tuple[str, Callable[[], dict]]]:
    """Every dataset but attention and effects on next tokens: its name, and what makes it.

    What is made raises ReportError if a number is not finite.
    """
    measurement = measured.measurement
    about = measured.passage, measured.tokens, measured.regions
    yield "passage.json", partial(of_tokens.encode, *about)
    sources = {"passage": measurement.statistics}
    if measured.corpus is not None:
        sources["corpus"] = measured.corpus
    for name, measure in known(measured.measures).items():
        if head_statistics.applies(measure, sources):
            file = head_statistics.FILE.format(name)
            yield file, partial(head_statistics.encode, measure, sources)
    if measurement.magnitude is not None:
        for layer in range(len(measurement.magnitude)):
            yield f"updates/{layer}.json", partial(layer_updates, measurement, layer)


def described(measured: Measured) -> dict:
    """The manifest's passage."""
    return {"passage": {"name": measured.passage.name, "tokens": len(measured.tokens)}}


def write(files: Folder, measured: Measured, progress: Step) -> dict:
    """Write every dataset of an article.

    progress: called after each layer
    returns: the manifest's passage
    raises: ReportError if a number is not finite
    """
    for name, make in makers(measured):
        files.write(name, make())
    if measured.prediction is not None:
        predicted.write(files, measured.prediction, lambda *_: None)
    write_attention(files, measured.measurement, progress)
    return described(measured)


def layer_updates(measurement: PassageMeasurement, layer: int) -> dict:
    """The table/1 dataset of the updates of one layer; ReportError as `updates.encode`."""
    raw = None
    if measurement.raw_magnitude is not None:
        raw = measurement.raw_magnitude[layer], measurement.raw_alignment[layer]
    return updates.encode(
        layer,
        measurement.magnitude[layer],
        measurement.alignment[layer],
        measurement.largest_targets[layer, :, :, 0],
        raw,
    )
