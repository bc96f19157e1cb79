"""Conditions: one prompt in variants, made of the same named segments but for one or two.

A prompt is its segments' texts, one after the other, with nothing between them; so what separates
two segments belongs to one of them. Which tokens a segment has is known only once the whole text
is tokenised, see `report.models.text.segments`.
"""

from dataclasses import dataclass

from report.errors import ReportError

ADDED = "added"
"""The segment of the tokens that a tokenizer puts around a text; no segment may be called so."""

FILLER = "filler"
"""The segment that a condition adds to a prompt."""


@dataclass(frozen=True)
class Segment:
    """A named part of a prompt, exactly as it stands there, white space around it included."""

    name: str
    text: str


@dataclass(frozen=True)
class Condition:
    """One variant of a prompt.

    name: what data files call it, e.g. "filler"; label: what a reader sees, e.g. "w/ filler"
    segments: tuple of Segment, in the order of the text
    """

    name: str
    label: str
    segments: tuple[Segment, ...]

    def __post_init__(self):
        """Refuse what could not be told apart or measured."""
        names = [segment.name for segment in self.segments]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or ADDED in names or "" in names:
            said = f"two segments are called '{twice[0]}'" if twice else f"got {names}"
            raise ReportError(
                f"condition '{self.name}': {said}; give every segment a name of its own, "
                f"not empty and not '{ADDED}'"
            )
        if not self.text.strip():
            raise ReportError(f"condition '{self.name}' has no text; give a segment some")

    @property
    def text(self):
        """The whole prompt."""
        return "".join(segment.text for segment in self.segments)

    def without(self, segment, name, label):
        """The condition that lacks the segment of that name."""
        place = self._place(segment)
        return Condition(name, label, self.segments[:place] + self.segments[place + 1 :])

    def replaced(self, segment, name, label):
        """The condition in which `segment` stands in for the one of the same name."""
        place = self._place(segment.name)
        return Condition(
            name, label, (*self.segments[:place], segment, *self.segments[place + 1 :])
        )

    def inserted(self, segment, before, name, label):
        """The condition in which `segment` stands before the one that is called `before`."""
        place = self._place(before)
        return Condition(name, label, (*self.segments[:place], segment, *self.segments[place:]))

    def _place(self, name):
        names = [segment.name for segment in self.segments]
        if name not in names:
            raise ReportError(
                f"condition '{self.name}' has no segment '{name}'; it has {', '.join(names)}"
            )
        return names.index(name)


def question_prompt(system, question, name="none", label="w/o filler"):
    """A system prompt on a line of its own, and a question that waits for its answer."""
    asked = Segment("question", f"Question: {question}\nAnswer:")
    return Condition(name, label, (Segment("system", f"{system}\n"), asked))


def with_filler(prompt, filler, name, label):
    """The prompt with `filler` (str) on a line of its own before the question.

    The line's end belongs to the segment "filler", so without it the prompt is what it was.
    """
    return prompt.inserted(Segment(FILLER, f"{filler}\n"), "question", name, label)
