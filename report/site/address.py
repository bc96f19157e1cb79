"""Where a site is published: what mkdocs.yml says of it, and what a built site was built for."""

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.exceptions import MkDocsException
from mkdocs.utils.yaml import yaml_load

from report.errors import UsageError

CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')

EXAMPLE = "https://you.github.io/repo/"


@dataclass(frozen=True)
class Site:
    """What is said of a site as a whole."""

    name: str
    description: str
    url: str
    """Its address with a slash at the end, or "" while it is not known."""


def read_site(config):
    """The `Site` of a mkdocs.yml, with the variables of the environment that it names.

    raises: UsageError if the file is no YAML or its site_url is no address
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


def address(text):
    """The address of a site, with a slash at the end; "" for none.

    raises: UsageError if it is not the address of a folder on a web server
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


def built_for(folder):
    """The address that a built site says it has, "" if it was built without one."""
    found = CANONICAL.search((Path(folder) / "index.html").read_text("utf-8"))
    return unescape(found[1]) if found else ""
