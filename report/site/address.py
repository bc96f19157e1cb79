"""Where a site is published: what mkdocs.yml says of it, and what a built site was built for."""

import re
from collections.abc import Collection
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from mkdocs.utils.yaml import get_yaml_loader, yaml_load

from report.authored.boundary import authored, read_text
from report.errors import UsageError
from report.files import require_all_within, require_text
from report.inputs.yaml_lines import once
from report.pages.page import Site
from report.site.links import as_browsers_read
from report.text import quoted

NO_PART = re.compile(r"[\s?#<>\"'\\{}|^`]")
"""Characters that no address of a site has; some would be read as code on the way to a page."""

LEADS_NOWHERE = re.compile(r"(javascript|vbscript|data(?!:image/)):\S", re.IGNORECASE)
"""How addresses begin that no page may have; `allowed.py` looks at all of them in built pages."""

CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')

EXAMPLE = "https://you.github.io/repo/"


def read_site(config: Path) -> Site:
    """What a mkdocs.yml says, with the values of the environment variables that it names.

    raises: UsageError if the file is not YAML, has a tag that runs code, or its site_url is not an
        address
    """
    settings = _settings(config)
    return Site(
        name=str(settings.get("site_name") or ""),
        description=str(settings.get("site_description") or ""),
        url=address(settings.get("site_url") or ""),
    )


def _texts(value):
    """All texts in a setting, but for the names of others."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


class _Settings(yaml.Loader):
    """As MkDocs' own, but a key that comes twice is an error, and so is a tag that runs code."""


def _refused(loader, name, node):
    if node.tag == f"{YAML}python/object/apply:pymdownx.slugs.slugify":  # as Material shows it
        return loader.construct_python_object_apply(name, node)
    raise UsageError(
        f"{node.start_mark.name}, line {node.start_mark.line + 1}: "
        f"{quoted(node.tag.replace(YAML, '!!', 1))} runs code when settings are read; write a "
        "value, `!!python/name:` with the name of a function, or a hook."
    )


YAML = "tag:yaml.org,2002:"
"""What the tags of YAML begin with; `!!` stands for it."""

_Settings.add_constructor(f"{YAML}map", once)
for _kind in ("module", "object", "object/new", "object/apply"):
    _Settings.add_multi_constructor(f"{YAML}python/{_kind}:", _refused)


def _settings(config):
    require_text(Path(config))
    with authored(config):
        lines = read_text(Path(config)).split("\n")  # says where it is not UTF-8
        with Path(config).open("rb") as file:
            settings = yaml_load(file, get_yaml_loader(_Settings))
        for link in filter(LEADS_NOWHERE.match, map(as_browsers_read, _texts(settings))):
            line = next((n for n, text in enumerate(lines, 1) if link in text), 1)
            raise UsageError(
                f"{config}, line {line}: {quoted(link)} runs code, or is a page that is no file of "
                "the site; give an address that begins with https://, or the path of a file."
            )
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
    match = CANONICAL.search((Path(folder) / "index.html").read_text("utf-8", "replace"))
    return unescape(match[1]) if match else ""
