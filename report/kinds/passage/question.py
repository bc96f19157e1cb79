"""An article about one passage, or about the same passage in several models."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag

from report.inputs.specs import CorpusSpec, PassageSpec, named_or_spelt_out, row_or_name
from report.kinds.question import Question
from report.models.find.known import number_of_heads


class Keys(BaseModel):
    """What an article about a passage may say."""

    passage: Annotated[
        Annotated[str, Field(min_length=1), Tag("name")] | Annotated[PassageSpec, Tag("row")],
        Discriminator(row_or_name),
    ] = "the-lamp-on-the-hill"
    """Name of a passage in `passages/` or of one that ships, path of a text file, a text of several
    lines, or a text or a row of data spelt out. Lines below `|` or `>` are a text."""
    corpus: Annotated[CorpusSpec | None, BeforeValidator(named_or_spelt_out)] = None
    """Many texts for the statistics of heads: a file of them; default: the short texts that ship
    with the project."""
    predict: bool = False
    """Whether it is measured besides what heads do to the next tokens of the passage, and what is
    lost without each. The model reads the passage again without each head, so this is left out, and
    said, for models with more than 500 million parameters and passages of more than 512 tokens;
    and where only some `heads` are kept."""
    heads: Annotated[int | None, BeforeValidator(number_of_heads)] = None
    """The first heads of each layer to keep: a number, a range from 0, or all; default: all. The
    others work in the model as they do, but pages and datasets are without them."""
    measures: list[str] | None = None
    """Measures of the publication's own that are taken besides those that ship: names of files in
    its folder `measures/`; default: all of them."""


def _require(front):
    if front.regions and front.chat:
        raise ValueError("says `chat` and `regions`, which cut a text as it is; leave one out")
    if front.regions and "answer" in front.regions.model_fields_set:
        raise ValueError(
            "says `answer` of `regions`, which an article with `kind: passage` does not ask; leave "
            "out the answer, or the kind"
        )


QUESTION = Question(
    place=0,
    called="a passage",
    keys=Keys,
    borrowed=("regions",),
    blamed="passage",
    beside=True,
    in_turn=True,
    not_for=("models",),
    require=_require,
    changes={
        "passage": "the passage changed",
        "corpus": "the corpus changed",
        "measures": "the publication's own measures changed",
        "predict": "whether its predictions are measured changed",
        "regions": "how it is divided changed",
    },
    inside={"passage": (PassageSpec, "passage"), "corpus": (CorpusSpec, "corpus")},
)
