"""Conditions: variants of one prompt, made of named segments of which one or two differ.

A prompt is the texts of its segments joined with nothing between them, so a separator belongs to a
segment. The tokens of a segment are known only when the whole text is tokenised, see
`report.models.text.segments`.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from report.errors import ReportError

ADDED = "added"
"""Name of the segment of special tokens that a tokenizer puts around a text: reserved."""

TEMPLATE = "template"
"""Beginning of the names of a chat template's segments: reserved."""

BEGUN, ANSWER = "begun", "answer"
"""Names of the segments after a prompt, the beginning of an answer and the right one: reserved."""

FILLER = "filler"
"""Name of the segment that a condition adds to a prompt."""

QUESTION = "{question}"
"""Stands for the question in a frame."""

FRAME = f"Question: {QUESTION}\nAnswer:"
"""The text around a question, unless a study has another."""


def _alone_for_none(value):
    return QUESTION if value == "none" else value


def _with_question(frame):
    if frame.count(QUESTION) != 1:
        raise ValueError(
            f"must be a text with {QUESTION} in it once, such as {FRAME!r}, or none for the "
            "question alone"
        )
    return frame


Frame = Annotated[str, BeforeValidator(_alone_for_none), AfterValidator(_with_question)]


@dataclass(frozen=True)
class Segment:
    """A named part of a prompt, its white space included."""

    name: str
    text: str


@dataclass(frozen=True)
class Condition:
    """A variant of a prompt.

    raises: ReportError if two segments have one name or one has a reserved name, or without text
    """

    name: str
    """What data files call it, e.g. "filler"."""
    label: str
    """What a reader sees, e.g. "w/ filler"."""
    segments: tuple[Segment, ...]
    """In the order of the text."""

    def __post_init__(self):
        names = [segment.name for segment in self.segments]
        twice = sorted({name for name in names if names.count(name) > 1})
        reserved = {"", ADDED, BEGUN, ANSWER}
        taken = reserved & {*names} or any(name.startswith(TEMPLATE) for name in names)
        if twice or taken:
            reason = f"two segments are called '{twice[0]}'" if twice else f"got {names}"
            raise ReportError(
                f"condition '{self.name}': {reason}; give every segment a name of its own, "
                f"not empty, not '{ADDED}', '{BEGUN}' or '{ANSWER}', and not beginning with "
                f"'{TEMPLATE}'"
            )
        if not self.text.strip():
            raise ReportError(f"condition '{self.name}' has no text; write some into a segment")

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(segment.text for segment in self.segments)

    def without(self, segment: str, name: str, label: str) -> "Condition":
        """A condition without the segment of that name; ReportError if there is none."""
        place = self._place(segment)
        return Condition(name, label, self.segments[:place] + self.segments[place + 1 :])

    def replaced(self, segment: Segment, name: str, label: str) -> "Condition":
        """A condition with `segment` for the one of its name; ReportError if there is none."""
        place = self._place(segment.name)
        return Condition(
            name, label, (*self.segments[:place], segment, *self.segments[place + 1 :])
        )

    def inserted(self, segment: Segment, before: str, name: str, label: str) -> "Condition":
        """A condition with `segment` in front of `before`, a name; ReportError if there is none."""
        place = self._place(before)
        return Condition(name, label, (*self.segments[:place], segment, *self.segments[place:]))

    def _place(self, name):
        names = [segment.name for segment in self.segments]
        if name not in names:
            raise ReportError(
                f"condition '{self.name}' has no segment '{name}'; it has {', '.join(names)}"
            )
        return names.index(name)


def question_prompt(system: str, question: str, frame: str = FRAME) -> Condition:
    """The condition "none": a segment "system", one line, and a segment "question" in its frame.

    frame: a text with `QUESTION` in it
    """
    segment = Segment("question", frame.replace(QUESTION, question))
    return Condition("none", "none", (Segment("system", f"{system}\n"), segment))
