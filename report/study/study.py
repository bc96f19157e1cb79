"""Studies: what articles ask of models, read from their templates.

A mistake in front matter is one sentence: file, line, key, and what is allowed.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from report.authored.boundary import read_text
from report.errors import PROGRAM, OwnFileError, ReportError, UsageError, command
from report.files import meant, require_within
from report.inputs.passages import SUFFIXES
from report.inputs.specs import ROW_ENDINGS
from report.inputs.yaml_lines import blocks, line_of, parse
from report.measures import own_files
from report.models.find.names import without_packaged
from report.study.front_matter import (
    FILES,
    INSIDE,
    MODELS,
    QUESTIONS,
    READ_BY,
    FrontMatter,
    kind_of_article,
)
from report.text import nearest, quoted


def explain(problem: ErrorDetails, header: list[str], path: Path, replaced: dict) -> str:
    """The sentence about a mistake in front matter, or in an option of the command line.

    problem: as of `ValidationError.errors` of `FrontMatter`
    header: the lines of the front matter; path: of the template
    replaced: key that an option of the command line set -> its value
    """
    loc = problem["loc"]
    if not loc:
        return _of_several_keys(problem, header, path)
    if loc[0] in ("passage", "prompts"):  # without the alternative, which pydantic names too
        loc = loc[:1] + loc[2:]
    option = str(loc[0])
    if replaced.get(option) is not None:
        return f"--{option.replace('_', '-')}: {reason(problem)}"
    return f"{path}, line {line_of(header, loc)}: {_mistake(problem, loc)}"


def _of_several_keys(problem, header, path):
    """The sentence about keys that do not go together, with the line of the last one.

    The problem has no place of its own; its message names the keys in backquotes.
    """
    keys = re.findall(r"`(\w+)[:`]", problem["msg"])
    line = max(line_of(header, [key]) for key in keys)
    return f"{path}, line {line}: front matter {reason(problem)}"


def _mistake(problem, loc):
    """The part of the sentence after file and line; loc: the keys and indices that lead to it."""
    key = str(loc[-1])
    model, owner = _owner(loc)
    if problem["type"] == "extra_forbidden":
        of = f" of {owner}" if owner else ""
        return f"unknown key {quoted(key)}{of}; {_hint(key, model)}"
    if problem["type"] == "missing":
        part = f"the {INSIDE[loc[0]][1]}" if owner else "the front matter"
        return f"the key {key!r} is missing from {part}; add it."
    return f"{_named(loc, owner)}: {reason(problem)}"


def _owner(loc: Sequence[str | int]) -> tuple[type[BaseModel], str]:
    """(model that has the keys at a place, the words for it); "" for the front matter itself.

    loc: as of `_mistake`
    """
    if len(loc) == 1 or loc[0] not in INSIDE:
        return FrontMatter, ""
    model, part = INSIDE[loc[0]]
    return model, f"{'a' if part in ('condition', 'prompt') else 'the'} {part}"


def _hint(key, model):
    known = list(model.model_fields)
    near = nearest(key, known)
    return f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}."


def _named(loc, owner):
    """The words for what is wrong: a key, a key of a part, or a part; owner: as of `_owner`."""
    if not owner:
        return repr(str(loc[0]))
    words = [part for part in loc[1:] if isinstance(part, str)]
    return f"{words[-1]!r} of {owner}" if words else owner


def reason(problem: dict) -> str:
    """What pydantic says of a value, or plainer words for it, and the value that was given.

    problem: as of `pydantic.ValidationError.errors`
    """
    words = problem["msg"].removeprefix("Value error, ")
    if problem["loc"][:1] == ("device",):  # instead of the pattern
        words = "must be auto, cpu, cuda, or one GPU such as cuda:1"
    if problem["type"] == "list_type":
        words = "must be a list, such as [one, two]"
    if problem["type"] == "string_pattern_mismatch" and problem["loc"][-1] == "name":
        words = "must be a small letter, then small letters, digits, - or _"
    if problem["loc"][:1] == ("cover",):
        words = "must be the name of a figure: letters, digits, - or _"
    if isinstance(problem["input"], dict | list):  # the sentence names what is wrong with it
        return f"{words}."
    return f"{words} (got {quoted(problem['input'])})."


MARK = "---"
"""The line before and after front matter."""

ENDING = ".md.j2"
"""Ending of the templates of articles."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 64
"""Characters of an article's name, which is a part of addresses and of file names."""


OWN = {"passage": ("passages", SUFFIXES), "prompts": ("prompts", (".md",))}
"""Key of front matter -> (folder of a publication whose files may be called by their names, their
endings). They come before the files that ship."""


@dataclass(frozen=True)
class Study:
    """One article: its front matter and its template, with the options of the command."""

    name: str
    """The template's file name without endings; the article's address."""
    front_matter: FrontMatter
    template: Path
    body: str
    """The template with empty lines for its front matter, so that line numbers agree."""
    header: tuple[str, ...] = ()
    """The lines of the front matter."""
    replaced: tuple[str, ...] = ()
    """Keys that options of the command line replaced."""
    allow_local: bool = False
    """Whether a corpus may be fetched from this machine or a private network."""
    prose: Path | None = None
    """The file of `body`, if it is not the template: the words of its kind; see `pages.new`."""

    @property
    def apart(self) -> "Study | None":
        """The study of the first part that is measured apart, as it takes long; of such a study
        itself; None for no such part."""
        front_matter = self.front_matter.apart
        return front_matter and replace(self, front_matter=front_matter)

    @property
    def parts(self) -> "list[Study]":
        """The study of each part that is measured apart."""
        return [replace(self, front_matter=each) for each in self.front_matter.parts]

    @contextmanager
    def blaming(self, *keys: str) -> Iterator[None]:
        """Add the place of a key to the message of a ReportError: file and line, or the option.

        keys: of the front matter; the first of them that was given is named, but for an error
            that has a `key` of its own
        raises: the same error with the place in front; an OwnFileError as it is
        """
        try:
            yield
        except OwnFileError:
            raise
        except ReportError as error:
            keys = (*[key for key in [getattr(error, "key", None)] if key], *keys)
            option = next((key for key in keys if key in self.replaced), None)
            given = [key for key in keys if any(line.startswith(f"{key}:") for line in self.header)]
            where = f"{self.template}, line {line_of(self.header, given[:1])}"
            if option:
                where = f"--{option.replace('_', '-')}"
            raise type(error)(f"{where}: {error}") from error


PUBLISHED = ("passage", "prompts", "table")
"""Keys that may name a file whose text is published."""

NOT_FOR_SEVERAL = ("model", "label")
"""Options of the command line that do not concern a passage read by several models."""


def study_names(folder: Path | str) -> list[str]:
    """The names of all articles under `folder`, sorted.

    raises: UsageError if a file has a name that no article can have
    """
    paths = meant(Path(folder).glob(f"*{ENDING}"))
    names = sorted(path.name.removesuffix(ENDING) for path in paths)
    for name in names:
        require_name(name)
    return names


def publication_of(template: Path) -> Path:
    """The root of the publication that an article's template in `templates/articles` belongs to."""
    above = Path(template).resolve().parents
    return above[min(2, len(above) - 1)]


def require_name(name: str) -> None:
    """Stop for a name that no article can have.

    raises: UsageError with a name that would do
    """
    if NAME.fullmatch(name) and len(name) <= LONGEST:
        return
    near = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST].strip("-")
    hint = f" Try {near!r}." if near else ""
    raise UsageError(
        f"{name!r} cannot name an article: it is a part of its address, small letters, digits "
        f"and hyphens, at most {LONGEST}.{hint}"
    )


def read_studies(folder: Path | str, only: str | None = None, **replaced: object) -> list[Study]:
    """Every article under `folder` (`*.md.j2`), newest first, those of one day by name.

    only: name of the only article to read; None: all
    replaced: keys that options of the command line set in all articles, e.g. model; and the other
        keywords of `read_study`
    raises: ReportError if there is no article, or one is not valid
    """
    paths = {name: Path(folder) / f"{name}{ENDING}" for name in study_names(folder)}
    if not paths:
        raise ReportError(
            f"{folder}: no article (*{ENDING}) found; add one and run `{command('site')}`."
        )
    if only is not None:
        if only not in paths:
            raise ReportError(f"unknown study {only!r}; articles here: {', '.join(paths)}.")
        paths = {only: paths[only]}
    studies = [read_study(path, **replaced) for path in paths.values()]
    return sorted(studies, key=lambda study: study.front_matter.date, reverse=True)


def read_study(
    path: Path | str,
    allow_local: bool = False,
    allow_file: Sequence[str] = (),
    real: bool = True,
    text: str | None = None,
    **replaced: object,
) -> Study:
    """The article in a template file.

    allow_local: as of `Study`; text: of a template that is not written yet
    allow_file: files and folders outside the project that the article may publish
    real: False leaves out models that come in packages, wherever front matter names another
    replaced: keys that options of the command line set; None and keys that do not concern this
        kind of article do not count
    raises: ReportError naming file, line, key and the nearest valid key; also for a file outside
        the project that only front matter names
    """
    path = Path(path)
    lines = (read_text(path) if text is None else text).split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == MARK]
    if len(ends) < 2 or ends[0] != 0:
        raise ReportError(
            f"{path}: must start with front matter between two lines of '---'; `{PROGRAM} "
            "new NAME` writes an article that has it."
        )
    header = lines[1 : ends[1]]
    body = "\n" * (ends[1] + 1) + "\n".join(lines[ends[1] + 1 :])
    values = parse(header, path)
    if "passage" in blocks(header):  # lines below `|` are a text, however few: never a name
        values["passage"] = {"text": values["passage"]}
    kind = kind_of_article(values)
    several = kind == "passage" and (values.get("models") or values.get("revisions"))
    replaced = {
        key: value
        for key, value in replaced.items()
        if value is not None
        and key not in (NOT_FOR_SEVERAL if several else QUESTIONS[kind].not_for)
    }
    rest = {key: value for key, value in values.items() if key not in instead_of(replaced)}
    root = publication_of(path)
    rest = _from_project(rest, root)
    if kind in READ_BY["measures"]:
        rest |= {"measures": _measures(rest.get("measures"), root / "measures")}
    if not real:
        rest = _without_packaged(rest)
    try:
        front_matter = FrontMatter(**rest | replaced)
    except ValidationError as error:
        # an unknown key first: a key that is missing is often just misspelt
        problem = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
        raise ReportError(explain(problem, header, path, replaced)) from error
    about = path.name.removesuffix(ENDING), front_matter, path, body, tuple(header)
    study = Study(*about, tuple(replaced), allow_local=allow_local)
    with study.blaming("measures"):
        _require_measures(front_matter.measures or (), root / "measures")
    for key in [key for key in PUBLISHED if key not in replaced]:
        with study.blaming(key):
            _require_inside(getattr(front_matter, key), root, allow_file)
    return study


def _require_inside(value, root, allowed):
    """Stop for a value of front matter that is a file outside the project and was not allowed."""
    name = getattr(value, "file", value)
    if str(name).lower().endswith((*SUFFIXES, *ROW_ENDINGS)) and os.path.lexists(name):
        require_within(name, root, allowed)
    # else a text, a name that ships, or nothing, which is refused where it is read


def instead_of(replaced: dict) -> tuple[str, ...]:
    """Keys of front matter that the options of the command line make void.

    replaced: key that an option sets -> its value
    """
    if replaced.get("models"):
        return ("model", "revisions", "label")
    return ("beside", "label") if replaced.get("model") else ()


def _without_packaged(values):
    """The values of front matter, without models in packages that have an alternative there."""
    values = values | {key: _others(values[key]) for key in MODELS if key in values}
    if isinstance(values.get("beside"), list):
        values["beside"] = [name for name in values["beside"] if name != values.get("model")]
    return values


def _others(names):
    """A name of a model, or a list of them at any depth, without those in packages."""
    if isinstance(names, list):
        return [_others(name) for name in names]
    return without_packaged(names) if isinstance(names, str) else names


def _from_project(values, root):
    """The values of front matter, with whole paths for files of the publication at `root`.

    A name of a table is one of a data set that ships, even if a file has that name too.
    """
    return {
        key: _file(_from_publication(key, value, root), root)
        if key in FILES and (key != "table" or str(value).lower().endswith(ROW_ENDINGS))
        else value
        for key, value in values.items()
    }


def _measures(names, folder):
    """The paths of a publication's own measures, list of str.

    names: of those that the article wants; None: all in the folder
    A name without a file becomes that of the file, for `_require_measures`.
    """
    files = {path.stem: str(path) for path in own_files(folder)}
    if not isinstance(names, list):
        return [*files.values()] if names is None else names
    return [files.get(name, str(folder / f"{name}.py")) for name in names if isinstance(name, str)]


def _require_measures(files, folder):
    """Stop for a measure that the folder has not; files: as of `_measures`."""
    there = {str(path): path.stem for path in own_files(folder)}
    for name in [Path(file).stem for file in files if file not in there]:
        near = nearest(name, there.values())
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ReportError(
            f"{folder.name}/ has no measure {name!r}; {hint}it has: "
            f"{', '.join(there.values()) or 'none'}. Those that ship are always taken."
        )


def _from_publication(key, value, root):
    """The path, from `root`, of the publication's own passage or prompts of that name; else the
    value."""
    if key not in OWN or not isinstance(value, str) or Path(value).name != value:
        return value
    folder, endings = OWN[key]
    names = (f"{folder}/{value}{ending}" for ending in endings)
    try:
        return next((name for name in names if (root / name).is_file()), value)
    except OSError:  # the name is too long, for instance
        return value


def _file(value, root):
    """A value with the whole path of the file or the model's folder that it names below `root`.

    A name that is no file there, or one that leads to a file from the current folder too, stays as
    it is.
    """
    if isinstance(value, list):
        return [_file(name, root) for name in value]
    if isinstance(value, dict):
        return {key: _file(name, root) if key == "file" else name for key, name in value.items()}
    if not isinstance(value, str) or not value.strip() or "\n" in value or "\0" in value:
        return value
    try:
        here = root / value
        # of folders, checkpoints and folders of revisions
        models = (*here.glob("config.json"), *here.glob("*/config.json"))
        known = here.is_file() or (here.is_dir() and any(models))
        return str(here) if known and not Path(value).exists() else value
    except OSError:  # the name is too long, for instance
        return value
