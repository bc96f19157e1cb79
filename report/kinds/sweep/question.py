"""An article that compares the habits of heads in many models, or in checkpoints of a training."""

from pydantic import BaseModel

from report.kinds.question import Question


class Keys(BaseModel):
    """What an article about many models may say."""

    sweep: bool = False
    """Measure only averages of heads, to compare many models or checkpoints."""


QUESTION = Question(
    place=3,
    called="a sweep",
    keys=Keys,
    blamed="sweep",
    borrowed=("measures",),
    implied=True,
    not_for=("model", "label", "passage", "heads", "chat"),
)
