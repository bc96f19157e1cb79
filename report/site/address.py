"""Where a site is published: what mkdocs.yml says of it, and what a built site was built for."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.exceptions import MkDocsException
from mkdocs.utils.yaml import yaml_load

from report.errors import UsageError
from report.pages.page import Site

CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')

EXAMPLE = "https://you.github.io/repo/"


def read_site(config: Path) -> Site:
    """What a mkdocs.yml says, with the values of the environment variables that it names.

    raises: UsageError if the file is not YAML, or its site_url is not an address
    """
    try:
        with Path(config).open(encoding="utf-8") as file:
            settings = yaml_load(file)
    except MkDocsException as error:
        raise UsageError(f"{config}: {error}") from error
    return Site(
        name=str(settings.get("site_name") or ""),
        description=str(settings.get("site_description") or ""),
        url=address(settings.get("site_url") or ""),
    )


def address(text: str) -> str:
    """The address of a site, with a slash at the end; "" for none.

    raises: UsageError if it cannot be the address of a folder on a web server
    """
    if not text:
        return ""
    try:
        parts = urlsplit(str(text))
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[\s?#<>\"'\\]", str(text)):
        raise UsageError(
            f"SITE_URL: {str(text)!r} is not the address of a site; it starts with https:// (or "
            f"http://), a host and perhaps a folder, e.g. {EXAMPLE}"
        )
    return str(text).rstrip("/") + "/"


def built_for(folder: Path) -> str:
    """The address that a built site says it has, "" if it was built without one."""
    found = CANONICAL.search((Path(folder) / "index.html").read_text("utf-8"))
    return unescape(found[1]) if found else ""
