"""Writes an article of a built site into one .html, or a .zip where that would be too large."""

from dataclasses import dataclass
from pathlib import Path

from report import files
from report.errors import ReportError, UsageError, command
from report.files import unreplaced
from report.pages.policy import script_hash
from report.site.address import built_for
from report.site.bundled import carried, scripts, written
from report.site.bundled.addresses import Addresses
from report.site.bundled.page import Page, rewritten
from report.site.check import require_files
from report.site.protect import problems

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
        data = carried.files(site, page.folders) | page.beside
    one = _filled(page, carried.blocks(data), [])
    ending = written.ending(output, len(one), limit)
    path = written.target(output, name, ending)
    if ending == ".zip":
        filled = _filled(page, "", sorted(data), beside=True)
        one = carried.archive(name, filled, data)
    files.remove_leftovers(path.parent)
    files.write_bytes(path, one)
    return Bundle(path, len(one))


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
    return page.text(carried.policy(hashes, beside), tail).encode("utf-8")
