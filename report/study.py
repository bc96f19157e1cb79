"""An article's front matter: which models, what they read, who wrote it and when."""

from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)

from report.condition_spec import ConditionSpec, require_agreement
from report.errors import ReportError
from report.models.names import number_of_layers

MARK = "---"

ENDING = ".md.j2"
"""Of the templates of articles."""


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
    alibi_factor: float = Field(1.0, ge=0)
    """How often ALiBi counts; 2 recreates figures made through a bug of transformers."""
    chat: bool = False
    """Whether the passage is put into the model's chat template."""
    layer_by_layer: bool | None = None
    """Keep one layer's weights in memory at a time; default: if the model would not fit."""
    cover: str = "attention_map"
    """The figure whose picture stands for the article on the home page."""

    @field_validator("conditions")
    @classmethod
    def _agree(cls, conditions):
        require_agreement(conditions)
        return conditions

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
    return Study(path.name.removesuffix(ENDING), front_matter, path, body)


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
    first, key = str(problem["loc"][0]), str(problem["loc"][-1])
    if replaced.get(first) is not None:
        return f"--{first.replace('_', '-')}: {_reason(problem)}"
    line = _line(header, problem["loc"])
    inside = len(problem["loc"]) > 1 and first == "conditions"
    where = " of a condition" if inside else ""
    if problem["type"] == "extra_forbidden":
        known = list((ConditionSpec if inside else FrontMatter).model_fields)
        near = get_close_matches(key, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."
        return f"{path}, line {line}: unknown key {key!r}{where}; {hint}"
    if problem["type"] == "missing":
        missing = "the condition" if inside else "the front matter"
        return f"{path}, line {line}: the key {key!r} is missing from {missing}; add it."
    named = repr(first)
    if inside and isinstance(problem["loc"][-1], str):
        named = f"{key!r}{where}"
    elif inside:
        named = "a condition"
    return f"{path}, line {line}: {named}: {_reason(problem)}"


def _line(header, loc):
    """The line of the file in which a value stands, or the innermost of what it is a part of."""
    line, node = 1, yaml.compose("\n".join(header))
    for part in loc:
        inner = None
        if isinstance(node, yaml.MappingNode):
            found = [pair for pair in node.value if pair[0].value == part]
            # of a key that is missing, the line of what it is missing from
            line, inner = (found[0][0].start_mark.line + 2, found[0][1]) if found else (line, None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            inner = node.value[part]
            line = inner.start_mark.line + 2
        if inner is None:
            break
        node = inner
    return line


def _reason(problem):
    said = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][0] == "device":  # a pattern is no sentence
        said = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    if problem["type"] == "string_pattern_mismatch" and problem["loc"][-1] == "name":
        said = "must be a small letter, then small letters, digits, - or _"
    if isinstance(problem["input"], dict | list):  # what was found wrong is in the sentence
        return f"{said}."
    return f"{said} (got {problem['input']!r})."
