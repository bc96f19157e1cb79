"""Where an address leads inside a built site, and which addresses style sheets and scripts hold."""

import re
import sys
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

# A comment that is not closed goes to the end of the file, for browsers as well; so no text is read
# more than once or twice, whatever its author wrote.
COMMENT = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|url\(\s*[^"'()\s][^()]*\))|/\*.*?(?:\*/|\Z)""",
    re.DOTALL | re.IGNORECASE,
)
"""A comment of a style sheet, or a text or an address (group 1), in which none begins."""

ESCAPED = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
"""A character of a style sheet as its code, or after a backslash."""
COMMENT_LINES = re.compile(r"^[ \t]*(//.*$|/\*[\s\S]*?(?:\*/|\Z))", re.MULTILINE)

IN_STYLE = re.compile(
    r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^'"()\s]*))\s*\)|@import\s*["']([^"']+)"""
    r"""|["']((?:https?:)?//\w[^"']*)""",  # in image-set(), for instance
    re.IGNORECASE,
)

IN_SCRIPT = re.compile(
    r"""\b(?:from|import)\s*\(?\s*["'](\.{1,2}/[^"'\n]+)["']"""
    r"""|new URL\(\s*["']([\w./-]*\w\.\w+)["']\s*,\s*import\.meta\.url"""
)
"""What a module imports, at its beginning or later, and files that it names beside itself."""


def leads_to(address: str, page: Path, folder: Path, root: str = "/") -> Path | None:
    """The file that an address leads to; None if there is none, or it lies outside the site.

    address: as it stands in a page, a style sheet or a script
    page: the file that the address is relative to
    folder: of the site; root: path of the site on its host, with slashes around it
    """
    root = unquote(root or "/")
    here = quote(root + page.relative_to(folder).as_posix())
    try:
        alone = urlsplit(address)._replace(fragment="").geturl()
        path = unquote(urlsplit(urljoin(here, alone)).path)
        if not path.startswith(root):
            return None
        target = (folder / path.removeprefix(root)).resolve()
        target = folder / target.relative_to(folder.resolve())
        target = target / "index.html" if target.is_dir() else target
        return target if target.is_file() else None
    except (OSError, ValueError):  # outside; no path has a NUL in it, or names of any length
        return None


def in_styles(text: str) -> list[str]:
    """The addresses in a style sheet; data in it and parts of the page itself have none."""
    text = COMMENT.sub(r"\1", text)
    addresses = list(map("".join, IN_STYLE.findall(text)))
    if "\\" in text:  # an address of the site itself is written without
        meant = map("".join, IN_STYLE.findall(ESCAPED.sub(_meant, text)))
        addresses += [address for address in meant if is_foreign(address)]
    return [address for address in addresses if not address.startswith(("data:", "#"))]


def _meant(escaped):
    code = int(escaped[1] or "0", 16)
    return escaped[2] or (chr(code) if code <= sys.maxunicode else "")


def in_script(text: str) -> list[str]:
    """The addresses of what a script imports or names beside itself, relative to it."""
    return ["".join(groups) for groups in IN_SCRIPT.findall(COMMENT_LINES.sub("", text))]


def is_foreign(address: str) -> bool:
    """Whether an address is on some host, and not relative to the site."""
    address = as_browsers_read(address)
    return bool(re.match(r"([a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE))


def as_browsers_read(address: str) -> str:
    """An address without what browsers take out of it, and with "/" for what they take for one."""
    return re.sub(r"[\t\r\n]|^[\x00-\x20]+|[\x00-\x20]+$", "", address).replace("\\", "/")
