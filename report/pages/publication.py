"""A new publication: a folder with its settings and one article, that builds at once."""

import re
from pathlib import Path

from report import __version__, files
from report.errors import UsageError
from report.files import SHIPPED, TEMPLATES
from report.pages.filters import yaml_text
from report.pages.new import new_article
from report.project import Project
from report.study.study import require_name

STARTER = TEMPLATES / "publication"
COPIED = {
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "pages.yml": ".github/workflows/pages.yml",
}
"""File of the starter -> where it goes."""

ARTICLE = "first-look"
"""Name of the article that a new publication has."""

LEFT_OUT = ("Docs", "About")
"""Parts of the navigation whose pages are about this project itself."""


def new_publication(name: str, folder: Path) -> list[Path]:
    """Write a publication into the new folder `name`; returns its files.

    The settings are those of the project's own site, under another name.

    folder: where the new folder goes
    raises: UsageError if the name cannot be part of an address, or there is something of that name
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
        new_article(ARTICLE, "passage", into)
    return sorted(path for path in made.root.rglob("*") if path.is_file())


def _filled(text, title):
    return text.replace("@TITLE@", title).replace("@VERSION@", __version__)


def _settings(title):
    text = (SHIPPED / "mkdocs.yml").read_text("utf-8")
    text = re.sub(r"(?m)^site_name: .*", f"site_name: {yaml_text(title)}", text)
    text = re.sub(r"(?m)^site_description: .*", "site_description: What attention heads do", text)
    for part in LEFT_OUT:
        text = re.sub(rf"(?m)^  - {part}:.*\n(?:    .*\n)*", "", text)
    return text
