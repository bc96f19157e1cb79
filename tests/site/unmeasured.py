"""A project with the real settings, theme, scripts and styles, and a few datasets, which builds at
once: nothing is measured, nothing is drawn."""

from report.pages.assets import write_assets, write_theme
from tests.commands import copy_project
from tests.site.small_site import write_datasets

PAGES = ("index", "archive/index", "tags/index", "models/index", "glossary/index", "about")
"""Of the navigation in mkdocs.yml."""


def write(folder):
    """Write it into a new folder, which is returned."""
    copy_project(folder, articles=False)
    for name in PAGES:
        path = folder / "site_src" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {name}\n\n## How to read a score\n")
    write_assets(folder / "site_src")
    write_theme(folder)
    write_datasets(folder / "site_src" / "datasets" / "a" / "0123456789ab")
    return folder
