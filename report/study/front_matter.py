"""The keys at the top of an article's template: which models read what, who wrote it and when."""

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from report.inputs.specs import (
    ClusterSpec,
    ConditionSpec,
    CorpusSpec,
    PassageSpec,
    kind_of,
    named_or_spelt_out,
    require_agreement,
)
from report.models.find.known import number_of_layers
from report.text import isolated, xml_text

FILES = ("model", "models", "passage", "corpus", "prompts")
"""Keys whose value may be a file or a folder, below the publication's own."""


READ_BY = {
    "passage": "passage",
    "corpus": "passage",
    "prompts": "conditions",
    "columns": "table",
    "rows": "table",
}
"""Key -> kind of article that alone reads it."""


INSIDE = {
    "conditions": (ConditionSpec, "condition"),
    "passage": (PassageSpec, "passage"),
    "corpus": (CorpusSpec, "corpus"),
    "cluster": (ClusterSpec, "cluster"),
}
"""Keys that have keys of their own -> those, and what they are of."""


Named = Annotated[str, Field(min_length=1)]


def _day(value):
    """Seconds since 1970 are no day that anybody writes."""
    if isinstance(value, date) or re.fullmatch(r"\d{4}-\d\d-\d\d", str(value), re.ASCII):
        return value
    raise ValueError("must be a day such as 2026-01-31")


def _shown(text):
    """What authors write as pages, feed and cards show it: none can hold control characters."""
    return isolated(xml_text(text))


Shown = Annotated[str, Field(min_length=1), AfterValidator(_shown)]


class FrontMatter(BaseModel):
    """The keys at the top of an article's template."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Shown
    date: Annotated[date, BeforeValidator(_day)]
    author: Shown
    summary: Shown
    tags: list[Annotated[str, AfterValidator(_shown)]] = []
    model: str = "falcon-8x8"
    """Name of an embedded model, a folder with a checkpoint, or owner/model on the hub, with
    `@revision` if not the recorded commit."""
    models: list[Named] = []
    """Several models, in place of one, for an article that compares them. An entry may name
    alternatives, "owner/model or embedded-model": the first that is on this machine is measured."""
    revisions: list[Named] = []
    """Revisions of `model` that are compared: on the hub, or folders inside the model's. With
    `models`, these come first."""
    passage: Annotated[
        Annotated[Named, Tag("name")] | Annotated[PassageSpec, Tag("row")], Discriminator(kind_of)
    ] = "the-lamp-on-the-hill"
    """Name of a passage that ships with the project, a text file, a text of several lines as it
    is, or a text or a row of data spelt out. In an article, lines below `|` or `>` are a text."""
    corpus: Annotated[CorpusSpec | None, BeforeValidator(named_or_spelt_out)] = None
    """Many texts for the statistics of heads: a file of them; default: the short texts that ship
    with the project."""
    prompts: str = "arithmetic"
    """Name of a set of prompts that ships with the project, or an .md file; see `conditions`."""
    conditions: list[ConditionSpec] = []
    """Variants of those prompts that are compared; makes it a study of conditions."""
    table: str | None = None
    """A data set inside vega_datasets to be read as a table, instead of a passage."""
    columns: list[str] = []
    """Of the table, those to be read, in order; default: all of them."""
    rows: int = Field(8, ge=2)
    """Of the table, how many of the first."""
    layers: Annotated[int | Literal["all"] | None, BeforeValidator(number_of_layers)] = None
    """The first layers to measure: a number, a range from 0, or all; default: the preset's."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What it is computed in, whatever the checkpoint is stored in."""
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    """Where it is computed; auto: CUDA where there is one."""
    trust_remote_code: str | None = None
    """The model's name, if code that its folder brings along may run."""
    alibi_factor: float = Field(1.0, ge=0, allow_inf_nan=False)
    """How often ALiBi counts; 2 recreates figures made through a bug of transformers."""
    chat: bool = False
    """Whether the passage is put into the model's chat template."""
    layer_by_layer: bool | None = None
    """Keep one layer's weights in memory at a time; default: if the model would not fit."""
    cluster: ClusterSpec = ClusterSpec()
    """What `measure --ray` asks for; it changes no number."""
    sweep: bool = False
    """Whether only the habits of heads are measured, to compare many models or checkpoints."""
    cover: str = "attention_map"
    """The figure whose picture stands for the article on the home page."""

    @field_validator("conditions")
    @classmethod
    def _agree(cls, conditions):
        require_agreement(conditions)
        return conditions

    @model_validator(mode="after")
    def _fits_together(self):
        said = self.model_fields_set
        if self.models and "model" in said and not self.revisions:
            raise ValueError("says `model` and `models`; say one of them")
        if self.revisions and "model" not in said:
            raise ValueError("`revisions` are those of one `model`; say which")
        if len(self.all_names) > len(set(self.all_names)):
            key = "revisions" if self.revisions else "models"
            raise ValueError(f"names one of its `{key}` twice; each is measured once")
        said_kinds = [kind for kind in KINDS if getattr(self, kind)]
        if len(said_kinds) > 1:
            raise ValueError(f"says `{said_kinds[0]}` and `{said_kinds[1]}`; say one of them")
        if self.kind == "table" and len(self.all_names) > 1:
            raise ValueError("says `table` and `models`; a table is read by one `model`")
        idle = [key for key, kind in READ_BY.items() if key in said and kind != self.kind]
        if idle:
            raise ValueError(
                f"says `{idle[0]}`, which an article about a {self.kind.rstrip('s')} does not read"
            )
        return self

    @property
    def all_names(self):
        """The names of the models as they are written, and the revisions."""
        return [*self.models, *self.revisions] or [self.model]

    @property
    def all_models(self):
        """The names of the models, one or more, by which they are found."""
        revisions = [f"{self.model}@{each}" for each in self.revisions]
        return [*self.models, *revisions] or [self.model]

    @property
    def labels(self):
        """What pages call each model, if not by its name: list of a revision or None."""
        return [*([None] * len(self.models)), *self.revisions] or [None]

    @property
    def kind(self):
        """What it is measured on: a module of `report.measuring.kinds`."""
        return _kind(self)


KINDS = ("conditions", "table", "sweep")
"""Kinds of article that a key of their name makes one; all others are about a passage."""


def _kind(front_matter):
    return next((kind for kind in KINDS if getattr(front_matter, kind)), "passage")
