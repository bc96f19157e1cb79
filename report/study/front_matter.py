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

from report.inputs.conditions import FRAME, Frame
from report.inputs.specs import (
    AnswersSpec,
    ClusterSpec,
    ConditionSpec,
    CorpusSpec,
    Delimiter,
    GeneratedSpec,
    PassageSpec,
    PromptSpec,
    TokenizerSpec,
    named_or_spelt_out,
    require_agreement,
    require_lines,
    row_or_name,
    set_or_spelt_out,
)
from report.models.find.known import number_of_heads, number_of_layers
from report.text import isolated, xml_text

FILES = ("model", "models", "beside", "passage", "corpus", "prompts", "table")
"""Keys whose value may be a file or a folder inside the project."""

READ_BY = {
    "passage": ("passage", "prediction"),
    "corpus": ("passage",),
    "predict": ("passage",),
    "prompts": ("conditions", "prediction"),
    **dict.fromkeys(("answers", "frame", "noun"), ("conditions",)),
    "generated": ("prediction",),
    "columns": ("table",),
    "delimiter": ("table",),
    "rows": ("table",),
    "heads": ("passage", "table"),
}
"""Key -> the only kinds of article that read it."""

INSIDE = {
    "conditions": (ConditionSpec, "condition"),
    "prompts": (PromptSpec, "prompt"),
    "answers": (AnswersSpec, "answers"),
    "generated": (GeneratedSpec, "generated sentences"),
    "passage": (PassageSpec, "passage"),
    "corpus": (CorpusSpec, "corpus"),
    "cluster": (ClusterSpec, "cluster"),
    "tokenizer": (TokenizerSpec, "tokenizer"),
}
"""Key that has keys of its own -> their model, and what messages call it."""

FIGURE = r"^[A-Za-z0-9_-]{1,100}$"
"""What an article may call a figure: a part of addresses and of names of files."""

Named = Annotated[str, Field(min_length=1)]


def _day(value):
    """A day as a date or YYYY-MM-DD; numbers are refused, which pydantic takes for seconds."""
    if isinstance(value, date) or re.fullmatch(r"\d{4}-\d\d-\d\d", str(value), re.ASCII):
        return value
    raise ValueError("must be a day such as 2026-01-31")


def _shown(text):
    """Text for pages, feed and cards, which cannot hold control characters."""
    return isolated(xml_text(text))


Shown = Annotated[str, Field(min_length=1), AfterValidator(_shown)]

Kind = Literal["passage", "conditions", "table", "sweep", "prediction"]


class FrontMatter(BaseModel):
    """The keys at the top of an article's template."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: Shown
    """The heading of the article, and its name in lists."""
    date: Annotated[date, BeforeValidator(_day)]
    """The day of publication; lists have the newest article first."""
    author: Shown
    """Who wrote the article."""
    summary: Shown
    """One sentence for the home page, search engines and link previews."""
    tags: list[Annotated[str, AfterValidator(_shown)]] = []
    """Subjects of the article, by which the page of tags lists it."""
    kind: Kind = "passage"
    """What the article is about. Only `prediction` must be said: what a model predicts for the
    `prompts`; the others follow from `conditions`, `table` or `sweep`, or are about a passage."""
    model: str = "falcon-8x8"
    """Name of an embedded model, a folder with a checkpoint, a GGUF file, `ollama:NAME[:TAG]`, or
    owner/model on the hub, with `@revision` for another commit than the recorded one."""
    label: Shown | None = None
    """What pages call `model`; default: its name here or on the hub, the file's own name for it,
    else that of the folder or file."""
    models: list[Named] = []
    """Several models for an article that compares them, in place of `model`. An entry may name
    alternatives, "owner/model or embedded-model": the first on this machine is measured."""
    beside: list[Named] = []
    """Other models that figures show beside `model`, which the article is about. One that `model`
    turns out to be itself, by an alternative, is left out."""
    revisions: list[Named] = []
    """Revisions of `model` that are compared: on the hub, or folders inside the model's. With
    `models`, these come first."""
    passage: Annotated[
        Annotated[Named, Tag("name")] | Annotated[PassageSpec, Tag("row")],
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
    prompts: Annotated[
        Annotated[str, Tag("name")] | Annotated[list[PromptSpec], Tag("prompts")],
        Discriminator(lambda value: "prompts" if isinstance(value, list) else "name"),
    ] = "arithmetic"
    """Name of a set of prompts that ships with the project, or an .md file; see `conditions`. Of a
    prediction: a list of sentences that break off, each with the `target` that is asked about."""
    generated: Annotated[GeneratedSpec | None, BeforeValidator(set_or_spelt_out)] = None
    """Sentences like the `prompts`, made from a few forms, over which effects are averaged. It
    takes long, so it is measured only by `freeze --generated`, and shown where it was."""
    conditions: list[ConditionSpec] = []
    """Variants of those prompts that are compared; makes this an article about conditions."""
    frame: Frame = FRAME
    """The text around each question, with {question} in it; `none`: the question alone."""
    noun: Shown | None = None
    """What figures call, after "the", what conditions add, such as manners; default: addition."""
    answers: AnswersSpec | None = None
    """Whether what conditions add helps the answer, on generated questions. It takes long, so it is
    measured only by `freeze --answers`, and shown where it was."""
    table: str | None = None
    """A data set inside vega_datasets, or the path of a file of rows, that is read as a table,
    instead of a passage."""
    columns: list[str] = []
    """Columns of the table to read, in order; default: all."""
    delimiter: Delimiter | None = None
    """What stands between the cells of a table in a .csv or .tsv file: one sign, or `tab`; default:
    what splits all lines alike."""
    rows: int | None = Field(None, ge=2)
    """How many of the table's first rows are read; default: 8, or all if there are fewer."""
    layers: Annotated[int | Literal["all"] | None, BeforeValidator(number_of_layers)] = None
    """The first layers to measure: a number, a range from 0, or all; default: the preset's. Of
    several models, those that have no more are measured whole."""
    heads: Annotated[int | None, BeforeValidator(number_of_heads)] = None
    """The first heads of each layer to keep: a number, a range from 0, or all; default: all. The
    others work in the model as they do, but pages and datasets are without them."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of numbers to compute in, whatever type the checkpoint is stored in."""
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    """Where to compute; auto: CUDA if there is a GPU."""
    trust_remote_code: str | None = None
    """The model's name, if the code in its folder may run."""
    alibi_factor: float = Field(1.0, ge=0, allow_inf_nan=False)
    """Factor of the ALiBi term; 2 recreates figures affected by a bug of transformers."""
    chat: bool | Literal["available"] = False
    """Whether the passage, or the prompts, are put into the model's chat template; "available": if
    the model has one."""
    tokenizer: TokenizerSpec | None = None
    """How the tokenizer is read where its files are known to be wrong."""
    layer_by_layer: bool | None = None
    """Keep one layer's weights in memory at a time; default: only if the model would not fit."""
    cluster: ClusterSpec = ClusterSpec()
    """What `measure --ray` asks the cluster for; it changes no number."""
    sweep: bool = False
    """Measure only averages of heads, to compare many models or checkpoints."""
    cover: str = Field("attention_map", pattern=FIGURE)
    """The figure that is the article's picture on the home page."""

    @model_validator(mode="before")
    @classmethod
    def _kind_follows(cls, values):
        if not isinstance(values, dict):
            return values
        kind = kind_of_article(values)
        whole = {"layers": "all"} if kind == "prediction" else {}
        return {"kind": kind} | whole | values

    @field_validator("conditions")
    @classmethod
    def _agree(cls, conditions):
        require_agreement(conditions)
        return conditions

    @model_validator(mode="after")
    def _fits_together(self):
        stated = self.model_fields_set
        if self.models and "model" in stated and not self.revisions:
            raise ValueError("says `model` and `models`; say one of them")
        if self.label and (self.models or self.revisions or self.beside):
            raise ValueError(
                "says `label`, which is what one `model` is called, and several models; leave it "
                "out"
            )
        if self.revisions and "model" not in stated:
            raise ValueError("`revisions` are those of one `model`; say which")
        if self.beside and (self.models or self.revisions):
            raise ValueError(
                f"says `beside` and `{'models' if self.models else 'revisions'}`; say one of them"
            )
        if self.beside and self.kind not in BESIDE:
            raise ValueError(
                "says `beside`, which is for articles about a passage or a table; say `models`"
            )
        if len(self.all_names) > len(set(self.all_names)):
            key = "revisions" if self.revisions else "beside" if self.beside else "models"
            raise ValueError(f"names one of its `{key}` twice; name it once")
        kinds = [kind for kind in IMPLIED_BY_KEY if getattr(self, kind)]
        if len(kinds) > 1:
            raise ValueError(f"says `{kinds[0]}` and `{kinds[1]}`; say one of them")
        if kinds != [self.kind] and (kinds or self.kind in IMPLIED_BY_KEY):
            other = f"`{kinds[0]}`; leave `kind` out" if kinds else f"no `{self.kind}`; say it"
            raise ValueError(f"says `kind: {self.kind}` and {other}")
        if self.kind in ("table", "prediction") and (self.models or self.revisions):
            key, own = "models" if self.models else "revisions", self.kind
            others = ", and others `beside` it" if own in BESIDE else ""
            said = "table" if own == "table" else "kind: prediction"
            raise ValueError(f"says `{said}` and `{key}`; name one `model`{others}")
        require_lines(self.delimiter, self.table)
        self._require_prompts()
        idle = [key for key, of in READ_BY.items() if key in stated and self.kind not in of]
        if idle:
            raise ValueError(
                f"says `{idle[0]}`, which an article about a {self.kind.rstrip('s')} does not "
                "read; leave it out"
            )
        return self

    def _require_prompts(self):
        """Stop for prompts of another kind of article; ValueError."""
        listed, stated = isinstance(self.prompts, list), self.model_fields_set
        if self.kind != "prediction":
            if listed:
                raise ValueError(
                    "says a list of `prompts`, which is for `kind: prediction`; say that as well, "
                    "or the name of a set"
                )
            return
        if ("prompts" in stated) == ("passage" in stated) or (self.prompts and not listed):
            raise ValueError(
                "says `kind: prediction`, which takes a list of `prompts`, or a `passage` of which "
                "every next token is predicted; say one of them"
            )
        if self.layers not in (None, "all"):
            raise ValueError("says `layers`; a prediction needs all of them, so leave it out")

    @property
    def all_names(self) -> list[str]:
        """The models as they are written, then the revisions or those beside."""
        return [*self.models, *self.revisions] or [self.model, *self.beside]

    @property
    def all_models(self) -> list[str]:
        """The names by which the models are looked up, at least one."""
        revisions = [f"{self.model}@{revision}" for revision in self.revisions]
        return [*self.models, *revisions] or [self.model, *self.beside]

    @property
    def labels(self) -> list[str | None]:
        """What pages call the models: a revision, or None for the model's name."""
        return [*([None] * len(self.models)), *self.revisions] or [None]

    @property
    def apart(self) -> "FrontMatter | None":
        """The same keys for what is measured apart, as it takes long; None if nothing is."""
        kind = next((name for name in APART if getattr(self, name)), None)
        if kind is None:
            return None
        whole = dict(self) | {"layers": "all", "kind": kind}  # a part of a model answers nothing
        return FrontMatter.model_construct(self.model_fields_set, **whole)


BESIDE = ("passage", "table")
"""Kinds of article that may have models beside the one that they are about."""

IMPLIED_BY_KEY = ("conditions", "table", "sweep")
"""Kinds of article that a key of the same name implies; others are about a passage, or say
`kind: prediction`."""

APART = ("answers", "generated")
"""Keys, and kinds of measuring, of what takes long: only `freeze` with an option measures it."""


def kind_of_article(values: dict) -> str:
    """The kind of article that keys of front matter make, before they are checked."""
    implied = next((kind for kind in IMPLIED_BY_KEY if values.get(kind)), "passage")
    return "prediction" if values.get("kind") == "prediction" else implied
