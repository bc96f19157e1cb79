"""Where the links of an article lead in a bundle: into it, to the published site, or nowhere."""

import posixpath
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from report.errors import ReportError
from report.files import inside, strict_json
from report.site.links import is_foreign, leads_to

GLOSSARY = "assets/glossary.json"
WORD = "word:"
"""Before the name of a term in the bundle's own glossary; no heading has such an anchor."""

OUTSIDE = ("http://", "https://", "mailto:")


class Addresses:
    """The addresses of one article of a built site."""

    def __init__(self, site: Path, name: str, published: str = ""):
        self.site, self.name = site, name
        self.page = site / "articles" / name / "index.html"
        self.root = urlsplit(published).path or "/"
        self.site_url = published if published.startswith(("http://", "https://")) else ""
        """Where the site is published; "" if it does not say."""
        self.published = self.site_url and f"{self.site_url.rstrip('/')}/articles/{name}/"
        self.glossary = _glossary(site)
        self.words = set()
        """The terms of the glossary that the article links to."""

    def file(self, address: str) -> Path | None:
        """The file of the site that an address in the page leads to."""
        return leads_to(address, self.page, self.site, self.root)

    def below(self, address: str) -> str | None:
        """The path in the site of a folder or a file, which may be missing; None if outside."""
        path = posixpath.normpath(posixpath.join("articles", self.name, address))
        if is_foreign(address) or path.startswith(("../", "/")) or path in ("..", "."):
            return None
        return path

    def link(self, address: str, folders: set[str]) -> str | None:
        """Where a link leads in the bundle; None: nowhere, it is to be plain text.

        folders: of the files that the bundle holds
        """
        if address.startswith("#"):
            return address
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        at_home = self.site_url and address.startswith(self.site_url)
        if (parts.scheme or parts.netloc) and not at_home:
            return address if address.lower().startswith(OUTSIDE) else None
        here = parts._replace(scheme="", netloc="").geturl() if at_home else address
        return self._inner(here, unquote(parts.fragment), folders)

    def _inner(self, address, fragment, folders):
        """The same for an address of the site."""
        file = self.file(address)
        path = file and file.relative_to(self.site).as_posix()
        if file == self.page:
            return f"#{quote(fragment, safe=':=,+')}"
        if path == "glossary/index.html" and fragment in self.glossary:
            self.words.add(fragment)
            return f"#{WORD}{quote(fragment)}"
        if path and path.endswith(".json") and any(path.startswith(f"{each}/") for each in folders):
            return quote(path)
        return urljoin(self.published, address) if self.published else None


def _glossary(site):
    """{anchor: (name, text)} of the site's terms; none if it has no glossary.

    raises: ReportError if the file is not what a build writes
    """
    path = inside(site, GLOSSARY)
    if not path.is_file():
        return {}
    try:
        terms = strict_json(path.read_bytes())
        return {anchor: (str(each["name"]), str(each["text"])) for anchor, each in terms.items()}
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise ReportError(f"{path}: is not the list of terms; build the site anew.") from error
