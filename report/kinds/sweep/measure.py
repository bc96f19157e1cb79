"""Articles that compare the habits of heads in many models, or in checkpoints of a training.

Only averages of each head are kept, a few kilobytes a model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from report import measures
from report.datasets.formats.sweep import FILE, about_bytes, encode
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs.passages import Passage, corpus
from report.measures import OwnMeasure, known, own_measures
from report.measuring.forecast import (
    MEASURING,
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

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics
    from report.models.load.load import LoadedModel
    from report.models.measure.repetition import Repetition
    from report.study.front_matter import FrontMatter


RANDOM = "Measuring random tokens"


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    corpus: Sequence[Passage]
    measures: Sequence[OwnMeasure] = ()
    """Measures of the publication's own."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    corpus: HeadStatistics
    repetition: Repetition
    """Random tokens said twice."""
    measures: Sequence[OwnMeasure] = ()
    """Of the publication's own."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The corpus that ships with the project."""
    return Inputs(corpus(), own_measures(wanted.measures or ()))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    texts = hashed([text.text for text in inputs.corpus])
    return {"corpus": texts, **measures.parts(inputs.measures, before)}


def words(inputs: Inputs) -> list[str]:
    """No options: every model reads the same."""
    return []


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over the corpus, and over random tokens said twice.

    returns: what was measured, and the manifest's corpus and sweep
    raises: ReportError if no text of the corpus fits into the model, or it cannot be measured
    """
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.measure.loss import mean_loss, predicts
    from report.models.measure.passage import measure_corpus
    from report.models.measure.repetition import SEQUENCES, repetition, span

    texts = _token_ids(loaded, inputs.corpus)
    loaded.announce_bytes([*chain.from_iterable(texts)], announce)
    sequences, times = 2 * SEQUENCES, 1 + predicts(loaded)  # each one is read for the loss, too
    what = f"{len(texts)} texts and {sequences} sequences of random tokens"
    tokens = sum(map(len, texts)) + sequences * (1 + 2 * span(loaded))
    passes = times * (len(texts) + sequences)
    name = loaded.identity["name"]
    logits = max(map(len, texts)) if predicts(loaded) else 0
    announce(reads(name, what, times * tokens, passes) + needs(loaded, tokens, logits=logits))
    taken = [*known(inputs.measures).values()]
    shape = loaded.measured_layers, loaded.structure[0].heads
    announce(writes(name, about_bytes(*shape, len(taken))))
    progress(RANDOM, 0, SEQUENCES)
    with enough_memory(f"measuring {max(map(len, texts))} tokens"):
        self_check.checked(loaded)
        will_take(progress, name, partial(_parts, loaded, texts, taken))
        repeated = repetition(loaded, lambda n, _: progress(RANDOM, n, SEQUENCES))
        statistics = measure_corpus(
            loaded, texts, lambda n, _: progress(MEASURING, n, len(texts)), measures=taken
        )
        loss = mean_loss(loaded.model, texts) if predicts(loaded) else None
    return Measured(statistics, repeated, inputs.measures), {
        "corpus": {
            "texts": len(texts),
            "tokens": sum(map(len, texts)),
            "left_out": len(inputs.corpus) - len(texts),
        },
        "sweep": {
            "sequences": repeated.sequences,
            "length": repeated.length,
            "losses": {"texts": _mean_and_error(loss)}
            | {
                name: _mean_and_error(getattr(repeated, f"loss_{name}"))
                for name in ("first", "second", "unrepeated")
            },
            "recipe": _recipe(loaded.folder),
        },
    }


def _parts(loaded, texts, taken):
    """What is to be measured, by a text of middling length; to write it takes no time."""
    from report.models.measure.loss import mean_loss, predicts
    from report.models.measure.passage import measure_corpus, reads_layer_by_layer

    if reads_layer_by_layer(loaded):
        return  # a text takes as long as all, so nothing is known before
    yield Part(RANDOM)
    yield Part(WRITING, 0.0)
    text = sorted(texts, key=len)[len(texts) // 2]
    times = sum(map(len, texts)) / len(text)
    each = timed(lambda: measure_corpus(loaded, [text], measures=taken))
    yield Part(MEASURING, times * each, steps=[*map(len, texts)])
    if predicts(loaded):
        yield Part("The loss", times * timed(lambda: mean_loss(loaded.model, [text])))


def _token_ids(loaded, texts):
    """Token ids of the texts that fit into a model; ReportError if none does."""
    from report.models.text.tokens import encode_texts

    encoded = encode_texts(loaded, [text.text for text in texts])
    if encoded.failed:
        raise ReportError(
            f"a text of the corpus cannot be read: {next(iter(encoded.failed.values()))}; mend it, "
            "or take it out of the corpus"
        )
    if not encoded.token_ids:
        raise ReportError(
            "every text of the corpus is longer than the model takes, or has fewer than 2 tokens; "
            "the statistics over many texts need others, or a model with a larger context"
        )
    return list(encoded.token_ids.values())


def _mean_and_error(values):
    """{"mean", "error"} of values, or None if there are no values.

    The error is the standard error of the mean, None for a single value.
    """
    if values is None:
        return None
    values = [values] if isinstance(values, float) else values.tolist()
    mean = sum(values) / len(values)
    if len(values) < 2:
        return {"mean": round(mean, 4), "error": None}
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return {"mean": round(mean, 4), "error": round((variance / len(values)) ** 0.5, 4)}


def _recipe(folder):
    """The numbers of the training from the training.json beside the weights, or None."""
    try:
        recipe = json.loads((folder / "training.json").read_text("utf-8")).get("recipe")
    except (OSError, ValueError, AttributeError):
        return None
    return recipe if isinstance(recipe, dict) else None


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write what was measured of one model."""
    files.write(
        FILE, encode(measured.corpus, measured.repetition, known(measured.measures).values())
    )
    progress(1, 1)
