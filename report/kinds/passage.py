"""Articles about one passage: every head on every token of it, and statistics over a corpus."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from report import key as keys
from report.datasets.write import write_datasets as write  # noqa: F401 (a kind has it)
from report.errors import ReportError
from report.kinds import SOMEWHERE
from report.passages import SUFFIXES, corpus, passage, rows


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    passage: object
    """`Passage`: name, title, source, licence, text."""
    corpus: Sequence
    """Of `Passage`."""
    name: str
    """The passage's name or path, as the front matter gives it; "" if it is spelt out there."""
    chat: bool
    """Whether the passage is put into the model's chat template."""


@dataclass(frozen=True)
class Measured:
    """What `write_datasets` turns into files."""

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
    named = wanted.passage
    if not isinstance(named, str):
        return Inputs(rows.specified(named), corpus(), "", wanted.chat)
    if "\n" in named:  # it is the text itself
        return Inputs(rows.own_text(named), corpus(), "", wanted.chat)
    return Inputs(passage(named), corpus(), named, wanted.chat)


def parts(inputs):
    """What the datasets depend on."""
    return {
        "passage": keys.hashed(asdict(inputs.passage)),
        "corpus": keys.hashed([text.text for text in inputs.corpus]),
        "chat": inputs.chat,
    }


def words(inputs):
    """Options of a command; of a path, the folders of this machine are left out."""
    name = inputs.name
    if name.lower().endswith(SUFFIXES):
        name = f"{SOMEWHERE}/{Path(name).name}"
    return [*(["--passage", name] if name else []), *["--chat"] * inputs.chat]


def measure(loaded, inputs, progress, announce):
    """Run a model over the passage and the corpus, of which texts too long for it are left out.

    returns: (`Measured`, dict of the manifest's corpus)
    """
    from report.models import measure, self_check, tokens
    from report.models.memory import enough_memory
    from report.models.partial import announce_bytes

    tokenized = tokens.tokenize(loaded, inputs.passage.text, inputs.chat)
    corpus_ids = _fitting(loaded, [one.text for one in inputs.corpus])
    announce_bytes(loaded, sum(corpus_ids, tokenized.token_ids), announce)
    with enough_memory(f"measuring {len(tokenized.token_ids)} tokens"):
        self_check.checked(loaded)
        measurement, statistics = measure.measure_all(
            loaded, tokenized.token_ids, corpus_ids, lambda *n: progress("Measuring", *n)
        )
    measured = Measured(inputs.passage, tokenized.pieces, measurement, statistics)
    return measured, {
        "token_ids_sha256": keys.hashed(tokenized.token_ids),
        "corpus": {
            "texts": len(corpus_ids),
            "tokens": sum(map(len, corpus_ids)),
            "left_out": len(inputs.corpus) - len(corpus_ids),
        },
    }


def _fitting(loaded, texts):
    """Token ids of the texts that a model can take whole; ReportError if it can take none."""
    from report.models.tokens import encode

    context = loaded.identity["context"]
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})
    found = [encode(unlimited, text) for text in texts]
    fitting = [ids for ids in found if context is None or len(ids) <= context]
    if not fitting:
        raise ReportError(
            f"every text of the corpus has more tokens than the {context} that the model takes; "
            "the statistics over many texts need a model with a larger context"
        )
    return fitting
