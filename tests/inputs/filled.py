"""A prompt with a filler, as a study of conditions makes it."""

from report.inputs.conditions import FILLER, Condition, Segment


def with_filler(prompt: Condition, filler: str, name: str, label: str) -> Condition:
    """The prompt with `filler` on a line of its own before the question."""
    return prompt.inserted(Segment(FILLER, f"{filler}\n"), "question", name, label)
