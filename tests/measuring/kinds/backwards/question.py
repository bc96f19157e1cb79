"""An article about a passage that a model reads forwards, and backwards."""

from pydantic import BaseModel

from report.kinds.question import Question


class Keys(BaseModel):
    """What an article about both ways may say."""

    backwards: bool = False
    """Read the passage from its end as well, and compare how well each token is predicted."""


QUESTION = Question(
    place=5,
    called="a passage both ways",
    keys=Keys,
    blamed="passage",
    borrowed=("passage",),
    implied=True,
    several=False,
    whole=True,
    not_for=("models", "layers", "heads", "chat"),
    changes={"passage": "the passage changed"},
)
