"""An article about what differs between two models, head by head."""

from typing import Annotated

from pydantic import BaseModel, Field

from report.kinds.question import Question

NAMED_OTHERWISE = ("model", "models", "beside", "revisions", "label")
"""Keys that name models in other articles."""


class Keys(BaseModel):
    """What an article about two models may say."""

    difference: list[Annotated[str, Field(min_length=1)]] = []
    """The model that others are compared with, the reference, and then these others, at least one,
    over the texts of `corpus`: two steps of a training, a model and its fine-tune, a file and
    quantised ones. All read the same tokens and have the same shape. Of a reference on the hub, the
    commit must be named: owner/model@commit."""
    maps: Annotated[int, Field(ge=1)] | None = None
    """Of how many heads the attention over a short text is kept, those that moved most; all, unless
    datasets have to be small."""


def _models(values):
    """The models are those after the first."""
    named = values.get("difference")
    for key in NAMED_OTHERWISE if named else ():
        if key in values:
            raise ValueError(
                f"says `difference` and `{key}`; the models are those of `difference`, so leave "
                f"`{key}` out"
            )
    return {"models": named[1:]} if isinstance(named, list) else {}


def _require(front):
    if front.difference and len(front.difference) < 2:
        raise ValueError(
            "says `difference` with one model; name two or more, the first of which the others are "
            "compared with"
        )


QUESTION = Question(
    place=7,
    called="two models",
    keys=Keys,
    blamed="difference",
    borrowed=("corpus", "measures"),
    models=("difference",),
    implied=True,
    in_turn=True,
    whole=True,
    not_for=("model", "models", "label", "passage", "layers", "heads", "chat"),
    require=_require,
    implies=_models,
    changes={
        "difference": "the model that it is compared with changed",
        "corpus": "the corpus changed",
        "maps": "the number of heads whose attention is kept changed",
        "measures": "the publication's own measures changed",
    },
)
