"""The Content-Security-Policy of every page: what a browser may load and run there.

Everything comes from the site itself, and nothing is evaluated. Of inline scripts only the theme's
run, each allowed by its hash. If a mistake of ours turned text into a script, that script would
stop the build; and it would not run, because it has no hash.
"""

import re
from html import escape
from pathlib import Path

from report import files
from report.errors import ReportError
from report.pages.policy import NAME, policy, script_hash
from report.site.allowed import EXECUTED, Drawing, Listing, Reader

HASH = re.compile(r"'sha256-[A-Za-z0-9+/]{43}='")

CHARSET = re.compile(r"<head[^<>]*>\s*<meta charset=\S+?>", re.IGNORECASE)
"""How the head of a page begins. What follows is still within the first KB, as it must be."""

REFERENCE = "404.html"
"""The page that tells which scripts are the theme's, since nothing on it is from an article."""

ROOT = re.compile(r'new URL\("[\w./%~+-]*",')
"""Where a script of the theme names the root of the site, relative to its page."""

PAGE = ".html"
STRAY = re.compile(r"\.(html?|xhtml|xht|shtml|mht(ml)?|svgz|svg\.(gz|br|zst))(\.|$)", re.IGNORECASE)
"""Names of what hosts send as a page, packed too; a name that ends in PAGE alone has a policy."""

TEXT = {PAGE, ".txt", ".md", ".csv", ".tsv"}
"""Endings of what is a page that is looked at as such, or text for browsers, whatever it holds."""

SPACE = b"\xef\xbb\xbf\xfe\xff\0 \t\r\n\f"
"""Bytes that may stand before the first sign of XML, in whatever encoding."""


def protect(folder: Path, root: Path | None = None) -> None:
    """Write one policy into all pages of a built site that have none yet.

    All pages share it, because instant navigation adds the head of the next page to that of the
    first, and a browser that sees two policies obeys both.
    root: of the project whose site it is, to say where somebody wrote what a page may not hold
    raises: ReportError if a page, an SVG or XML file holds what is not in `allowed.py`; if a page
        has an inline script that is not the theme's, an unusual head or name, or is not UTF-8 text
    """
    read = {path: _read(path, folder) for path in sorted(Path(folder).rglob("*.html"))}
    pages = {path: parsed(html) for path, html in read.items()}
    for stray in strays(folder):
        raise ReportError(f"{stray}; call it by another name, in site_src too.")
    for path, page in (pages | drawings(folder)).items():
        for refused in page.refused:
            more = f" (and {len(page.refused) - 1} more)" if len(page.refused) > 1 else ""
            where = _place(path.relative_to(folder), refused, root)
            raise ReportError(
                f"{where}: {refused.why}{more}; take it out: pages load nothing from another host, "
                "send nothing there, and run no code but the site's own files."
            )
    pages = {path: page for path, page in pages.items() if page.policies != [policy()]}
    reference = pages.get(Path(folder) / REFERENCE)
    known = {_anywhere(text) for text in reference.scripts} if reference else set()
    for path, page in pages.items():
        where = path.relative_to(folder).as_posix()
        unknown = [text for text in page.scripts if _anywhere(text) not in known]
        if unknown:
            raise ReportError(
                f"{where}: has a script in it that is not the theme's ({_begin(unknown[0])}); "
                "put it into a file below site_src and name that in `extra_javascript` of "
                "mkdocs.yml."
            )
        if not CHARSET.search(read[path][:1000]):
            raise ReportError(
                f'{where}: its head does not begin with <meta charset="utf-8">; write it so.'
            )
    hashes = {script_hash(text) for page in pages.values() for text in page.scripts}
    meta = f'<meta http-equiv="{NAME}" content="{policy(hashes)}">'
    for path, page in pages.items():
        files.write_bytes(path, _with_policy(read[path], page, meta).encode("utf-8"))


def as_others(html: str, other: str) -> str:
    """A page with the policy of another page of its site, which is built already."""
    meta = f'<meta http-equiv="{NAME}" content="{parsed(other).policies[0]}">'
    return _with_policy(html, parsed(html), meta)


def _with_policy(html, page, meta):
    end = CHARSET.search(html).end()
    head = "\n".join([meta, *_ahead(page.files)])
    return f"{html[:end]}\n{head}{html[end:]}"


def _ahead(scripts):
    """Links that make a browser fetch a page's scripts at once. After a policy it no longer looks
    ahead for them, and would fetch each only when it reaches it. scripts: (src, is a module)."""
    for source, module in scripts:
        how = 'rel="modulepreload"' if module else 'rel="preload" as="script"'
        yield f'<link {how} href="{escape(source)}">'


def problems(html: str) -> list[str]:
    """What is wrong with a page's policy, and what the policy would stop."""
    return problems_of(parsed(html))


def problems_of(page: "Page") -> list[str]:
    """The same of a page that is parsed already."""
    if not page.policies:
        return [f"has no {NAME}"]
    if len(page.policies) > 1:
        return [f"has {len(page.policies)} {NAME}s"]
    hashes = HASH.findall(page.policies[0])
    phrases = []
    if page.policies[0] != policy(hashes):
        phrases.append(f"its {NAME} is not the one that builds write")
    if page.late:
        phrases.append(f"its {NAME} comes after <{page.late}>, which it does not bind")
    allowed = set(hashes)
    for text in page.scripts:
        if script_hash(text) not in allowed:
            phrases.append(f"has a script in it without a hash ({_begin(text)})")
    return phrases + [f"line {refused.line}: {refused.why}" for refused in page.refused]


def drawings(folder: Path) -> dict[Path, Drawing]:
    """The SVG files below a folder, and all others that browsers may take for XML, by path."""
    paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {path: reads(path) for path in paths if (reads := _reader(path))}


def _reader(path):
    if path.suffix.lower() == ".svg":
        return Drawing
    if path.suffix in TEXT:
        return None
    with path.open("rb") as file:
        pieces = (piece.lstrip(SPACE) for piece in iter(lambda: file.read(1 << 13), b""))
        return Listing if next(filter(None, pieces), b"").startswith(b"<") else None


def strays(folder: Path) -> list[str]:
    """What is wrong with the names of pages below a folder, as phrases that begin with one."""
    paths = (path.relative_to(folder).as_posix() for path in sorted(Path(folder).rglob("*")))
    return [
        f"{path}: is a page for browsers, and pages are called *{PAGE}, which have a policy"
        for path in paths
        if STRAY.search(path) and not path.endswith(PAGE)
    ]


def _place(where, refused, root):
    """The file and line in which an author wrote what a page may not hold; those of the page, if
    nobody wrote it like that."""
    for source in ("site_src", "templates/theme") if where.suffix != PAGE and root else ():
        if (root / source / where).is_file():
            return f"{root / source / where}, line {refused.line}"
    stem = where.parent if where.name == "index.html" else where.with_suffix("")
    names = [f"{stem}.md", stem / "index.md", where] if root else []
    templates = [root / "templates" / "articles" / f"{stem.name}.md.j2"] if root else []
    templates += files.meant((root / "templates").rglob("*.j2")) if root else []
    paths = [*templates, *(root / "site_src" / name for name in names)]
    paths += [root / "mkdocs.yml"] if root else []
    texts = {path: path.read_text("utf-8", "replace") for path in paths if path.is_file()}
    for words in filter(None, (refused.text, refused.part)):
        for path, text in texts.items():
            if words in text:
                return f"{path}, line {text[: text.index(words)].count(chr(10)) + 1}"
    return f"{where.as_posix()}, line {refused.line}"


def _read(path, folder):
    try:  # as bytes: a browser reads a script's line ends as they are written here
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        where = path.relative_to(folder).as_posix()
        raise ReportError(
            f"{where}: is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8."
        ) from error


def _anywhere(script):
    """A script of the theme without the address of the root, which differs between pages."""
    return ROOT.sub('new URL("",', script)


def _begin(text):
    return " ".join(text.split())[:60]


class Page(Reader):
    """The policy of a page, and what it is about."""

    def __init__(self):
        super().__init__()
        self.policies = []
        self.scripts = []
        """Texts of the scripts in the page itself, as they stand there."""
        self.files = []
        """(src, whether it is a module) of the scripts beside the page."""
        self.late = ""
        """The first tag before the policy that loads or runs something."""
        self._script = None

    def handle_starttag(self, tag, attributes):
        super().handle_starttag(tag, attributes)
        at = {name: value or "" for name, value in attributes}
        if tag == "meta" and at.get("http-equiv", "").lower() == NAME.lower():
            self.policies.append(at.get("content", ""))
        elif tag in ("script", "link", "style", "base") and not self.policies:
            self.late = self.late or tag
        if tag == "script" and "src" in at:
            self.files.append((at["src"], at.get("type", "").lower() == "module"))
        elif tag == "script" and at.get("type", "").lower() in EXECUTED:
            self._script = []

    def handle_data(self, data):
        super().handle_data(data)
        if self._script is not None:
            self._script.append(data)

    def handle_endtag(self, tag):
        super().handle_endtag(tag)
        if tag == "script" and self._script is not None:
            self.scripts.append("".join(self._script))
            self._script = None


def parsed(html: str) -> Page:
    """The `policies`, `scripts`, `refused` and `late` of a page."""
    page = Page()
    try:
        page.feed(html)
        page.close()
    except AssertionError as error:  # of Python's HTMLParser
        page.refuse("<![", "<![", f"has a declaration that cannot be read ({error})")
    return page
