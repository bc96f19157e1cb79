"""Facts that are hidden in a long text, and the questions that ask for them."""

from dataclasses import dataclass

from pydantic import Field, model_validator

from report.inputs.specs import Spec

DEPTHS = 10
"""Places in the text at which a fact stands, one at a time: after a twentieth of it, and then after
a tenth more each."""


class Needle(Spec):
    """A fact, and a question whose answer is a part of it."""

    fact: str = Field(min_length=1, max_length=500)
    """A sentence that is true nowhere else in the text."""
    question: str = Field(min_length=1, max_length=500)
    """What stands behind the text, up to where the answer begins."""
    answer: str = Field(min_length=1, max_length=200)
    """How it goes on, with the space that is before it; the model reads it and is asked how likely
    it is."""

    @model_validator(mode="after")
    def _in_fact(self):
        if not self.answer.strip() or self.answer.strip() not in self.fact:
            raise ValueError(
                f"the answer {self.answer!r} is no part of its fact; write it as it stands there"
            )
        return self


class NeedlesSpec(Spec):
    """Facts that are hidden in a text: `{lengths: [512, 2000], facts: [{fact: …, question: …,
    answer: …}, …]}`."""

    lengths: list[int] = Field(min_length=1, max_length=4)
    """Tokens of all that is read, about."""
    facts: list[Needle] = Field(min_length=2, max_length=8)
    """The heads that look at the first one are tried on the others."""

    @model_validator(mode="after")
    def _apart(self):
        if sorted({*self.lengths}) != list(self.lengths) or self.lengths[0] < LEAST:
            raise ValueError(f"`lengths` must grow, from {LEAST} tokens on")
        return self


LEAST = 256
"""Tokens of a text, so that a fact has other places."""


@dataclass(frozen=True)
class Filler:
    """The text in which facts are hidden."""

    text: str
    texts: int
    """How many short texts it is made of."""


def filler(texts: list[str]) -> Filler:
    """Some short texts, one after the other."""
    return Filler("\n\n".join(texts), len(texts))
