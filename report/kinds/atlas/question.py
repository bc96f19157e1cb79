"""An article about what every head of a model does over many texts."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from report.kinds.question import Question


class Keys(BaseModel):
    """What an atlas of heads may say."""

    atlas: bool = False
    """Measure every head over the texts of `corpus`, over the same texts shuffled, and over random
    tokens said twice, to find heads by what they do."""
    effects: Annotated[int, Field(ge=0)] = 16
    """Of how many of these texts, spread evenly, it is measured besides what each head does to the
    next tokens, and what is lost without it; 0: of none. The model reads each of them again without
    each head."""
    examples: Annotated[
        bool, BeforeValidator(lambda given: False if given == "none" else given)
    ] = True
    """Show of each head the texts in which it is strongest, weaker ones, and the tokens that it
    looks at; `none` keeps numbers only."""
    composition: bool = False
    """How much each head reads of what heads in lower layers write, by the weights. It is measured
    only by `freeze --composition`, and shown where it was."""
    copying: bool = False
    """What each head writes for words that it reads, and whether that is a copy, by the weights. It
    is measured only by `freeze --copying`, and shown where it was."""
    successor: bool = False
    """How often each head turns a word of an ordered list into the next one, by the weights. It is
    measured only by `freeze --successor`, and shown where it was."""


QUESTION = Question(
    place=5,
    called="an atlas of heads",
    keys=Keys,
    blamed="corpus",
    borrowed=("corpus", "measures"),
    implied=True,
    in_turn=True,
    not_for=("passage", "heads", "chat"),
    changes={
        "corpus": "the corpus changed",
        "effects": "for how many texts effects are measured changed",
        "examples": "whether texts are shown changed",
        "measures": "the publication's own measures changed",
    },
    apart={
        "composition": "asks which heads compose; say `composition: true` in the front matter of "
        "an atlas",
        "copying": "asks what heads write for what they read; say `copying: true` in the front "
        "matter of an atlas",
        "successor": "asks which heads turn a word of a list into the next one; say "
        "`successor: true` in the front matter of an atlas",
    },
)
