"""An article about a prediction: what every part of a model does to it, text by text."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from report.inputs.specs import GeneratedSpec, set_or_spelt_out
from report.kinds.question import Question


class Keys(BaseModel):
    """What an article about a prediction may say."""

    generated: Annotated[GeneratedSpec | None, BeforeValidator(set_or_spelt_out)] = None
    """Sentences like the `prompts`, made from a few forms, over which effects are averaged. It
    takes long, so it is measured only by `freeze --generated`, and shown where it was."""


def _require(front):
    stated, listed = front.model_fields_set, isinstance(front.prompts, list)
    if ("prompts" in stated) == ("passage" in stated) or (front.prompts and not listed):
        raise ValueError(
            "says `kind: prediction`, which takes a list of `prompts`, or a `passage` of which "
            "every next token is predicted; say one of them"
        )


QUESTION = Question(
    place=4,
    called="predictions",
    keys=Keys,
    blamed="prompts",
    borrowed=("passage", "prompts"),
    several=False,
    whole=True,
    not_for=("models", "passage", "layers", "heads", "chat"),
    require=_require,
    inside={"generated": (GeneratedSpec, "generated sentences")},
    apart={
        "generated": "has generated sentences; say `generated: givers` in the front matter of one "
        "about a prediction"
    },
)
