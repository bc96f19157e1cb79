"""Two models over the same texts: every measure of every head in both, how far its attention moved,
and which way its update points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from report import measures
from report.datasets.formats import head_statistics
from report.datasets.formats.changes import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs import corpora
from report.inputs.passages import corpus
from report.kinds.difference.beside import APART, MAGNITUDE
from report.measures import OwnMeasure, known, own_measures
from report.measuring.forecast import needs, reads, writes
from report.measuring.key import files_of, known_model
from report.measuring.kind import Announce, Progress
from report.models.find import names
from report.models.find.names import Source

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

COLUMNS, BYTES = 4, 6
"""Of a measure in the table of changes, and of a number in it."""


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


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files: sums over each half of the texts, see
    `models.measure.difference.compare`."""

    halves: tuple[HeadStatistics, HeadStatistics]
    measures: Sequence[OwnMeasure] = ()


def inputs(wanted: FrontMatter) -> Inputs:
    """The texts and the first model; neither is read yet."""
    texts = corpora.specified(wanted.corpus) if wanted.corpus else corpora.shipped(corpus())
    like = ("dtype", "device", "trust_remote_code", "alibi_factor", "layer_by_layer")
    options = {name: getattr(wanted, name) for name in like}
    if wanted.tokenizer:
        options["tokenizer"] = wanted.tokenizer.model_dump()
    reference = Reference(wanted.difference[0], options)
    return Inputs(texts, reference, own_measures(wanted.measures or ()))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on; texts and a reference that are not on this machine count as
    unchanged."""
    try:
        texts = inputs.corpus.sha256
    except ReportError:
        if before is None:
            raise
        texts = before["corpus"]
    return {
        "corpus": texts,
        "difference": _identified(inputs.reference, (before or {}).get("difference")),
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
    allowed = inputs.corpus.origin and inputs.corpus.allow_local
    return ["--allow-local"] if allowed else []


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
    """Token ids of the texts that fit into both models, and how many are left out."""
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
    return first, len(texts) - len(both)


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
    ids, left_out = _token_ids(*pair, inputs)
    taken, longest = [*known(inputs.measures).values()], max(map(len, ids))
    _announce(pair, ids, len(taken), announce)
    progress("Measuring", 0, len(ids))
    with enough_memory(f"comparing two models over {longest} tokens"):
        sums = compare(*pair, ids, taken, lambda done, of: progress("Measuring", done, of))
        losses = [mean_loss(each.model, ids) if predicts(each) else None for each in pair]
    titled = {"title": inputs.corpus.title} if inputs.corpus.title else {}
    second = sum(halves(ids))
    return Measured(sums, inputs.measures), {
        "corpus": titled | {"texts": len(ids), "tokens": sum(map(len, ids)), "left_out": left_out},
        "difference": {
            "reference": recorded(reference, announce)["model"],
            "halves": [len(ids) - second, second],
            "losses": dict(zip(("reference", "model"), losses, strict=True)),
        },
    }


def _announce(pair, ids, taken, announce):
    """Say what each model will read, in how much memory, and how much is written."""
    from report.models.measure.loss import predicts

    longest = max(map(len, ids))
    for each in pair:
        each.announce_bytes([*chain.from_iterable(ids)], announce)
        passes = 1 + predicts(each)
        what = f"{len(ids)} texts" + ", each again for the loss" * (passes - 1)
        tokens, logits = passes * sum(map(len, ids)), longest * (passes - 1)
        sentence = reads(each.identity["name"], what, tokens, passes * len(ids))
        announce(sentence + needs(each, kept=longest, logits=logits))
    heads = pair[1].measured_layers * pair[1].structure[0].heads
    announce(writes(pair[1].identity["name"], heads * COLUMNS * BYTES * (taken + 5)))


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write a table for each number of a pair of heads, and one of all measures in both models."""
    first, second = measured.halves
    of_all = first.merge(second)
    for name, each in APART.items():
        if name in of_all.sums:
            table = head_statistics.encode(each, {"corpus": of_all})
            files.write(head_statistics.FILE.format(name), table)
    taken = [*known(measured.measures).values(), MAGNITUDE]
    files.write(FILE, encode(measured.halves, [each for each in taken if each.name in of_all.sums]))
    progress(1, 1)
