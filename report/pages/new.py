"""A new article, or a new publication: a folder with its settings and one article, that builds at
once.

A new article is one file, with front matter and prose around the figures. The same prose stands in
for the words of an article whose `about` names other models than those that are measured: it is
true of any.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path

from report import files
from report.errors import NAME, VERSION, UsageError, requirement
from report.files import SHIPPED, TEMPLATES
from report.inputs.yaml_lines import parse
from report.kinds import file_of, questions
from report.pages.filters import yaml_text
from report.project import Project
from report.study.study import ENDING, MARK, Study, require_name, study_names
from report.text import quoted

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


STARTER = TEMPLATES / "publication"
COPIED = {
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "pages.yml": ".github/workflows/pages.yml",
}
"""File of the starter -> where it goes."""

ARTICLE = "first-look"
"""Name of the article that a new publication has."""

ADDRESS = "ADDRESS-OF-THE-PROGRAM"
"""Stands where an address must be, if the program came from this machine."""

LEFT_OUT = ("Docs", "About")
"""Parts of the navigation whose pages are about this project itself."""


def new_publication(name: str, folder: Path, kind: str = "passage") -> list[Path]:
    """Write a publication into the new folder `name`; returns its files.

    The settings are those of the project's own site, under another name.

    folder: where the new folder goes; kind: of its article, as of `new_article`
    raises: UsageError if the name cannot be part of an address, there is something of that name, or
        the kind is unknown
    """
    require_name(name)
    made = Project(folder / name)
    if made.root.exists():
        raise UsageError(f"there is something called {name!r} here already; take another name.")
    title = name.replace("-", " ").capitalize()
    files.remove_leftovers(folder)
    with files.new_folder(made.root) as root:
        into = Project(root)
        for source, target in COPIED.items():
            text = (STARTER / source).read_text("utf-8")
            files.write_text(root / target, _filled(text, title))
        files.write_text(into.config, _settings(title))
        image = Path("images") / "favicon.svg"
        files.write_bytes(into.site_src / image, (SHIPPED / "site_src" / image).read_bytes())
        files.write_text(into.figures / ".gitkeep", "")
        new_article(ARTICLE, kind, into)
    return sorted(path for path in made.root.rglob("*") if path.is_file())


def _filled(text, title):
    needed = requirement()
    values = {
        "TITLE": title,
        "VERSION": VERSION,
        "PROGRAM": shlex.quote(needed or f"{NAME}[measure] @ {ADDRESS}"),
        "ORIGIN": _origin(needed),
    }
    return re.sub(r"@([A-Z]+)@", lambda name: values[name[1]], text)


def _origin(needed):
    """A sentence about where the program came from; needed: as of `requirement`."""
    if needed is None:
        return (
            "The program came from a folder or a file on one machine. Put where others can get it "
            f"in place of {ADDRESS}, here and in `.github/workflows/pages.yml`."
        )
    if " @ " in needed:
        return "The program that began this publication came from there."
    return (
        "The program came from a package registry, or from a folder that `--find-links` named; "
        "then name it here and in `.github/workflows/pages.yml` too."
    )


def placeholders(project: Project, studies: Iterable[Study]) -> list[str]:
    """A sentence for every text of a new publication that its author has not replaced yet."""
    texts = [
        f"{study.template}: `{key}` still says {quoted(text)}; write your own before you publish."
        for study in studies
        for key, text in PLACEHOLDERS.items()
        if getattr(study.front_matter, key) == text
    ]
    return texts + [
        f"{path} still says {ADDRESS}; put the address there from which others can install the "
        "program."
        for path in (project.root / name for name in COPIED.values())
        if path.is_file() and ADDRESS in path.read_text("utf-8", "replace")
    ]


def _settings(title):
    text = (SHIPPED / "mkdocs.yml").read_text("utf-8")
    text = re.sub(r"(?m)^site_name: .*", f"site_name: {yaml_text(title)}", text)
    text = re.sub(r"(?m)^site_description: .*", "site_description: What attention heads do", text)
    for part in LEFT_OUT:
        text = re.sub(rf"(?m)^  - {part}:.*\n(?:    .*\n)*", "", text)
    return text
