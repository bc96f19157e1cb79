"""Where the parts of a publication lie: its articles, the Markdown made from them, the site."""

from dataclasses import dataclass
from pathlib import Path

from report.errors import UsageError

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Project:
    """A folder with `mkdocs.yml`, `templates/articles/` and `site_src/`."""

    root: Path

    @property
    def articles(self):
        """Folder of the articles, `*.md.j2`."""
        return self.root / "templates" / "articles"

    @property
    def site_src(self):
        """Folder that MkDocs publishes: hand-written pages, and everything generated."""
        return self.root / "site_src"

    @property
    def frozen(self):
        """Folder of datasets that are kept to be published without measuring."""
        return self.root / "frozen"

    @property
    def config(self):
        """Settings of MkDocs."""
        return self.root / "mkdocs.yml"

    @property
    def site(self):
        """Folder of the built site."""
        return self.root / "site"


def project(root=HERE):
    """The project in a folder.

    raises: UsageError if the folder has no mkdocs.yml or no templates/articles
    """
    found = Project(Path(root))
    for needed in (found.config, found.articles):
        if not needed.exists():
            raise UsageError(
                f"{found.root}: no publication here ({needed.relative_to(found.root)} is missing); "
                "run the command in the folder of the project, or name it with --project."
            )
    return found
