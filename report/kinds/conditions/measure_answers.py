"""Whether what conditions add to a prompt helps the answer: questions whose answers are known.

It belongs to an article about conditions, and is measured apart from it, since it takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from report.datasets.formats.answers import FILE, encode
from report.datasets.write.folder import Folder, Step
from report.errors import ReportError
from report.inputs.conditions import FRAME, Condition, question_prompt
from report.inputs.prompts import prompts
from report.inputs.questions import Question, questions
from report.kinds.conditions import measure as prompting
from report.measuring.forecast import MEASURING, WRITING, Part, needs, reads, will_take
from report.measuring.key import hashed
from report.measuring.kind import Announce, Progress
from report.text import count

if TYPE_CHECKING:
    from report.inputs.specs import AnswersSpec, ConditionSpec
    from report.models.load.load import LoadedModel
    from report.models.measure.answers import AnswerScores, Asked
    from report.study.front_matter import FrontMatter

TIMES = prompting.TIMES
"""Tokens of the filler whose attention is measured, or the length that is next to it."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    system: str
    """The instruction before every question."""
    questions: list[Question]
    specs: tuple[ConditionSpec, ...]
    """The conditions that add a segment before the question, without their lengths."""
    answers: AnswersSpec
    frame: str
    """What stands around each question."""
    chat: bool | str
    """As of `report.kinds.conditions.measure.Inputs`."""


@dataclass(frozen=True)
class Cell:
    """The questions under one condition with a filler of one length."""

    name: str
    """Of the condition; "none" for the prompt as it is."""
    label: str
    tokens: int
    """Of the filler; 0 for none."""
    scores: AnswerScores
    shares: Sequence[float] | None
    """Of every question, what its answer gives to the filler; None where it was not measured."""


@dataclass(frozen=True)
class Measured:
    """What `write` turns into a file."""

    questions: list[Question]
    cells: list[Cell]
    """The first is the prompt as it is."""


def inputs(wanted: FrontMatter) -> Inputs:
    """The questions and the conditions.

    raises: ReportError if the prompts cannot be read, or no condition can have several lengths
    """
    specs = tuple(
        spec for spec in wanted.conditions if spec.before == "question" and spec.kind != "text"
    )
    if not specs:
        raise ReportError(
            "`answers` asks about conditions that add a filler before the question, and there is "
            "none; add one with `before: question`"
        )
    spec = wanted.answers
    asked = questions(spec.questions, spec.seed)
    return Inputs(prompts(wanted.prompts).system, asked, specs, spec, wanted.frame, wanted.chat)


def parts(inputs: Inputs, before: dict | None = None) -> dict:
    """What the datasets depend on."""
    asked = [[question.kind, question.text, question.answer] for question in inputs.questions]
    unsized = {"label", "times", "tokens", "like"}
    return {
        "prompts": hashed([inputs.system, asked]),
        "lengths": inputs.answers.lengths,
        "conditions": [
            spec.model_dump(exclude_defaults=True, exclude=unsized) for spec in inputs.specs
        ],
        **({"frame": inputs.frame} if inputs.frame != FRAME else {}),
        **({"chat": inputs.chat} if inputs.chat else {}),
    }


def words(inputs: Inputs) -> list[str]:
    """The option of `freeze` that measures it."""
    return ["--answers"]


def measure(
    loaded: LoadedModel, inputs: Inputs, progress: Progress, announce: Announce
) -> tuple[Measured, dict]:
    """Ask a model every question under every condition, for every length of what it adds.

    returns: what was measured, and the manifest's answers
    raises: ReportError if the model answers nothing, or a filler of a length cannot be found
    """
    from report.models.attention import self_check
    from report.models.load.memory import enough_memory
    from report.models.measure.answers import answer_scores, filler_shares, require_answers

    require_answers(loaded)
    chat = chat_of(loaded, inputs)
    asked = asked_of(loaded, inputs, chat)
    attended = _attended(inputs)
    name, texts = loaded.identity["name"], list(chain.from_iterable(asked.values()))
    total = len(texts) + len(asked[attended])
    what = f"{count(len(inputs.questions), 'question')} under {count(len(asked), 'condition')}"
    tokens = sum(len(text.token_ids) for text in texts)
    announce(reads(name, what, tokens, total) + needs(loaded))
    labels = {spec.name: spec.label or spec.name for spec in inputs.specs}
    said = [f"{labels.get(condition, condition)} ({length})" for condition, length in asked]
    by_question = chain.from_iterable(zip(*asked.values(), strict=True))
    prompting.say_over_edges(name, said, list(by_question), announce)
    lengths = [len(text.token_ids) for text in texts]
    lengths += [len(text.token_ids) for text in asked[attended]]
    progress(MEASURING, 0, total)
    will_take(progress, name, lambda: [Part(MEASURING, steps=lengths), Part(WRITING, 0.0)])
    cells, done = [], 0
    with enough_memory(f"measuring prompts of {max(len(text.token_ids) for text in texts)} tokens"):
        self_check.checked(loaded)
        for (condition, length), prompts_ in asked.items():
            scores, shares = answer_scores(loaded, prompts_), None
            done += len(prompts_)
            progress(MEASURING, done, total)
            if (condition, length) == attended:
                shares = filler_shares(
                    loaded, prompts_, lambda n, _, done=done: progress(MEASURING, done + n, total)
                )
                done += len(prompts_)
            label = labels.get(condition, condition)
            cells.append(Cell(condition, label, length, scores, shares))
    return Measured(inputs.questions, cells), {
        "token_ids_sha256": hashed([text.token_ids for text in texts]),
        "answers": _about(inputs, cells, asked, chat, tokens),
    }


def _about(inputs, cells, asked, chat, tokens):
    """The manifest's answers."""
    from report.models.measure.answers import BEGINNING

    return {
        "system": inputs.system,
        "begun": BEGINNING,
        "chat": bool(chat),
        "seed": inputs.answers.seed,
        "questions": len(inputs.questions),
        "tokens": tokens,
        "cells": [
            {
                "name": cell.name,
                "label": cell.label,
                "tokens": cell.tokens,
                "shares": cell.shares is not None,
            }
            for cell in cells
        ],
    }


def chat_of(loaded: LoadedModel, inputs: Inputs) -> bool | str:
    """The result of `conditions.in_chat` for the questions."""
    prompt = question_prompt(inputs.system, inputs.questions[0].text, inputs.frame)
    shortest = [_sized(spec, inputs.answers.lengths[0]) for spec in inputs.specs]
    return prompting.in_chat(loaded, inputs.chat, prompt, shortest)


def _sized(spec, length):
    """A condition with a filler of so many tokens."""
    return spec.model_copy(update={"tokens": length, "times": None, "like": None})


def asked_of(
    loaded: LoadedModel, inputs: Inputs, chat: bool | str
) -> dict[tuple[str, int], list[Asked]]:
    """All questions as tokens: (condition, tokens of its filler) -> one a question.

    chat: the result of `chat_of`
    raises: ReportError if a filler of a wanted number of tokens cannot be found
    """
    from report.models.measure.answers import asked

    plain = [
        question_prompt(inputs.system, question.text, inputs.frame) for question in inputs.questions
    ]
    sized = [_sized(spec, length) for spec in inputs.specs for length in inputs.answers.lengths]
    every: dict[tuple[str, int], list[Condition]] = {("none", 0): plain}
    for spec in sized:
        text = prompting.new_texts(loaded, plain[0], [spec], chat)[spec.name]
        every[spec.name, spec.tokens] = [prompting.changed(prompt, spec, text) for prompt in plain]
    right = [question.answer for question in inputs.questions] * len(every)
    texts = iter(asked(loaded, list(chain.from_iterable(every.values())), right, chat))
    return {cell: list(islice(texts, len(plain))) for cell in every}


def _attended(inputs):
    """The condition and the length whose attention is measured."""
    nearest = min(inputs.answers.lengths, key=lambda length: abs(length - TIMES))
    return inputs.specs[0].name, nearest


def write(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the answers of one model."""
    files.write(FILE, encode(measured.questions, measured.cells))
    progress(1, 1)
