"""What parts of a model do to its answers over many generated sentences, in means.

It belongs to an article about a prediction, and is measured apart from it, since it takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count as numbers
from typing import TYPE_CHECKING

from report.datasets.write.generated import write_generated
from report.inputs import generated
from report.inputs.generated import Generated
from report.inputs.passages import corpus
from report.measuring.forecast import reads
from report.measuring.key import hashed
from report.measuring.kinds import Announce, Progress
from report.measuring.kinds.prediction import MEANS_OF, replacements
from report.text import count

if TYPE_CHECKING:
    from report.effects.generated import OfTexts, Text
    from report.inputs.specs import GeneratedSpec
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

write = write_generated

BEFORE = "They met"
"""Before a word that is tried, so that it is met inside a sentence."""


@dataclass(frozen=True)
class Inputs:
    """What is read. The sentences are made when the model's tokens are known."""

    spec: GeneratedSpec
    corpus: Sequence[str]
    """Over whose tokens heads' contexts are averaged."""


@dataclass(frozen=True)
class Measured:
    """What `write_generated` turns into a file."""

    sentences: Sequence[Generated]
    told: OfTexts


def inputs(wanted: FrontMatter) -> Inputs:
    """What is generated; ReportError for a set that there is not."""
    generated.require_set(wanted.generated.set)
    return Inputs(wanted.generated, [text.text for text in corpus()[:MEANS_OF]])


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    words = [generated.NAMES, generated.PLACES, generated.THINGS, generated.FORMS]
    return {
        "prompts": hashed([inputs.spec.model_dump(), words]),
        "corpus": hashed(list(inputs.corpus)),
    }


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--generated"]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over every sentence, and over some of them again without each head.

    returns: what was measured, and the manifest's generated
    raises: ReportError if the model knows too few names, or its parts cannot be told apart
    """
    from report.effects.generated import measure_texts
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    spec = inputs.spec
    known = known_words(loaded)
    made = generated.sentences(spec.number, spec.seed, known)
    texts = texts_of(loaded, made)
    ablated = min(spec.number, spec.ablated or spec.number)
    tokens = sum(len(text.token_ids) for text in texts)
    passes = 3 * ablated * loaded.measured_layers * loaded.structure[0].heads
    what = f"{count(len(texts), 'sentence')}, and {ablated} of them three times without each head"
    announce(reads(loaded.identity["name"], what, tokens * passes // len(texts), passes))
    done, total = numbers(1), len(texts) + ablated
    progress("Measuring", 0, total)
    with enough_memory("measuring short sentences"):
        self_check.checked(loaded)
        replaced, about = replacements(loaded, inputs.corpus)
        told = measure_texts(
            loaded, texts, replaced, ablated, lambda: progress("Measuring", next(done), total)
        )
    return Measured(made, told), {
        "token_ids_sha256": hashed([list(text.token_ids) for text in texts]),
        "generated": {
            "set": spec.set,
            "seed": spec.seed,
            "sentences": len(texts),
            "tokens": tokens,
            "ablated": {kind: len(drops) for kind, drops in told.drops.items()},
            "replaced": about,
            "words": known,
        },
    }


def known_words(loaded: LoadedModel) -> dict[str, list[str]]:
    """The words of the sentences that are one token of the model each.

    raises: ReportError if there are too few
    """
    from report.models.text.tokens import tokenize

    before = len(tokenize(loaded, BEFORE).token_ids)

    def fits(word):
        return len(tokenize(loaded, f"{BEFORE} {word}").token_ids) == before + 1

    return generated.known_words(fits, loaded.identity["name"])


def texts_of(loaded: LoadedModel, made: Sequence[Generated]) -> list[Text]:
    """The sentences as tokens, and what is asked about each."""
    from report.effects.generated import Text
    from report.inputs.predictions import Prompt
    from report.measuring.kinds.prediction import asked_of
    from report.models.text.tokens import encode

    return [
        Text(
            encode(loaded, one.text),
            asked_of(loaded, Prompt(one.text, one.target, one.other)),
            encode(loaded, one.resampled),
        )
        for one in made
    ]
