"""The keys at the top of an article's template: which models read what, who wrote it and when."""

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from report.inputs.specs import ClusterSpec, Shown, TokenizerSpec, page_text
from report.kinds import questions
from report.models.find.known import number_of_layers

QUESTIONS = questions()
"""What each kind of article asks, see `report.kinds`."""

MODELS = ("model", "models", "beside", *(key for each in QUESTIONS.values() for key in each.models))
"""Keys that name models."""

FILES = (*MODELS, "passage", "corpus", "prompts", "table")
"""Keys whose value may be a file or a folder inside the project."""

READ_BY = {
    key: [kind for kind, of in QUESTIONS.items() if key in (*of.keys.model_fields, *of.borrowed)]
    for each in QUESTIONS.values()
    for key in each.keys.model_fields
}
"""Key -> the only kinds of article that read it."""

INSIDE = {
    **{key: value for each in QUESTIONS.values() for key, value in each.inside.items()},
    "cluster": (ClusterSpec, "cluster"),
    "tokenizer": (TokenizerSpec, "tokenizer"),
}
"""Key that has keys of its own -> their model, and what messages call it."""

FIGURE = r"^[A-Za-z0-9_-]{1,100}$"
"""What an article may call a figure: a part of addresses and of names of files."""

Name = Annotated[str, Field(min_length=1)]


def _day(value):
    """A date, or a text YYYY-MM-DD; ValueError otherwise, as pydantic takes numbers for seconds."""
    if isinstance(value, date) or re.fullmatch(r"\d{4}-\d\d-\d\d", str(value), re.ASCII):
        return value
    raise ValueError("must be a day such as 2026-01-31")


class Common(BaseModel):
    """The keys that an article of any kind may have."""

    title: Shown
    """The heading of the article, and its name in lists."""
    date: Annotated[date, BeforeValidator(_day)]
    """The day of publication; lists have the newest article first."""
    author: Shown
    """Who wrote the article."""
    summary: Shown
    """One sentence for the home page, search engines and link previews."""
    tags: list[Annotated[str, AfterValidator(page_text)]] = []
    """Subjects of the article, by which the page of tags lists it."""
    kind: Literal[*QUESTIONS] = "passage"
    """What the article is about. Only `prediction` must be said: what a model predicts for the
    `prompts`; the others follow from `conditions`, `table` or `sweep`, or are about a passage."""
    model: str = "falcon-8x8"
    """Name of an embedded model, a folder with a checkpoint, a GGUF file, `ollama:NAME[:TAG]`, or
    owner/model on the hub, with `@revision` for another commit than the recorded one."""
    label: Shown | None = None
    """What pages call `model`; default: its name here or on the hub, the file's own name for it,
    else that of the folder or file."""
    models: list[Name] = []
    """Several models for an article that compares them, in place of `model`. An entry may name
    alternatives, "owner/model or embedded-model": the first on this machine is measured."""
    beside: list[Name] = []
    """Other models that figures show beside `model`, which the article is about. One that `model`
    turns out to be itself, by an alternative, is left out."""
    revisions: list[Name] = []
    """Revisions of `model` that are compared: on the hub, or folders inside the model's. With
    `models`, these come first."""
    layers: Annotated[int | Literal["all"] | None, BeforeValidator(number_of_layers)] = None
    """The first layers to measure: a number, a range from 0, or all; default: the preset's. Of
    several models, those that have no more are measured whole."""
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
    cover: str = Field("attention_map", pattern=FIGURE)
    """The figure that is the article's picture on the home page."""
    about: list[Name] = []
    """The models that the words of the article are about, as pages call them. Of other models, or
    of another text, the kind's own words are published in their place."""


class FrontMatter(*(each.keys for each in reversed(QUESTIONS.values())), Common):
    """The keys at the top of an article's template: those of every article, and of each kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _kind_follows(cls, values):
        if not isinstance(values, dict):
            return values
        kind = kind_of_article(values)
        if kind not in QUESTIONS:
            return {"kind": kind} | values
        question = QUESTIONS[kind]
        whole = {"layers": "all"} if question.whole else {}
        return {"kind": kind} | whole | values | question.implies(values)

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
        question = QUESTIONS[self.kind]
        if self.beside and not question.beside:
            fit = " or ".join(each.called for each in QUESTIONS.values() if each.beside)
            raise ValueError(f"says `beside`, which is for articles about {fit}; say `models`")
        if len(self.all_names) > len(set(self.all_names)):
            key = "revisions" if self.revisions else "beside" if self.beside else "models"
            raise ValueError(f"names one of its `{key}` twice; name it once")
        implied = [kind for kind in IMPLIED_BY_KEY if kind not in question.borrowed]
        kinds = [kind for kind in implied if getattr(self, kind)]
        if len(kinds) > 1:
            raise ValueError(f"says `{kinds[0]}` and `{kinds[1]}`; say one of them")
        if kinds != [self.kind] and (kinds or self.kind in IMPLIED_BY_KEY):
            other = f"`{kinds[0]}`; leave `kind` out" if kinds else f"no `{self.kind}`; say it"
            raise ValueError(f"says `kind: {self.kind}` and {other}")
        if not question.several and (self.models or self.revisions):
            key = "models" if self.models else "revisions"
            others = ", and others `beside` it" if question.beside else ""
            entry = self.kind if question.implied else f"kind: {self.kind}"
            raise ValueError(f"says `{entry}` and `{key}`; name one `model`{others}")
        if isinstance(self.prompts, list) and self.kind != "prediction":
            raise ValueError(
                "says a list of `prompts`, which is for `kind: prediction`; say that as well, or "
                "the name of a set"
            )
        question.require(self)
        if question.whole and self.layers not in (None, "all"):
            raise ValueError(
                f"says `layers`; an article about {question.called} needs all of them, so leave it "
                "out"
            )
        idle = [key for key, of in READ_BY.items() if key in stated and self.kind not in of]
        if idle:
            raise ValueError(
                f"says `{idle[0]}`, which an article about {question.called} does not read; leave "
                "it out"
            )
        return self

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
        """What pages call all models but those beside: a revision, or None for the model's name."""
        return [*([None] * len(self.models)), *self.revisions] or [None]

    @property
    def apart(self) -> "FrontMatter | None":
        """Front matter of the part that is measured apart: itself if it is one, else the first of
        `parts`, or None."""
        return self if self.kind in APART else next(iter(self.parts), None)

    @property
    def parts(self) -> "list[FrontMatter]":
        """Front matter of each part that is measured apart: the same keys, but of kind `APART`."""
        whole = dict(self) | {"layers": "all"}  # with some of its layers a model answers nothing
        return [
            FrontMatter.model_construct(self.model_fields_set, **whole | {"kind": name})
            for name in APART
            if getattr(self, name)
        ]


IMPLIED_BY_KEY = tuple(kind for kind, each in QUESTIONS.items() if each.implied)
"""Kinds of article that a key of the same name implies; others are about a passage, or say
`kind: prediction`."""

APART = {key: how for each in QUESTIONS.values() for key, how in each.apart.items()}
"""Kind of a part that takes long, which only `freeze` with an option measures, and its key -> the
end of the sentence "no article here …", with how to ask for it."""


def kind_of_article(values: dict) -> str:
    """Name of the kind of article that front matter makes, before it is checked."""
    stated = values.get("kind")
    if stated in [kind for kind in QUESTIONS if kind not in IMPLIED_BY_KEY]:
        return stated
    return next((kind for kind in IMPLIED_BY_KEY if values.get(kind)), "passage")
