"""Styles, pictures, classic scripts and the theme's settings as parts of a page."""

import base64
import json
import re
from pathlib import Path

from report.errors import ReportError
from report.site.links import IN_STYLE, leads_to

TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".ico": "image/x-icon",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
"""Ending -> media type of what a page may show."""

FEATURES = ("navigation.top", "toc.", "content.")
"""How the names of the theme's features begin that a page alone can have."""

ENDS = re.compile(r"</(?=script|style)", re.IGNORECASE)


def script_text(text: str) -> str:
    """A script that ends where its element ends, whatever stands in its texts."""
    return ENDS.sub(r"<\\/", text).replace("<!--", r"<\!--")


def data_address(path: Path) -> str:
    """A picture or a font as an address that holds it.

    raises: ReportError if it is neither
    """
    kind = TYPES.get(path.suffix.lower())
    if kind is None:
        raise ReportError(
            f"{path}: no bundle can hold such a file; it holds {', '.join(sorted(TYPES))}."
        )
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def style_text(text: str, path: Path, site: Path) -> str:
    """A style sheet with what it shows in it.

    path: where it lies
    raises: ReportError if it names a file that is not there, or imports another style sheet
    """

    def held(match):
        address = "".join(each or "" for each in match.groups())
        if address.startswith(("data:", "#")):
            return match[0]
        target = leads_to(address, path, site)
        if target is None or not match[0].lower().startswith("url"):
            raise ReportError(f"{path}: {address} cannot be put into a bundle; leave it out.")
        return f'url("{data_address(target)}")'

    return ENDS.sub(r"<\\/", IN_STYLE.sub(held, text))


def settings(text: str) -> str:
    """The theme's settings without what needs a server or other pages."""
    try:
        settings = json.loads(text)
        features = [each for each in settings["features"] if each.startswith(FEATURES)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReportError("the page has no settings of the theme; build the site anew.") from error
    fewer = settings | {"base": ".", "features": features, "search": "", "version": None}
    return re.sub("<", r"\\u003c", json.dumps(fewer, ensure_ascii=False))
