"""Writes an article of a built site into one .html, or a .zip where that would be too large: which
file, of which kind, and what it may replace.

A file of data is packed (zlib) and written in base64, whose letters mean nothing in HTML or in a
script.
"""

import base64
import io
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from report import files
from report.errors import ReportError, UsageError, command
from report.files import inside, unreplaced
from report.pages.policy import script_hash
from report.site.address import built_for
from report.site.bundled import scripts
from report.site.bundled.page import MARK, Addresses, Page, rewritten
from report.site.check import require_files
from report.site.protect import problems


def ending_of(output: Path | None, size: int, limit: int) -> str:
    """ ".html" or ".zip": what `output` says, else what the size in bytes allows.

    raises: UsageError if it says .html and that would be too large, or something else
    """
    if output is None or output.is_dir():
        return ".html" if size <= limit else ".zip"
    if output.suffix not in (".html", ".zip"):
        raise UsageError(
            f"--output {output}: a bundle is one .html or a .zip; give a name that ends so, or a "
            "folder that is there."
        )
    if output.suffix == ".html" and size > limit:
        raise UsageError(
            f"--output {output}: one .html would take {size / 1e6:.1f} MB, and may take "
            f"{limit / 1e6:.1f} MB; give a name that ends in .zip."
        )
    return output.suffix


def target(output: Path | None, name: str, ending: str) -> Path:
    """The file of a bundle.

    raises: ReportError if something else than a bundle has its name
    """
    alone = output is not None and not output.is_dir()
    path = output if alone else (output or Path()) / f"{name}{ending}"
    if (path.exists() or path.is_symlink()) and not _is_bundle(path):
        raise ReportError(
            f"{path}: is there already and is no bundle, so it is not replaced; move it away, or "
            "give another file with --output."
        )
    return path


def _is_bundle(path):
    """Whether a file was written by this command."""
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if MARK.encode() in file.read(1000):
                return True
        with zipfile.ZipFile(path) as archive:
            return archive.comment == MARK.encode()
    except (OSError, zipfile.BadZipFile):
        return False


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


def carried_files(site: Path, folders: Iterable[str]) -> dict[str, bytes]:
    """What figures may ask for: all JSON files of folders of a site, by path.

    raises: ReportError if one leads elsewhere
    """
    contents = {}
    for folder in sorted(set(folders)):
        for path in sorted(inside(site, folder).rglob("*.json")):
            name = path.relative_to(site).as_posix()
            contents[name] = inside(site, name).read_bytes()
    return contents


def packed(content: bytes) -> str:
    """A file as text."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def text_blocks(data: dict[str, bytes]) -> str:
    """Files as elements of a page, which browsers read as text."""
    return "".join(
        f'<script type="text/plain" data-file="{escape(name)}">{packed(content)}</script>\n'
        for name, content in sorted(data.items())
    )


def archive(name: str, page: bytes, data: dict[str, bytes]) -> bytes:
    """A .zip of one folder: the page, and each file as a script that hands it to the page."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as zipped:
        zipped.comment = MARK.encode()
        _put(zipped, f"{name}/{name}.html", page)
        for path, content in sorted(data.items()):
            script = f"carried({json.dumps(path)}, {json.dumps(packed(content))});\n"
            _put(zipped, f"{name}/data/{path}.js", script.encode())
    return memory.getvalue()


def _put(zipped, name, content):
    about = zipfile.ZipInfo(name, DATE)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    about.create_system = 3
    zipped.writestr(about, content, compresslevel=9)


LIMIT = 25_000_000
"""Bytes of the largest .html: what a mail may carry, and a browser reads at once."""


@dataclass(frozen=True)
class Bundle:
    """What was written."""

    path: Path
    size: int
    """Bytes."""


def bundle(site: Path, name: str, output: Path | None = None, limit: int = LIMIT) -> Bundle:
    """Write the article `name` of a built site into a file.

    output: the file, .html or .zip; a folder that is there; None: the current folder
    limit: bytes of the largest .html
    raises: UsageError if there is no such article, or for a name of `output` that does not fit;
        ReportError if there is no site, if it is not as a build wrote it, or if another file is in
        the way
    """
    site = Path(site)
    _require_article(site, name)
    with unreplaced(site):
        require_files(site)
        page = _page(site, name)
        data = carried_files(site, page.folders) | page.beside
    content = _filled(page, text_blocks(data), [])
    ending = ending_of(output, len(content), limit)
    path = target(output, name, ending)
    if ending == ".zip":
        filled = _filled(page, "", sorted(data), beside=True)
        content = archive(name, filled, data)
    files.remove_leftovers(path.parent)
    files.write_bytes(path, content)
    return Bundle(path, len(content))


def _require_article(site, name):
    """Stop where there is no site, or no such article in it."""
    if not (site / "index.html").is_file():
        raise ReportError(
            f"{site}: no built site here (index.html missing); run `{command('site')}` first."
        )
    names = sorted(path.parent.name for path in site.glob("articles/*/index.html"))
    if name not in names:
        raise UsageError(
            f"no article {name!r} in {site}; there are: {', '.join(names) or 'none'}. An article "
            f"that you have just written is there after `{command('site')}`."
        )


def _page(site, name):
    path = site / "articles" / name / "index.html"
    try:
        html = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is not UTF-8 text; build the site anew.") from error
    if wrong := problems(html):
        raise ReportError(f"{path}: {wrong[0]}; build the site anew: `{command('site')}`.")
    return rewritten(html, Addresses(site, name, built_for(site)))


def _filled(page: Page, blocks: str, names: list[str], beside: bool = False) -> bytes:
    """The page as bytes, with its script and the data in it.

    names: of the files beside the page; beside: whether the data are there
    """
    script = scripts.script(page.modules, names, page.licence)
    hashes = [*page.hashes, script_hash(script)]
    tail = f'<script type="module">{script}</script>\n{blocks}'
    return page.text(policy(hashes, beside), tail).encode("utf-8")
