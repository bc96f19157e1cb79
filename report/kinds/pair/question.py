"""An article about two prompts that differ in a word, and what heads make of it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from report.inputs.pairs import TwoPrompts, require_filled
from report.kinds.question import Question

Word = Annotated[str, Field(min_length=1, max_length=200)]


class PairSpec(BaseModel):
    """Two prompts of as many tokens:
    `{clean: "Paris is in", corrupted: "Rome is in", answer: " France", other: " Italy"}`; or a set
    of such pairs, with places such as {city} that `fills` has words for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    clean: str = Field(min_length=1)
    """The prompt that `answer` goes on from."""
    corrupted: str = Field(min_length=1)
    """The same with something exchanged, of as many tokens."""
    answer: str = Field(min_length=1)
    """How the clean prompt goes on, with the space before it. Of several tokens the first
    counts."""
    other: str = Field(min_length=1)
    """Another way to go on, such as that of the corrupted prompt; its logit is subtracted."""
    fills: dict[str, list[Word]] | None = None
    """Name of a place -> the words that stand there, a pair each: `{city: [Paris, Oslo], town:
    [Rome, Bern]}`. They make a set of pairs; the n-th has the n-th word of every place."""

    @model_validator(mode="after")
    def _differs(self):
        for first, second in (("clean", "corrupted"), ("answer", "other")):
            if getattr(self, first) == getattr(self, second):
                raise ValueError(
                    f"says the same as `{first}` and as `{second}`; change one of them"
                )
        if self.fills is not None:
            pattern = TwoPrompts(self.clean, self.corrupted, self.answer, self.other)
            require_filled(pattern, self.fills)
        return self


class Keys(BaseModel):
    """What an article about two prompts may say."""

    pair: PairSpec | None = None
    """Two prompts that differ in a word, or a set of such pairs; what heads hand on is put from one
    prompt into the other."""


QUESTION = Question(
    place=6,
    called="a pair of prompts",
    keys=Keys,
    blamed="pair",
    implied=True,
    several=False,
    whole=True,
    not_for=("models", "passage", "layers", "heads", "chat"),
    changes={"pair": "the prompts changed", "corpus": "the corpus changed"},
    inside={"pair": (PairSpec, "a pair")},
)
