"""An article that compares conditions: prompts as they are, and with one segment changed."""

from typing import Annotated

from pydantic import BaseModel, Discriminator, Tag, field_validator

from report.inputs.conditions import FRAME, Frame
from report.inputs.specs import AnswersSpec, ConditionSpec, PromptSpec, Shown, require_agreement
from report.kinds.question import Question


class Keys(BaseModel):
    """What an article about conditions may say."""

    prompts: Annotated[
        Annotated[str, Tag("name")] | Annotated[list[PromptSpec], Tag("prompts")],
        Discriminator(lambda value: "prompts" if isinstance(value, list) else "name"),
    ] = "arithmetic"
    """Name of a set of prompts that ships with the project, or an .md file; see `conditions`. Of a
    prediction: a list of sentences that break off, each with the `target` that is asked about."""
    conditions: list[ConditionSpec] = []
    """Variants of those prompts that are compared; makes this an article about conditions."""
    frame: Frame = FRAME
    """The text around each question, with {question} in it; `none`: the question alone."""
    noun: Shown | None = None
    """What figures call, after "the", what conditions add, such as manners; default: addition."""
    answers: AnswersSpec | None = None
    """Whether what conditions add helps the answer, on generated questions. It takes long, so it is
    measured only by `freeze --answers`, and shown where it was."""

    @field_validator("conditions")
    @classmethod
    def _agree(cls, conditions):
        require_agreement(conditions)
        return conditions


QUESTION = Question(
    place=2,
    called="conditions",
    keys=Keys,
    blamed="prompts",
    implied=True,
    not_for=("model", "label", "passage", "heads", "chat"),
    changes={
        "prompts": "the prompts changed",
        "frame": "what stands around the questions changed",
    },
    inside={
        "conditions": (ConditionSpec, "condition"),
        "prompts": (PromptSpec, "prompt"),
        "answers": (AnswersSpec, "answers"),
    },
    apart={
        "answers": "asks whether fillers help the answer; say `answers: {}` in the front matter of "
        "one that compares conditions"
    },
)
