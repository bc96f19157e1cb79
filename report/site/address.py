"""Where a site is published: what mkdocs.yml says of it, and what a built site was built for."""

import re
from collections.abc import Collection
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.utils.yaml import yaml_load

from report.authored.boundary import authored, read_text
from report.errors import UsageError
from report.files import require_all_within, require_text
from report.pages.page import Site

NO_PART = re.compile(r"[\s?#<>\"'\\{}|^`]")
"""Characters that no address of a site has; some would be read as code on the way to a page."""

CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')

EXAMPLE = "https://you.github.io/repo/"


def read_site(config: Path) -> Site:
    """What a mkdocs.yml says, with the values of the environment variables that it names.

    raises: UsageError if the file is not YAML, or its site_url is not an address
    """
    settings = _settings(config)
    return Site(
        name=str(settings.get("site_name") or ""),
        description=str(settings.get("site_description") or ""),
        url=address(settings.get("site_url") or ""),
    )


def _settings(config):
    require_text(Path(config))
    with authored(config):
        read_text(Path(config))  # says where it is not UTF-8
        with Path(config).open("rb") as file:
            settings = yaml_load(file)
    if not isinstance(settings, dict):
        raise UsageError(f"{config}, line 1: must be lines of `key: value`, as MkDocs reads them.")
    return settings


def require_own_files(config: Path, allowed: Collection[str] = ()) -> None:
    """Stop for a file that would end in a site and lies outside the project, as a link may lead.

    config: the project's mkdocs.yml; allowed: files and folders that the command line named
    raises: ReportError, as `files.require_all_within`, or that of `read_site`
    """
    settings, root = _settings(config), config.parent
    theme = settings.get("theme")
    named = [settings.get("docs_dir"), theme.get("custom_dir") if isinstance(theme, dict) else None]
    for name in dict.fromkeys((config.name, "site_src", "templates", "figures", *named)):
        if isinstance(name, str):
            require_all_within(root / name, root, allowed)


def address(text: str) -> str:
    """The address of a site, with a slash at the end; "" for none.

    raises: UsageError if it cannot be the address of a folder on a web server, or names a user; the
        message does not repeat a password
    """
    text = str(text)
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, sound = None, False
    if parts and "@" in parts.netloc:
        raise UsageError(
            f"SITE_URL: {after_user(text)!r} has a user or a password before the @, which every "
            f"page would show; leave them out, e.g. {EXAMPLE}"
        )
    if not sound or not text.isprintable() or NO_PART.search(text):
        raise UsageError(
            f"SITE_URL: {after_user(text)!r} is not the address of a site; it starts with https:// "
            f"(or http://), a host and perhaps a folder, e.g. {EXAMPLE}"
        )
    return text.rstrip("/") + "/"


def after_user(text: str) -> str:
    """A text that should be a host or an address, for messages: an @ hides what is before it."""
    return f"…{text[text.rindex('@') :]}" if "@" in text else text


def built_for(folder: Path) -> str:
    """The address that a built site says it has, "" if it was built without one."""
    # a page that is no text is for the check to name
    found = CANONICAL.search((Path(folder) / "index.html").read_text("utf-8", "replace"))
    return unescape(found[1]) if found else ""
