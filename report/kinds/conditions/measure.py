"""Articles that compare conditions: prompts as they are, and with one segment changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from report.datasets.formats import conditions as files_of
from report.datasets.formats.conditions import crossing, encode_received, over_edges
from report.datasets.write.folder import Folder, Step
from report.inputs import fillers
from report.inputs.conditions import FILLER, FRAME, Condition, Segment, question_prompt
from report.inputs.prompts import Prompts, prompts
from report.measuring.forecast import (
    MEASURING,
    WRITING,
    Part,
    needs,
    reads,
    size,
    will_take,
    writes,
)
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.inputs.specs import ConditionSpec
    from report.measurements.conditions import ConditionStatistics
    from report.models.load.load import LoadedModel
    from report.models.measure.answers import Asked
    from report.models.text.segments import SegmentedText
    from report.study.front_matter import FrontMatter

TIMES = 55
"""How often a filler is repeated unless a study says otherwise."""
HOW_TO_KEEP_APART = (
    "To have two tokens there, let a text end in a line break and begin with no white space."
)
WORDS = 4000
"""Most words of the vocabulary that random tokens are drawn from."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    prompts: Prompts
    specs: tuple[ConditionSpec, ...]
    """The conditions; the others are compared with the first."""
    frame: str = FRAME
    """What stands around each question."""
    chat: bool | str = False
    """Whether the prompts are put into the model's chat template; "available": if it has one."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into files."""

    conditions: Sequence[ConditionStatistics]
    """In the order of the study."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The prompts and their conditions; ReportError if the prompts cannot be read."""
    return Inputs(prompts(wanted.prompts), tuple(wanted.conditions), wanted.frame, wanted.chat)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    return {
        "prompts": hashed(asdict(inputs.prompts)),
        "conditions": [spec.model_dump(exclude_defaults=True) for spec in inputs.specs],
        **({"frame": inputs.frame} if inputs.frame != FRAME else {}),
        **({"chat": inputs.chat} if inputs.chat else {}),
    }


def words(inputs: Inputs) -> list[str]:
    """No options: the article names its prompts and conditions itself."""
    return []


def tokenized(
    loaded: LoadedModel, inputs: Inputs
) -> tuple[bool | str, list[list[Condition]], list[SegmentedText]]:
    """The result of `in_chat`, every question under every condition, and all of these, one after
    the other, as a model reads them, whose weights are not needed."""
    from report.models.text.segments import segmented_prompts

    chat = chat_of(loaded, inputs)
    questions = conditions(loaded, inputs, chat)
    every = [condition.segments for condition in chain.from_iterable(questions)]
    return chat, questions, segmented_prompts(loaded, every, chat)


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Run a model over every question of the prompts under every condition.

    returns: what was measured, and the manifest's prompts
    raises: ReportError if a filler of a wanted length cannot be found, or a prompt is too long
    """
    from report.models.load.memory import enough_memory
    from report.models.measure.conditions import measure_conditions

    chat, questions, read = tokenized(loaded, inputs)
    texts = [text.token_ids for text in read]
    loaded.announce_bytes([*chain.from_iterable(texts)], announce)
    name, number = loaded.identity["name"], len(questions)
    what = f"{count(number, 'prompt')} under {count(len(inputs.specs), 'condition')}"
    announce(
        reads(name, what, sum(map(len, texts)), len(texts)) + needs(loaded, sum(map(len, texts)))
    )
    say_over_edges(name, [spec.label or spec.name for spec in inputs.specs], read, announce)
    progress(MEASURING, 0, len(texts))

    def say_size(first):
        shape = first[0].received.mean.shape[1:3]
        written = size(lambda *head: [(encode_received(*head, first), 1)], *shape)
        announce(writes(name, written))
        parts = Part(MEASURING, steps=[*map(len, texts)]), Part(WRITING, written.seconds)
        will_take(progress, name, lambda: parts)

    with enough_memory(f"measuring prompts of {max(map(len, texts))} tokens"):
        statistics = measure_conditions(
            loaded, questions, lambda *n: progress(MEASURING, *n), say_size, chat
        )
    about = inputs.prompts
    facts = {key: getattr(about, key) for key in ("name", "title", "source", "licence", "system")}
    counts = {"texts": len(questions), "tokens": sum(map(len, texts))}
    return Measured(statistics), {
        "token_ids_sha256": hashed([list(ids) for ids in texts]),
        "prompts": facts | {"question": about.questions[0], "frame": inputs.frame} | counts,
    }


def say_over_edges(
    model: str,
    labels: Sequence[str],
    texts: Sequence[SegmentedText | Asked],
    announce: Announce,
) -> None:
    """Say which tokens lie over the edge of two segments, so that they count for neither.

    texts: every prompt under all conditions, one prompt after the other
    """
    number, found = len(labels), []
    for place, label in enumerate(labels):
        asked = texts[place::number]
        merged = [crossing(n, each) for n, text in enumerate(asked) for each in text.crossings]
        found.append((label, len(asked), merged, True))
    for sentence in over_edges(model, found):
        announce(f"{sentence} {HOW_TO_KEEP_APART}")


def chat_of(loaded: LoadedModel, inputs: Inputs) -> bool | str:
    """The result of `in_chat` for the prompts of a study."""
    prompt = question_prompt(inputs.prompts.system, inputs.prompts.questions[0], inputs.frame)
    return in_chat(loaded, inputs.chat, prompt, inputs.specs)


def in_chat(
    loaded: LoadedModel, chat: bool | str, prompt: Condition, specs: Sequence[ConditionSpec]
) -> bool | str:
    """Whether a model reads prompts in its chat template, as `chat_segments` takes it.

    Where a template takes off the white space that a filler is, all of every prompt is the message
    of the user: then the instruction stands before the filler.

    chat: as of `Inputs`; prompt: one of them, as it is
    """
    from report.models.text.chat import has_template
    from report.models.text.messages import ALONE, NothingLeftError, chat_segments

    if not chat or (chat == "available" and not has_template(loaded.tokenizer)):
        return False
    try:
        texts = new_texts(loaded, prompt, specs, True)
        every = [changed(prompt, spec, texts.get(spec.name)).segments for spec in specs]
        chat_segments(loaded.tokenizer, every)
    except NothingLeftError:
        return ALONE
    return True


def conditions(
    loaded: LoadedModel, inputs: Inputs, chat: bool | str = False
) -> list[list[Condition]]:
    """Every question under every condition.

    chat: the result of `in_chat`

    The new segments are made for the first question, and are the same for all questions.
    raises: ReportError if a segment of a wanted number of tokens cannot be found
    """
    system, questions = inputs.prompts.system, inputs.prompts.questions
    plain = [question_prompt(system, question, inputs.frame) for question in questions]
    new = new_texts(loaded, plain[0], inputs.specs, chat)
    return [
        [changed(prompt, spec, new.get(spec.name)) for spec in inputs.specs] for prompt in plain
    ]


def changed(prompt: Condition, spec: ConditionSpec, text: str | None) -> Condition:
    """A prompt under a condition; text: of the new segment, if the condition has one."""
    names = {"name": spec.name, "label": spec.label or spec.name}
    if spec.before:
        return prompt.inserted(Segment(FILLER, text), spec.before, **names)
    if spec.replace:
        return prompt.replaced(Segment(spec.replace, text), **names)
    if spec.remove:
        return prompt.without(spec.remove, **names)
    return replace(prompt, **names)


def new_texts(
    loaded: LoadedModel, prompt: Condition, specs: Sequence[ConditionSpec], chat: bool | str
) -> dict[str, str]:
    """Name of a condition -> text of its new segment, of a wanted length in that prompt.

    chat: the result of `in_chat`
    raises: ReportError if a segment of a wanted number of tokens cannot be found
    """
    adding = [spec for spec in specs if spec.before or spec.replace]
    texts, lengths = {}, {}
    for spec in sorted(adding, key=lambda spec: spec.like is not None):  # `like` needs a length
        count = _counting(loaded, prompt, spec, chat)
        text = _text(loaded, spec, count, lengths.get(spec.like, spec.tokens))
        texts[spec.name] = text if spec.kind == "text" else f"{text}\n"
        lengths[spec.name] = count(text)
    return texts


def _counting(loaded, prompt, spec, chat):
    """A function from a text to its number of tokens as the new segment of a prompt."""
    from report.models.text.messages import replaceable
    from report.models.text.segments import segmented

    # a candidate may be longer than the model's context
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})
    name = spec.replace or FILLER

    def segments(text):
        return changed(prompt, spec, text).segments

    placed = replaceable(loaded.tokenizer, segments, name, chat) if chat else segments

    def count(text):
        line = text if spec.kind == "text" else f"{text}\n"
        return len(segmented(unlimited, placed(line), bool(chat)).span(name))

    return count


def _text(loaded, spec, count, tokens):
    """The text of a new segment, without the end of its line.

    tokens: how many it has to have, or None
    """
    from report.models.text.segments import ordinary_tokens

    if spec.kind == "text":
        return spec.text
    if spec.kind == "sentence":
        return fillers.sentence(count, tokens, spec.seed)
    if spec.kind == "random tokens":
        drawn = ordinary_tokens(loaded.tokenizer, WORDS, spec.seed)
        return fillers.random_words(count, tokens, drawn, spec.seed)
    string = spec.text or "/"
    if tokens:
        return fillers.repeated_tokens(count, tokens, string)
    return fillers.repeated_apart(count, string, spec.times or TIMES)


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write every dataset of a study of conditions.

    progress: called after each layer
    raises: ReportError if a number is not finite
    """
    statistics = measured.conditions
    layers, heads = statistics[0].received.mean.shape[1:3]
    files.write("conditions.json", files_of.encode_texts(statistics))
    files.write("effects.json", files_of.encode_effects(statistics))
    for layer in range(layers):
        for head in range(heads):
            name = f"received/{layer}/{head}.json"
            files.write(name, files_of.encode_received(layer, head, statistics))
        progress(layer + 1, layers)
