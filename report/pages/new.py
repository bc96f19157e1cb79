"""A new article: one file, with front matter and prose around the figures, that builds at once."""

from datetime import date
from pathlib import Path

from report import files
from report.errors import UsageError
from report.kinds import file_of, questions
from report.project import Project
from report.study.study import ENDING, require_name, study_names

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
