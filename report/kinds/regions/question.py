"""An article about the regions of a text, such as its sentences, and what heads give to each."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from report.inputs.needles import Needle, NeedlesSpec
from report.inputs.specs import Spec
from report.kinds.question import Question


class RegionsSpec(Spec):
    """How a text is cut: `sentences`, or `{pattern: 'Step [0-9]+'}`, or
    `{by: sentences, answer: 2}`."""

    by: Literal["words", "sentences", "lines", "paragraphs", "roles", "cells"] | None = None
    """What a region is: a word or a sign; a sentence; a line; what lies between blank lines; what
    one speaker says, in a text of lines such as `user: …`; or a cell of a table in the text."""
    pattern: str | None = Field(None, min_length=1, max_length=200)
    """A regular expression of Python's package `regex`, in place of `by`. A match is a region, and
    so is what lies between two; a match of no characters only cuts."""
    marks: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field([])
    """Parts of the text, as they stand there, in place of `by`. One is a region, wherever it
    stands, and so is what lies between two."""
    answer: int = Field(1, ge=1)
    """How many of the last regions are the answer, whose loss is measured without heads."""

    @property
    def cut(self) -> dict[str, str | list[str]]:
        """How a text is cut, as options of `report.models.text.regions.beginnings`."""
        return self.model_dump(include={"by", "pattern", "marks"}, exclude_defaults=True)

    @model_validator(mode="after")
    def _either(self):
        if sum(map(bool, (self.by, self.pattern, self.marks))) != 1:
            raise ValueError("must say one of `by`, `pattern` and `marks`")
        if not all(mark.strip() for mark in self.marks):
            raise ValueError("`marks` has one of white space; write a part of the text")
        return self


def _spelt_out(value):
    """The way to cut alone stands for a mapping."""
    if not isinstance(value, str | dict | RegionsSpec | None):
        raise ValueError("is no way to cut a text; say `sentences`, or `{pattern: …}`")
    return {"by": value} if isinstance(value, str) else value


class Keys(Spec):
    """What an article about regions may say."""

    regions: Annotated[RegionsSpec | None, BeforeValidator(_spelt_out)] = None
    """Cut the `passage` into regions, and measure what heads give to each: `words`, `sentences`,
    `lines`, `paragraphs`, `roles`, `cells`, `{pattern: …}` or `{marks: […]}`."""
    needle: NeedlesSpec | None = None
    """Hide facts in a text of some `lengths`, at ten depths of it, and see which heads find them:
    `{lengths: [512, 2000], facts: [{fact: …, question: …, answer: …}, …]}`."""


def _require(front):
    if front.chat and front.regions.by != "roles":
        raise ValueError("says `chat`, which needs turns: say `regions: roles`, or leave it out")


QUESTION = Question(
    place=8,
    called="regions",
    keys=Keys,
    blamed="passage",
    borrowed=("passage",),
    implied=True,
    several=False,
    whole=True,
    not_for=("models", "passage", "layers", "heads", "chat"),
    require=_require,
    changes={
        "passage": "the passage changed",
        "regions": "how it is cut changed",
        "corpus": "the corpus changed",
        "needle": "the hidden facts changed",
    },
    inside={
        "regions": (RegionsSpec, "regions"),
        "needle": (NeedlesSpec, "needle"),
        "facts": (Needle, "facts"),
    },
)
