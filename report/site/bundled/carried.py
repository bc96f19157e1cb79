"""The data of a bundle: which files, and how they lie in a page or beside it.

A file is packed (zlib) and written in base64, whose letters mean nothing in HTML or in a script.
"""

import base64
import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from html import escape
from pathlib import Path

from report.files import inside
from report.site.bundled.written import MARK

LOCKED = {
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",  # the theme's and the figures' style sheets, and attributes
    "img-src": "data:",
    "font-src": "data:",
    "connect-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
"""Directive -> sources, besides `script-src`: a bundle asks no host for anything."""

DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file in a .zip, so that the same article gives the same bytes."""


def policy(hashes: Iterable[str], beside: bool) -> str:
    """The Content-Security-Policy of a bundle.

    hashes: of the scripts in the page; beside: whether scripts beside it hold its data
    """
    # browsers do not agree on whether 'self' means files
    sources = [*sorted(set(hashes)), *(["'self'", "file:"] if beside else [])]
    scripts = {"script-src": " ".join(sources)}
    return "; ".join(f"{name} {value}" for name, value in (LOCKED | scripts).items())


def files(site: Path, folders: Iterable[str]) -> dict[str, bytes]:
    """What figures may ask for: all JSON files of folders of a site, by path.

    raises: ReportError if one leads elsewhere
    """
    found = {}
    for folder in sorted(set(folders)):
        for path in sorted(inside(site, folder).rglob("*.json")):
            name = path.relative_to(site).as_posix()
            found[name] = inside(site, name).read_bytes()
    return found


def packed(content: bytes) -> str:
    """A file as text."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def blocks(data: dict[str, bytes]) -> str:
    """Files as elements of a page, which browsers read as text."""
    return "".join(
        f'<script type="text/plain" data-file="{escape(name)}">{packed(content)}</script>\n'
        for name, content in sorted(data.items())
    )


def archive(name: str, page: bytes, data: dict[str, bytes]) -> bytes:
    """A .zip of one folder: the page, and each file as a script that hands it to the page."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as written:
        written.comment = MARK.encode()
        _put(written, f"{name}/{name}.html", page)
        for path, content in sorted(data.items()):
            script = f"carried({json.dumps(path)}, {json.dumps(packed(content))});\n"
            _put(written, f"{name}/data/{path}.js", script.encode())
    return memory.getvalue()


def _put(written, name, content):
    about = zipfile.ZipInfo(name, DATE)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    about.create_system = 3
    written.writestr(about, content, compresslevel=9)
