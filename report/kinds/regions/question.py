"""An article about the regions of a text, such as its sentences, and what heads give to each."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from report.kinds.question import Question


class Pattern(BaseModel):
    """What a regular expression matches: `{pattern: "Step \\\\d+"}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str = Field(min_length=1, max_length=200)
    """A regular expression of Python's package `regex`. A match is a region, and so is what lies
    between two; a match of no characters only cuts."""


def _name_or_pattern(value):
    return "pattern" if isinstance(value, dict | Pattern) else "name"


class RegionsSpec(BaseModel):
    """How a text is cut: `sentences`, or `{by: sentences, answer: 2}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: Annotated[
        Annotated[Literal["words", "sentences", "lines", "paragraphs"], Tag("name")]
        | Annotated[Pattern, Tag("pattern")],
        Discriminator(_name_or_pattern),
    ]
    """What a region is: a word or a sign; a sentence; a line; what lies between blank lines; or
    what a pattern matches."""
    answer: int = Field(1, ge=1)
    """How many of the last regions are the answer, whose loss is measured without heads."""


def _spelt_out(value):
    """The way to cut alone stands for a mapping."""
    short = isinstance(value, str) or (isinstance(value, dict) and [*value] == ["pattern"])
    return {"by": value} if short else value


class Keys(BaseModel):
    """What an article about regions may say."""

    regions: Annotated[RegionsSpec | None, BeforeValidator(_spelt_out)] = None
    """Cut the `passage` into regions, and measure what heads give to each: `words`, `sentences`,
    `lines`, `paragraphs` or `{pattern: …}`."""


def _require(front):
    if front.layers not in (None, "all"):
        raise ValueError("says `layers`; regions need all of them, so leave it out")
    if front.chat:
        raise ValueError("says `chat`; a text is cut into regions as it is, so leave it out")


QUESTION = Question(
    place=7,
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
    },
    inside={"regions": (RegionsSpec, "regions")},
)
