"""Articles about one passage: every head on every token of it, and statistics over a corpus."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from report.datasets.write.passage import write_passage as write  # noqa: F401 (a kind has it)
from report.errors import ReportError
from report.inputs import corpora, rows
from report.inputs.passages import SUFFIXES, corpus, passage
from report.measuring import key as keys
from report.measuring.kinds import SOMEWHERE


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    passage: object
    """`Passage`: name, title, source, licence, text."""
    corpus: object
    """`Corpus`, see report.inputs.corpora."""
    name: str
    """The passage's name or path, as the front matter gives it; "" if it is spelt out there."""
    chat: bool
    """Whether the passage is put into the model's chat template."""


@dataclass(frozen=True)
class OfPassage:
    """What was measured on the passage."""

    pieces: Sequence[dict]
    """One dict a token: id, text, perhaps bytes and special."""
    token_ids_sha256: str
    measurement: object
    """`PassageMeasurement`, see report.measurements.passage."""


@dataclass(frozen=True)
class Measured:
    """What `write_passage` turns into files."""

    passage: object
    """`Passage`: name, title, source, licence, text."""
    pieces: Sequence[dict]
    """One dict a token: id, text, perhaps bytes and special."""
    measurement: object
    """`PassageMeasurement`, see report.measurements.passage."""
    corpus: object
    """`HeadStatistics` over the corpus."""


def inputs(wanted):
    """The passage and the corpus; ReportError if the passage cannot be read."""
    texts = corpora.specified(wanted.corpus) if wanted.corpus else corpora.shipped(corpus())
    named = wanted.passage
    if not isinstance(named, str):
        return Inputs(rows.specified(named), texts, "", wanted.chat)
    if "\n" in named:  # of several lines, so no name, but the text itself
        return Inputs(rows.own_text(named), texts, "", wanted.chat)
    return Inputs(passage(named), texts, named, wanted.chat)


def parts(inputs, before=None):
    """What the datasets depend on; a corpus that is not here counts as it was before."""
    try:
        texts = inputs.corpus.sha256
    except ReportError:
        if before is None:
            raise
        texts = before["corpus"]
    return {
        "passage": keys.hashed(asdict(inputs.passage)),
        "corpus": texts,
        "chat": inputs.chat,
    }


def words(inputs):
    """Options of a command; of a path, the folders of this machine are left out."""
    name = inputs.name
    if name.lower().endswith(SUFFIXES):
        name = f"{SOMEWHERE}/{Path(name).name}"
    return [*(["--passage", name] if name else []), *["--chat"] * inputs.chat]


def measure_shard(loaded, inputs, piece, progress, announce):
    """Run a model over some texts of the corpus, and over the passage if the piece says so.

    piece: `Piece`, see report.measuring.pieces
    returns: (`OfPassage` or None, `Tally`)
    raises: ReportError if the passage cannot be measured; of the corpus, texts too long or too
        short for the model are left out, and the tally says which others failed
    """
    from report.measurements.tally import Tally
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.measure import passage as measure
    from report.models.partial.model import announce_bytes
    from report.models.text import tokens

    read = tokens.tokenize(loaded, inputs.passage.text, inputs.chat) if piece.article else None
    passage_ids = read.token_ids if read else None
    encoded = tokens.encode_texts(loaded, [text for _, text in piece.texts])
    index = [index for index, _ in piece.texts]
    places, failed = list(encoded.token_ids), {}
    ids = list(encoded.token_ids.values())
    if read:
        announce_bytes(loaded, sum(ids, passage_ids), announce)
    longest = max(map(len, [passage_ids or [], *ids]))
    with enough_memory(f"measuring {longest} tokens"):
        self_check.checked(loaded)
        measurement, statistics = measure.measure_batch(
            loaded, ids, passage_ids, lambda *n: progress("Measuring", *n), failed
        )
    tally = Tally(
        statistics,
        sum(len(each) for place, each in enumerate(ids) if place not in failed),
        encoded.left_out,
        {index[places[place]]: reason for place, reason in failed.items()}
        | {index[place]: reason for place, reason in encoded.failed.items()},
    )
    own = read and OfPassage(read.tokens, keys.hashed(passage_ids), measurement)
    return own, tally


def joined(inputs, own, tally):
    """What was measured on the passage and on all texts of the corpus, put together.

    returns: (`Measured`, dict of the manifest's corpus)
    raises: ReportError if no text of the corpus was measured
    """
    if not tally.statistics.texts:
        raise ReportError(
            "every text of the corpus is longer than the model takes, or has fewer than 2 tokens; "
            "the statistics over many texts need others, or a model with a larger context"
        )
    about = {"title": inputs.corpus.title} if inputs.corpus.title else {}
    return Measured(inputs.passage, own.pieces, own.measurement, tally.statistics), {
        "token_ids_sha256": own.token_ids_sha256,
        "corpus": about
        | {
            "texts": tally.statistics.texts,
            "tokens": tally.tokens,
            "left_out": tally.left_out,
        },
    }
