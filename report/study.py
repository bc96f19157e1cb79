"""An article's front matter: which models, what they read, who wrote it and when."""

import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from report.characters import quoted
from report.cluster_spec import ClusterSpec
from report.condition_spec import ConditionSpec, require_agreement
from report.corpus_spec import CorpusSpec, named_or_spelt_out
from report.errors import ReportError
from report.models.names import number_of_layers
from report.passage_spec import PassageSpec, kind_of
from report.text import xml_text
from report.words import isolated
from report.yaml_lines import blocks, line_of, parse

MARK = "---"

ENDING = ".md.j2"
"""Of the templates of articles."""

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
        """What it is measured on: a module of `report.kinds`."""
        return _kind(self)


KINDS = ("conditions", "table", "sweep")
"""Kinds of article that a key of their name makes one; all others are about a passage."""


def _kind(front_matter):
    return next((kind for kind in KINDS if getattr(front_matter, kind)), "passage")


@dataclass(frozen=True)
class Study:
    """One article: its front matter and its template."""

    name: str
    """The template's file name without endings; the article's address."""
    front_matter: FrontMatter
    template: Path
    body: str
    """The template without its front matter, with as many lines before it, so lines agree."""
    header: tuple[str, ...] = ()
    """The lines of its front matter."""
    replaced: tuple[str, ...] = ()
    """Keys that the command line gave instead."""

    @contextmanager
    def blaming(self, *keys):
        """What is wrong with what a key names is told with file and line, or the option.

        keys: of the front matter; the first of them that it has
        """
        try:
            yield
        except ReportError as error:
            option = next((key for key in keys if key in self.replaced), None)
            said = [key for key in keys if any(line.startswith(f"{key}:") for line in self.header)]
            where = f"{self.template}, line {line_of(self.header, said[:1])}" if said else ""
            if option:
                where = f"--{option.replace('_', '-')}"
            raise type(error)(f"{where}: {error}" if where else str(error)) from error


NOT_FOR = {
    "passage": ("models",),
    "several": ("model",),
    "conditions": ("model", "passage", "chat"),
    "table": ("models", "passage", "chat"),
    "sweep": ("model", "passage", "chat"),
}
"""What of the command line does not concern articles of a kind."""


def study_names(folder):
    """The names of all articles under `folder`, sorted."""
    return sorted(path.name.removesuffix(ENDING) for path in Path(folder).glob(f"*{ENDING}"))


def read_studies(folder, only=None, **replaced):
    """Every article under `folder` (`*.md.j2`), newest first, those of one day by name.

    only: name of the one article that is wanted, or None
    replaced: front matter keys to set for all of them (from the command line), e.g. model
    raises: ReportError if there is none, or one of them is not valid
    """
    paths = {name: Path(folder) / f"{name}{ENDING}" for name in study_names(folder)}
    if not paths:
        raise ReportError(f"{folder}: no article (*{ENDING}) found; add one and run `make site`.")
    if only is not None:
        if only not in paths:
            raise ReportError(f"unknown study {only!r}; articles here: {', '.join(paths)}.")
        paths = {only: paths[only]}
    studies = [read_study(path, **replaced) for path in paths.values()]
    return sorted(studies, key=lambda study: study.front_matter.date, reverse=True)


def read_study(path, **replaced):
    """The article in one template file.

    raises: ReportError naming file, line, key and the nearest valid key
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: cannot be read as UTF-8 text: {error}.") from error
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == MARK]
    if len(ends) < 2 or ends[0] != 0:
        raise ReportError(
            f"{path}: must start with front matter between two lines of '---'; see README.md."
        )
    header = lines[1 : ends[1]]
    body = "\n" * (ends[1] + 1) + "\n".join(lines[ends[1] + 1 :])
    values = parse(header, path)
    if "passage" in blocks(header):  # lines below `|` are a text, however few: never a name
        values["passage"] = {"text": values["passage"]}
    own = next((kind for kind in KINDS if values.get(kind)), "passage")
    several = own == "passage" and (values.get("models") or values.get("revisions"))
    replaced = {
        key: value
        for key, value in replaced.items()
        if value is not None and key not in NOT_FOR["several" if several else own]
    }
    kept = {key: value for key, value in values.items() if key not in instead_of(replaced)}
    kept = _from_project(kept, path.resolve().parents[min(2, len(path.resolve().parents) - 1)])
    try:
        front_matter = FrontMatter(**kept | replaced)
    except ValidationError as error:
        # an unknown key first: it is often a missing one, misspelt
        problem = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        raise ReportError(_explain(problem, header, path, replaced)) from error
    name = path.name.removesuffix(ENDING)
    return Study(name, front_matter, path, body, tuple(header), tuple(replaced))


def instead_of(replaced):
    """Keys of front matter that those from the command line stand instead of."""
    return ("model", "revisions") if replaced.get("models") else ()


def _from_project(values, root):
    """Values of which files that lie in the publication's folder have their whole path."""
    return {key: _file(value, root) if key in FILES else value for key, value in values.items()}


def _file(value, root):
    if isinstance(value, list):
        return [_file(each, root) for each in value]
    if isinstance(value, dict):
        return {key: _file(each, root) if key == "file" else each for key, each in value.items()}
    if not isinstance(value, str) or not value.strip() or "\n" in value or "\0" in value:
        return value
    try:
        here = root / value
        # a checkpoint, or a folder of revisions
        models = (*here.glob("config.json"), *here.glob("*/config.json"))
        known = here.is_file() or (here.is_dir() and any(models))
        return str(here) if known and not Path(value).exists() else value
    except OSError:  # no file can have such a name
        return value


def _explain(problem, header, path, replaced):
    loc = problem["loc"]
    if not loc:  # keys that do not go together
        keys = re.findall(r"`(\w+)`", problem["msg"])
        line = max(line_of(header, [key]) for key in keys)
        return f"{path}, line {line}: front matter {_reason(problem)}"
    if loc[0] == "passage":  # pydantic names the alternative, too
        loc = loc[:1] + loc[2:]
    first, key = str(loc[0]), str(loc[-1])
    if replaced.get(first) is not None:
        return f"--{first.replace('_', '-')}: {_reason(problem)}"
    line = line_of(header, loc)
    model, part = INSIDE.get(first, (FrontMatter, ""))
    if len(loc) == 1 and part == "condition":
        model, part = FrontMatter, ""
    inside = part and (len(loc) > 1 or problem["type"] != "string_type")
    of = f"{'a' if part == 'condition' else 'the'} {part}"
    where = f" of {of}" if inside and len(loc) > 1 else ""
    if problem["type"] == "extra_forbidden":
        known = list((model if where else FrontMatter).model_fields)
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."
        return f"{path}, line {line}: unknown key {quoted(key)}{where}; {hint}"
    if problem["type"] == "missing":
        missing = f"the {part}" if where else "the front matter"
        return f"{path}, line {line}: the key {key!r} is missing from {missing}; add it."
    named = repr(first)
    words = [each for each in loc[1:] if isinstance(each, str)]
    if where and words:
        named = f"{words[-1]!r}{where}"
    elif where:
        named = of
    return f"{path}, line {line}: {named}: {_reason(problem)}"


def _reason(problem):
    said = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][:1] == ("device",):  # a pattern is no sentence
        said = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    if problem["type"] == "list_type":
        said = "must be a list, such as [one, two]"
    if problem["type"] == "string_pattern_mismatch" and problem["loc"][-1] == "name":
        said = "must be a small letter, then small letters, digits, - or _"
    if isinstance(problem["input"], dict | list):  # what was found wrong is in the sentence
        return f"{said}."
    return f"{said} (got {quoted(problem['input'])})."
