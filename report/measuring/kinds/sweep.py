"""Articles that compare the habits of heads in many models, or in checkpoints of a training.

Only what each head does on average is kept, a few kilobytes a model.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from report.datasets.write.sweep import write_sweep as write  # noqa: F401 (a kind has it)
from report.errors import ReportError
from report.inputs.passages import corpus
from report.measuring import key as keys


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    corpus: Sequence
    """Of `Passage`."""


@dataclass(frozen=True)
class Measured:
    """What `write_sweep` turns into a file."""

    corpus: object
    """`HeadStatistics` over the corpus."""
    repetition: object
    """`Repetition`, see report.models.measure.repetition: random tokens that are said twice."""


def inputs(wanted):
    """The corpus that ships with the project."""
    return Inputs(corpus())


def parts(inputs, before=None):
    """What the datasets depend on."""
    return {"corpus": keys.hashed([text.text for text in inputs.corpus])}


def words(inputs):
    """Options of a command: none, every model reads the same."""
    return []


def measure(loaded, inputs, progress, announce):
    """Run a model over the corpus, and over random tokens that are said twice.

    returns: (`Measured`, dict of the manifest's corpus and sweep)
    """
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.measure.loss import mean_loss, predicts
    from report.models.measure.passage import measure_corpus
    from report.models.measure.repetition import SEQUENCES, repetition
    from report.models.partial.model import announce_bytes

    texts = _token_ids(loaded, inputs.corpus)
    announce_bytes(loaded, [*chain.from_iterable(texts)], announce)
    total = len(texts) + SEQUENCES
    with enough_memory(f"measuring {max(map(len, texts))} tokens"):
        self_check.checked(loaded)
        statistics = measure_corpus(loaded, texts, lambda n, _: progress("Measuring", n, total))
        found = repetition(loaded, lambda n, _: progress("Measuring", len(texts) + n, total))
        loss = mean_loss(loaded.model, texts) if predicts(loaded) else None
    return Measured(statistics, found), {
        "corpus": {
            "texts": len(texts),
            "tokens": sum(map(len, texts)),
            "left_out": len(inputs.corpus) - len(texts),
        },
        "sweep": {
            "sequences": found.sequences,
            "length": found.length,
            "losses": {"texts": _mean_and_error(loss)}
            | {
                name: _mean_and_error(getattr(found, f"loss_{name}"))
                for name in ("first", "second", "unrepeated")
            },
            "recipe": _recipe(loaded.folder),
        },
    }


def _token_ids(loaded, texts):
    """Token ids of the texts that a model can take whole; ReportError if it can take none."""
    from report.models.text.tokens import encode_texts

    found = encode_texts(loaded, [text.text for text in texts])
    if found.failed:
        raise ReportError(
            f"a text of the corpus cannot be read: {next(iter(found.failed.values()))}"
        )
    if not found.token_ids:
        raise ReportError(
            "every text of the corpus is longer than the model takes, or has fewer than 2 tokens; "
            "the statistics over many texts need others, or a model with a larger context"
        )
    return list(found.token_ids.values())


def _mean_and_error(values):
    """{"mean", "error"} of values, the error the standard error of the mean and None of a single
    one; None where there are no values."""
    if values is None:
        return None
    values = [values] if isinstance(values, float) else values.tolist()
    mean = sum(values) / len(values)
    if len(values) < 2:
        return {"mean": round(mean, 4), "error": None}
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return {"mean": round(mean, 4), "error": round((variance / len(values)) ** 0.5, 4)}


def _recipe(folder):
    """The numbers of the training that a training.json beside the weights tells, else None."""
    try:
        found = json.loads((folder / "training.json").read_text("utf-8")).get("recipe")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, dict) else None
