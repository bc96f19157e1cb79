"""What parts of a model do to its answers over many generated sentences, in means.

It belongs to an article about a prediction, and is measured apart from it, since it takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from report.datasets.formats.generated import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.inputs import generated
from report.inputs.generated import Generated
from report.inputs.passages import corpus
from report.kinds.prediction.measure import MEANS_OF, replacements
from report.measuring.forecast import MEASURING, WRITING, Part, needs, reads, timed, will_take
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.effects.generated import Text
    from report.inputs.specs import GeneratedSpec
    from report.measurements.effect_rows import EffectRows
    from report.measuring.kind import Piece
    from report.models.load.load import LoadedModel
    from report.study.front_matter import FrontMatter

AT_ONCE = 4
"""Sentences of a batch, at most. One whose heads are ablated takes as long as hundreds of texts."""

BEFORE = "They met"
"""Before a word that is tried, so that it is met inside a sentence."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of the sentences, which are made when the model's tokens are known.

    Iterating gives pairs (number, ""), in an order in which every part of them has its share of
    those whose heads are ablated, as these take most of the time.
    """

    number: int
    ablated: int
    """How many are ablated: the first ones."""
    title = ""

    @property
    def sha256(self) -> str:
        """Hash of what they are, beside all else that the sums over them depend on."""
        return hashed([self.number, self.ablated])

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[tuple[int, str]]:
        others = self.number - self.ablated
        places = {n: (n + 0.5) / self.ablated for n in range(self.ablated)}
        places |= {self.ablated + n: (n + 0.5) / others for n in range(others)}
        return ((n, "") for n in sorted(places, key=lambda n: (places[n], n)))

    def left_out(self, numbers: str) -> str:
        """What to do about sentences that cannot be measured; numbers: theirs, listed."""
        them = "no such sentences" if "," in numbers else "no such sentence"
        return f"Take another `seed` below `generated:`, which has {them}."


@dataclass(frozen=True)
class Inputs:
    """What is read. The sentences are made when the model's tokens are known."""

    spec: GeneratedSpec
    means_of: Sequence[str]
    """Texts over whose tokens heads' contexts are averaged."""

    @property
    def corpus(self) -> Numbers:
        """The sentences by their numbers, which may be measured in separate pieces."""
        number = self.spec.number
        return Numbers(number, min(number, self.spec.ablated or number))


@dataclass(frozen=True)
class Sentences:
    """The sentences of a model, and what the manifest says of them: the per-model part."""

    made: Sequence[Generated]
    facts: dict


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    sentences: Sequence[Generated]
    told: EffectRows


def inputs(wanted: FrontMatter) -> Inputs:
    """What is generated; ReportError for a set that there is not."""
    generated.require_set(wanted.generated.set)
    return Inputs(wanted.generated, tuple(text.text for text in corpus()[:MEANS_OF]))


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    words = [generated.NAMES, generated.PLACES, generated.THINGS, generated.FORMS]
    return {
        "prompts": hashed([inputs.spec.model_dump(), words]),
        "corpus": hashed(list(inputs.means_of)),
    }


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--generated"]


def measure_batch(
    loaded: LoadedModel, inputs: Inputs, piece: Piece, progress: Progress, announce: Announce
) -> tuple[Sentences | None, EffectRows]:
    """Run a model over the sentences of a piece, and over some of them again without each head.

    returns: the sentences, or None, and what each of those of the piece tells
    raises: ReportError if the model knows too few names, or its parts cannot be told apart
    """
    from report.effects.generated import measure_text
    from report.measurements.effect_rows import EffectRows
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory

    spec, ablated = inputs.spec, inputs.corpus.ablated
    known = known_words(loaded)
    made = generated.sentences(spec.number, spec.seed, known)
    own, numbers = None, [number for number, _ in piece.texts]
    texts = texts_of(loaded, [made[number] for number in numbers])
    progress(MEASURING, 0, len(texts))
    with enough_memory("measuring short sentences"):
        self_check.checked(loaded)
        replaced, about = replacements(loaded, inputs.means_of)
        if piece.per_model:
            ids = [text.token_ids for text in texts_of(loaded, made)]
            own = Sentences(made, _facts(inputs, ids, about, known))
            announce(_reads(loaded, inputs, own.facts["generated"]["tokens"]))
            of_all = partial(_parts, loaded, texts, replaced[0], ablated)
            will_take(progress, loaded.identity["name"], of_all)
        told = {
            number: measure_text(loaded, text, replaced if number < ablated else None)
            for number, text in zip(numbers, texts, strict=True)
        }
    progress(MEASURING, len(texts), len(texts))
    return own, EffectRows(told, sum(len(text.token_ids) for text in texts))


def joined(inputs: Inputs, own: Sentences, rows: EffectRows) -> tuple[Measured, dict]:
    """All sentences of a model with what each tells; and the manifest's generated."""
    return Measured(own.made, rows), own.facts


def tally_of(dataset: dict) -> EffectRows:
    """What a finished batch tells, as it was kept."""
    from report.measurements.effect_rows import EffectRows

    return EffectRows.of_json(dataset)


def _parts(loaded, texts, replacement, ablated):
    """What all sentences take: next to the ablations, the rest is little.

    texts: of the first piece, which may have none
    """
    from report.effects.ablation import sample_of

    if not texts:
        return
    text = texts[0]
    each = timed(*sample_of(loaded, text.token_ids, [text.asked], replacement))
    yield Part(MEASURING, 3 * ablated * each)
    yield Part(WRITING, 0.0)


def _reads(loaded, inputs, tokens):
    number, ablated = inputs.spec.number, inputs.corpus.ablated
    passes = 3 * ablated * loaded.measured_layers * loaded.structure[0].heads
    what = f"{count(number, 'sentence')}, and {ablated} of them three times without each head"
    said = reads(loaded.identity["name"], what, tokens * passes // number, passes)
    return said + needs(loaded)


def _facts(inputs, ids, about, known):
    """Entries of the manifest; ids: token ids of every sentence."""
    return {
        "token_ids_sha256": hashed([list(each) for each in ids]),
        "generated": {
            "set": inputs.spec.set,
            "seed": inputs.spec.seed,
            "sentences": len(ids),
            "tokens": sum(map(len, ids)),
            "ablated": dict.fromkeys(("zero", "mean", "resample"), inputs.corpus.ablated),
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
    from report.kinds.prediction.measure import asked_of
    from report.models.text.tokens import encode

    return [
        Text(
            encode(loaded, one.text),
            asked_of(loaded, Prompt(one.text, one.target, one.other)),
            encode(loaded, one.resampled),
        )
        for one in made
    ]


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the dataset of one model."""
    files.write(FILE, encode(measured.sentences, measured.told))
    progress(1, 1)
