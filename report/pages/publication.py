"""A new publication: a folder with its settings and one article, that builds at once."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from report import files
from report.errors import NAME, VERSION, UsageError, requirement
from report.files import SHIPPED, TEMPLATES
from report.pages.filters import yaml_text
from report.pages.new import PLACEHOLDERS, new_article
from report.project import Project
from report.study.study import Study, require_name
from report.text import quoted

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
