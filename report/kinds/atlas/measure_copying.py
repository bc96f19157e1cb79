"""What heads write for what they read, and how often that is a copy, from the weights of a model.

It belongs to an atlas, and is measured apart from it. The words are frequent in the texts that ship
with the program, whatever the article's own texts are, so that models can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from report.datasets.formats import head_writes
from report.datasets.formats.head_statistics import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.inputs import corpora
from report.kinds.atlas.beside import COPYING, SUPPRESSION
from report.kinds.atlas.measure import MANY_KINDS, Means, with_control
from report.measuring.kind import Announce, Progress

if TYPE_CHECKING:
    from report.measures import Measure
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

WORDS = 100
"""That each head reads, at most."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    corpus: corpora.Corpus
    examples: bool = True
    """Whether words are named."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    scores: dict[Measure, dict[str, Means]]
    """Measure -> "corpus" and "control" -> numbers."""
    writing: Any
    """What heads write, a `report.effects.copying.Copying`."""
    token_ids: Sequence[int]
    words: dict[int, dict[str, str]]
    """Token id -> its "text", and its "bytes" where that is not whole characters; empty if words
    are not named."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The texts that ship; nothing is read yet."""
    return Inputs(corpora.specified(MANY_KINDS), wanted.examples)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on besides the model."""
    named = {} if inputs.examples else {"examples": False}
    return {"corpus": inputs.corpus.sha256, **named}


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--copying"]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """What every head writes for some words, its scores, and their controls.

    returns: what was measured, and the manifest's copying
    raises: ReportError for a model with too few words, or whose heads show no weights
    """
    from report.effects.copying import TOP, copying
    from report.models.load.memory import enough_memory
    from report.models.text.frequent import frequent_words
    from report.models.text.vocabulary import words as spelt

    token_ids = frequent_words(loaded, [text for _, text in inputs.corpus], WORDS)
    layers, number = loaded.measured_layers, len(token_ids)
    announce(f"{loaded.identity['name']}: what its heads make of {number} words is compared.")
    with enough_memory("comparing what heads make of words"):
        progress("Measuring", 0, layers)
        writing = copying(loaded, token_ids, lambda done: progress("Measuring", done, layers))
    both = ((COPYING, writing.copies), (SUPPRESSION, writing.suppresses))
    scores = {measure: with_control(*hits) for measure, hits in both}
    named = {*token_ids, *np.unique([writing.gained, writing.lost]).tolist()}
    known = spelt(loaded, named) if inputs.examples else {}
    about = {"copying": {"words": number, "tokens": TOP}}
    return Measured(scores, writing, token_ids, known), about


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the datasets of one model."""
    for name, numbers in measured.scores.items():
        files.write(FILE.format(name.name), encode(name, numbers))
    if measured.words:
        dataset = head_writes.encode(measured.writing, measured.token_ids, measured.words)
        files.write(head_writes.FILE, dataset)
    progress(1, 1)
