"""Texts whose next token is asked about: prompts that break off, or a passage."""

from collections.abc import Sequence
from dataclasses import dataclass

from report.inputs.passages import Passage
from report.inputs.specs import PromptSpec


@dataclass(frozen=True)
class Prompt:
    """A text, and what is asked at its last token."""

    text: str
    target: str | None = None
    """How the text goes on, with the space before it; None: every next token of the text is
    asked about, and nothing at the last."""
    other: str | None = None
    """Another way to go on, whose logit is subtracted; None: the mean over the vocabulary is."""


def prompts_of(specs: Sequence[PromptSpec]) -> list[Prompt]:
    """The prompts that front matter spells out."""
    return [Prompt(spec.text, spec.target, spec.other) for spec in specs]


def of_passage(passage: Passage) -> list[Prompt]:
    """A passage, every next token of which is asked about."""
    return [Prompt(passage.text.strip())]
