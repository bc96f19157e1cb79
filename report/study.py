"""An article's front matter: which model, which passage, who wrote it and when."""

from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from report.errors import ReportError
from report.models.names import number_of_layers

MARK = "---"


class ConditionSpec(BaseModel):
    """One condition, a line of front matter: the prompt as it is, or with one segment changed.

    `before: question` adds a segment before one, `replace: system` puts it in its place,
    `remove: system` leaves one out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    label: str = Field("", validate_default=False)
    """What a reader sees; default: the name."""
    before: str | None = None
    replace: str | None = None
    remove: str | None = None
    kind: Literal["repeated", "sentence", "random tokens", "text"] = "repeated"
    """What the segment is made of, see `report.fillers`."""
    text: str | None = None
    """What is repeated, or stands there as it is."""
    times: int | None = Field(None, ge=1)
    """How often it is repeated; default: what `like` says."""
    like: str | None = None
    """A condition whose new segment this one has exactly as many tokens as."""
    seed: int = 0


class FrontMatter(BaseModel):
    """The keys at the top of an article's template."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1)
    date: date
    author: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    tags: list[str] = []
    model: str = "falcon-8x8"
    """Name of an embedded model, a folder with a checkpoint, or owner/model on the hub, with
    `@revision` if not the recorded commit."""
    models: list[Annotated[str, Field(min_length=1)]] = []
    """Several models, in place of one, for an article that compares them. An entry may name
    alternatives, "owner/model or embedded-model": the first that is on this machine is measured."""
    passage: str = "the-lamp-on-the-hill"
    """Name of a passage that ships with the project, or a text file."""
    prompts: str = "word-problems"
    """Name of a set of prompts that ships with the project, or an .md file; see `conditions`."""
    conditions: list[ConditionSpec] = []
    """Variants of those prompts that are compared; makes it a study of conditions."""
    table: str | None = None
    """A data set of vega_datasets to be read as a table, instead of a passage."""
    layers: Annotated[int | Literal["all"] | None, BeforeValidator(number_of_layers)] = None
    """The first layers to measure: a number, a range from 0, or all; default: the preset's."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What it is computed in, whatever the checkpoint is stored in."""
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    """Where it is computed; auto: CUDA where there is one."""
    trust_remote_code: str | None = None
    """The model's name, if code that its folder brings along may run."""
    alibi_factor: float = Field(1.0, ge=0)
    """How often ALiBi counts; 2 recreates figures made through a bug of transformers."""
    chat: bool = False
    """Whether the passage is put into the model's chat template."""
    layer_by_layer: bool | None = None
    """Keep one layer's weights in memory at a time; default: if the model would not fit."""
    cover: str = "attention_map"
    """The figure whose picture stands for the article on the home page."""

    @property
    def all_models(self):
        """The names of the models, one or more."""
        return self.models or [self.model]

    @property
    def kind(self):
        """What it is measured on: a module of `report.kinds`."""
        return "conditions" if self.conditions else "table" if self.table else "passage"


@dataclass(frozen=True)
class Study:
    """One article: its front matter and its template."""

    name: str
    """The template's file name without endings; the article's address."""
    front_matter: FrontMatter
    template: Path
    body: str
    """The template without its front matter, with as many lines before it, so lines agree."""


NOT_FOR = {
    "passage": ("models",),
    "conditions": ("model", "passage", "chat"),
    "table": ("models", "passage", "chat"),
}
"""What of the command line does not concern articles of a kind."""


def read_studies(folder, only=None, **replaced):
    """Every article under `folder` (`*.md.j2`), newest first.

    only: name of the one article that is wanted, or None
    replaced: front matter keys to set for all of them (from the command line), e.g. model
    raises: ReportError if there is none, or one of them is not valid
    """
    paths = sorted(Path(folder).glob("*.md.j2"))
    if not paths:
        raise ReportError(f"{folder}: no article (*.md.j2) found; add one and run `make site`.")
    if only is not None:
        found = {path.name.removesuffix(".md.j2"): path for path in paths}
        if only not in found:
            raise ReportError(f"unknown study {only!r}; articles here: {', '.join(found)}.")
        paths = [found[only]]
    studies = [read_study(path, **replaced) for path in paths]
    return sorted(studies, key=lambda study: (study.front_matter.date, study.name), reverse=True)


def read_study(path, **replaced):
    """The article in one template file.

    raises: ReportError naming file, line, key and the nearest valid key
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8")
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
    values = _parse(header, path)
    own = (
        "conditions" if values.get("conditions") else "table" if values.get("table") else "passage"
    )
    replaced = {
        key: value
        for key, value in replaced.items()
        if value is not None and key not in NOT_FOR[own]
    }
    try:
        front_matter = FrontMatter(**values | replaced)
    except ValidationError as error:
        # an unknown key first: it is often a missing one, misspelt
        problem = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        raise ReportError(_explain(problem, header, path, replaced)) from error
    return Study(path.name.removesuffix(".md.j2"), front_matter, path, body)


def _parse(header, path):
    try:
        values = yaml.safe_load("\n".join(header)) or {}
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 2
        problem = getattr(error, "problem", None) or error
        raise ReportError(f"{path}, line {line}: front matter is not YAML: {problem}.") from error
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ReportError(f"{path}, line 2: front matter must be lines of `key: value`.")
    return values


def _explain(problem, header, path, replaced):
    key = str(problem["loc"][0])
    if replaced.get(key) is not None:
        return f"--{key.replace('_', '-')}: {_reason(problem)}"
    starts = (number for number, line in enumerate(header, 2) if line.startswith(f"{key}:"))
    line = next(starts, 1)
    known = list(FrontMatter.model_fields)
    if problem["type"] == "extra_forbidden":
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."
        return f"{path}, line {line}: unknown key {key!r}; {hint}"
    if problem["type"] == "missing":
        return f"{path}, line 1: the key {key!r} is missing from the front matter; add it."
    return f"{path}, line {line}: {key!r}: {_reason(problem)}"


def _reason(problem):
    said = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][0] == "device":  # a pattern is no sentence
        said = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    return f"{said} (got {problem['input']!r})."
