"""A new article: one file, with front matter and prose around the figures, that builds at once.

The same prose stands in for the words of an article whose `about` names other models than those
that are measured: it is true of any.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path

from report import files
from report.errors import UsageError
from report.inputs.yaml_lines import parse
from report.kinds import file_of, questions
from report.project import Project
from report.study.study import ENDING, MARK, Study, require_name, study_names

SKELETON = "new.md.j2"
"""File in the folder of a kind: an article that builds as it is."""

PLACEHOLDERS = {"author": "Your name", "summary": "One sentence for the home page."}
"""Key of front matter -> what a new article says until its author replaces it."""


def kinds() -> list[str]:
    """What a new article may be about, sorted: the kinds whose folder has a `new.md.j2`."""
    return sorted(name for name in questions() if file_of(name, SKELETON))


def new_article(name: str, kind: str, project: Project) -> Path:
    """Write a new article into a project; returns the path of its template.

    name: of the article, as in its address; kind: one of `kinds()`
    raises: UsageError if the name is taken or cannot be part of an address, or the kind is unknown
    """
    if kind not in kinds():
        raise UsageError(f"--kind {kind!r} is unknown; there are: {', '.join(kinds())}.")
    require_name(name)
    path = project.articles / f"{name}{ENDING}"
    if name in study_names(project.articles) or path.exists():
        raise UsageError(f"there is an article {name!r} already ({path}); take another name.")
    text = file_of(kind, SKELETON).read_text("utf-8")
    title = name.replace("-", " ").capitalize()
    values = {"TITLE": f'"{title}"', "DATE": date.today().isoformat()}
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    files.remove_leftovers(path.parent)
    files.write_text(path, text)
    return path


TEXTS = ("passage", "layers", "heads", "chat", "alibi_factor")
"""Keys of front matter that say what the models of an article read, and which heads it shows."""


def stands_in(study: Study, names: list[str]) -> str:
    """Why the words of its kind stand in for those of an article, a sentence; "" if they do not.

    names: of the models that were measured, in their order
    """
    front = study.front_matter
    others = [f"--{key.replace('_', '-')}" for key in TEXTS if key in study.replaced]
    if not front.about or (names[: len(front.about)] == front.about and not others):
        return ""
    instead = f", and {', '.join(names)} {'was' if len(names) == 1 else 'were'} measured"
    if names[: len(front.about)] == front.about:
        instead = f" as its front matter has it, and {' and '.join(others)} changed that"
    return (
        f"{study.name}: what it says is about {', '.join(front.about)}{instead}; the page has "
        "words that are true of any model."
    )


def as_measured(study: Study, names: list[str]) -> Study:
    """An article with words that are about what was measured: its own, or those of its kind.

    names: as of `stands_in`
    """
    if not stands_in(study, names):
        return study
    front = study.front_matter
    path = file_of(front.kind, SKELETON)
    header, body = path.read_text("utf-8").split(f"\n{MARK}\n", 1)
    lines = header.replace("@", "").split("\n")[1:]  # without the marks of `new_article`
    cover = parse(lines, path).get("cover", type(front).model_fields["cover"].default)
    return replace(
        study,
        front_matter=front.model_copy(update={"cover": cover}),
        body="\n" * (len(lines) + 2) + body,
        prose=path,
    )
