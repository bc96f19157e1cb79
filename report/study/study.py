"""Studies: what articles ask of models, read from their templates."""

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from report.errors import ReportError
from report.inputs.yaml_lines import blocks, line_of, parse
from report.study.front_matter import FILES, KINDS, FrontMatter
from report.study.mistakes import explain

MARK = "---"

ENDING = ".md.j2"
"""Of the templates of articles."""


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
        raise ReportError(explain(problem, header, path, replaced)) from error
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
