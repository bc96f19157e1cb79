"""The files that every page needs: script, style sheets, the chart library, published schemas.

The theme's style sheets, without what the settings of a publication cannot bring into a page.

MkDocs takes a file of the theme from the publication's folder where that has one of the same name.
So a lighter style sheet needs no hook, and without it a page looks the same.
"""

import functools
import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import vl_convert

from report import files
from report.datasets import store
from report.errors import ReportError, setup
from report.figures.build import css
from report.figures.build.vega import VEGA_LITE
from report.files import TEMPLATES, meant
from report.pages.glossary import glossary

SHEETS = "assets/stylesheets"
"""The folder of the theme's style sheets, below it and below what replaces it."""

UNLESS_NAMED = {
    r"(?:\.|--md-)tabbed-": ["tabbed"],
    r"\.keys\b": ["keys"],
    r"\.critic\b": ["critic"],
    r"\.task-list|--md-tasklist-": ["tasklist"],
    r"\.arithmatex": ["arithmatex"],
    r"(?:\.|--)md-annotation": ["annotate", "md_in_html"],
    r"\.md-source(?:__|(?![\w-]))|--md-source-": ["repo_url"],
    r"\.md-version(?:__|(?![\w-]))|--md-version-": ["provider"],
    r"\.md-select": ["alternate"],
    r"\.md-feedback": ["feedback"],
    r"\.md-consent": ["consent"],
    r"(?:\.|--)md-path": ["navigation.path"],
    r"\.md-nav--integrated": ["toc.integrate"],
    r"\.md-(?:post|author|profile|pin)\b|\.md-content--post|--md-post-": ["blog"],
    r"--md-mermaid-": ["mermaid"],
}
"""Selectors and properties of a part of the theme -> the settings that bring it into pages, one of
which is named where a page can have it."""

BACKWARDS = re.compile(r"language: *[\"']?(?:ar|fa|he|ur)\b")
"""Settings of a site that is written from right to left."""

SIGNS = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/\*.*?(?:\*/|\Z)|[{};]""", re.DOTALL)
"""What a style sheet is split at; signs in texts and comments do not count."""

TEXT = r""""[^"]*"|'[^']*'"""
PROPERTY = re.compile(rf"{TEXT}|(--[\w-]+):(?:{TEXT}|[^;])*;?")
"""What a rule declares under a name of its own, such as an icon. A text is not looked into."""

COMMA = re.compile(r",(?![^()]*\))")
WITHIN = re.compile(r":(?:not|is|where|has)\([^()]*\)")
PALETTE = re.compile(r"\[data-md-color-(?:primary|accent)=([\w-]+)\]")


def lighter(settings: str) -> dict[str, str]:
    """The theme's style sheets for a publication, by their names below its folder.

    settings: the text of its mkdocs.yml
    returns: none for settings that go on in another file
    raises: ReportError if the theme is not installed
    """
    if re.search(r"^INHERIT\b", settings, re.MULTILINE):
        return {}
    theme = find_spec("material")
    if not theme or not theme.submodule_search_locations:
        raise ReportError(f"mkdocs-material is not installed; run `{setup()}`.")
    folder = Path(theme.submodule_search_locations[0]) / "templates" / SHEETS
    needed = _needed(settings)
    return {
        f"{SHEETS}/{path.name}": without(path.read_text("utf-8"), needed)
        for path in sorted(folder.glob("*.min.css"))
    }


def without(sheet: str, needed: Callable[[str], bool]) -> str:
    """A style sheet without rules that no page needs, and without properties that none needs.

    sheet: minified; needed: whether a page needs a selector, or a property such as `--icon`
    """
    rules = []
    for head, body in _rules(sheet):
        if body is None:
            rules.append(head)
        elif head.startswith(("@media", "@supports")):
            inside = without(body, needed)
            rules.append(f"{head}{{{inside}}}" if inside else "")
        elif head.startswith("@"):
            rules.append(f"{head}{{{body}}}")
        else:
            selectors = ",".join(filter(needed, COMMA.split(head)))
            body = PROPERTY.sub(lambda it: it[0] if not it[1] or needed(it[1]) else "", body)
            rules.append(f"{selectors}{{{body}}}" if selectors else "")
    return "".join(rules)


def _needed(settings):
    """Whether a selector can be met on a page with these settings."""
    parts = [
        part for part, names in UNLESS_NAMED.items() if not any(name in settings for name in names)
    ]
    if not BACKWARDS.search(settings):
        parts.append(r"^\[dir=rtl\]")
    unused = re.compile("|".join(parts))
    named = set(re.findall(r"[\w-]+", settings))

    def needed(selector):
        if not set(PALETTE.findall(selector)) <= named:
            return False
        return not unused.search(WITHIN.sub("", selector))

    return needed


def _rules(sheet) -> Iterator[tuple[str, str | None]]:
    """The rules of a style sheet: (what stands before the braces, what in them). A statement has
    no braces: (statement, None)."""
    depth = start = body = 0
    for sign in SIGNS.finditer(sheet):
        if sign[0] == "{":
            body = body if depth else sign.end()
            depth += 1
        elif sign[0] == "}":
            depth -= 1
            if depth == 0:
                yield sheet[start : body - 1], sheet[body : sign.start()]
                start = sign.end()
        elif sign[0] == ";" and depth == 0:
            yield sheet[start : sign.end()], None
            start = sign.end()


WEB = Path(__file__).parents[1] / "web"
"""What is published below `assets/`, in the same folders."""

OF_FIGURES = (
    "figure/controls.css",
    "figure/panels.css",
    "figure/tooltip.css",
    "reader/passage.css",
    "reader/marks.css",
    "page/print.css",
)
"""The styles of figures beside `figure/figures.css`."""

TOGETHER = {
    "page/site.css": (
        "page/article.css",
        "page/opening.css",
        "page/sidenotes.css",
        "page/lists.css",
        "page/hover_cards.css",
        "figure/figures.css",
        *OF_FIGURES,
    ),
    "figure/figures.css": OF_FIGURES,  # for the page of a figure alone
    "page/start.js": ("page/hover_cards.js", "page/printing.js"),
    "tools/toolbar.css": ("tools/menu.css", "tools/table_view.css", "tools/full_screen.css"),
}
"""What is sent as one file, as every further one keeps a reader waiting."""

LOCAL = {"page/explore.js", "page/explore.css"}
"""What is never published: of pages on the author's machine alone."""

FIGURES = "figure/figures.js"
"""The script that brings figures to life; `page/start.js` fetches it."""

COMMENTS = {
    ".js": re.compile(r"^[ \t]*//.*\n|^[ \t]+|^\n", re.MULTILINE),
    ".css": re.compile(r"/\*.*?\*/\s*|^[ \t]+|^\n|(?<=[{};,])\n", re.DOTALL | re.MULTILINE),
}
"""By the ending of a file's name."""

IMPORTED = re.compile(r"""^(?:import|export)\b[^;"'(]*["'](\.[\w./-]+)["']""", re.MULTILINE)
"""An import of another script; a later one, `import(...)`, may wait."""

HOLDS = "https://cdn.jsdelivr.net/npm/"
"""How the wheel addresses what it holds; nothing is fetched from there."""

WITH_VEGA = {
    "vega-interpreter@2.0.0": "expressionInterpreter",
    "vega-tooltip@1.0.0": "Handler",
}
"""What charts need besides Vega, of the versions that vl-convert-python 1.9 holds."""


def write_theme(root: Path) -> None:
    """Write `.theme`, which mkdocs.yml names: the program's changes to the theme of MkDocs, its
    lighter style sheets among them, and over them those in `templates/theme` of a publication.

    root: the publication's folder
    """
    settings = (root / "mkdocs.yml").read_text("utf-8")
    sheets = {Path(name): text for name, text in lighter(settings).items()}
    for name, text in sheets.items():
        files.write_text(root / ".theme" / name, text)
    folders = (TEMPLATES / "theme", root / "templates" / "theme")
    paths = {path.relative_to(where): path for where in folders for path in meant(where.rglob("*"))}
    wanted = {name: path for name, path in paths.items() if path.is_file()}
    for name, path in wanted.items():
        files.write_bytes(root / ".theme" / name, path.read_bytes())
    old = {path for path in (root / ".theme").rglob("*") if path.is_file()}
    for path in old - {root / ".theme" / name for name in (*wanted, *sheets)}:
        files.remove(path)


def write_assets(site_src: Path, besides: Iterable[str] = ()) -> None:
    """Write scripts, styles and the chart library to `site_src/assets`, schemas to `schemas`.

    besides: names of those in `LOCAL` that are wanted, too
    """
    assets = site_src / "assets"
    parts = {name for names in TOGETHER.values() for name in names} - TOGETHER.keys()
    sent = sorted(sources() - parts - LOCAL | {*besides})
    for name in sent:
        text = "".join(map(_source, (name, *TOGETHER.get(name, ()))))
        text = without_comments(Path(name).suffix, _with_modules(text))
        files.write_text(assets / name, text)
    files.write_text(assets / "vega.js", _chart_library())
    words = {term.anchor: {"name": term.name, "text": term.text} for term in glossary().values()}
    files.write_text(assets / "glossary.json", store.dumps(words))
    _remove_others(assets, {*sent, "vega.js"})
    schemas = {f"{name.replace('/', '-')}.json": name for name in store.schema_names()}
    for file, name in schemas.items():
        files.write_text(site_src / "schemas" / file, store.schema_text(name))
    files.remove_others((site_src / "schemas").glob("*.json"), schemas)


def sources() -> set[str]:
    """The files below `web`, set of paths as they are written in addresses."""
    return {path.relative_to(WEB).as_posix() for path in WEB.rglob("*") if path.is_file()}


def _remove_others(assets, published):
    """Remove what an older version has written there: scripts, styles and licences."""
    for folder in {"", *map(posixpath.dirname, sources())}:
        there = assets / folder
        names = {
            posixpath.basename(name) for name in published if posixpath.dirname(name) == folder
        }
        paths = [path for ending in ("js", "css", "txt") for path in there.glob(f"*.{ending}")]
        files.remove_others(paths, names)


def _source(name: str) -> str:
    """The text of a file; the figures' style sheet with the colours and sizes that it uses."""
    return (css.css() if name == "figure/figures.css" else "") + (WEB / name).read_text("utf-8")


def _with_modules(script: str) -> str:
    """A script with its empty list MODULES filled in, so that all scripts are asked for at once."""
    empty = "const MODULES = [];"
    if empty not in script:
        return script
    return script.replace(empty, f"const MODULES = {json.dumps(sorted(modules(FIGURES)))};")


def without_comments(suffix: str, text: str) -> str:
    """A script or a style sheet as it is sent: a reader's browser needs no explanation.

    In scripts, only comments that have lines of their own are taken out. Lines lose what indents
    them, so no text in backquotes may have several.
    """
    return COMMENTS[suffix].sub("", text) if suffix in COMMENTS else text


def modules(name: str) -> set[str]:
    """A script and all that it needs before it runs, set of paths below `web`."""
    needed, todo = set(), {name}
    while todo:
        script = todo.pop()
        needed.add(script)
        todo |= imported(script) - needed
    return needed


def imported(script: str) -> set[str]:
    """The scripts that one imports at its beginning, set of paths below `web`."""
    paths = IMPORTED.findall((WEB / script).read_text("utf-8"))
    return {posixpath.normpath(posixpath.join(posixpath.dirname(script), path)) for path in paths}


def _chart_library():
    """Vega and what draws with it as one ES module, out of the wheel that also draws the pictures.

    Not Vega-Lite: the build compiles specifications (see `report.figures.build.vega`).
    raises: ReportError if the wheel holds other versions
    """
    modules = {f"vega@{vl_convert.get_vega_version()}": "View, parse", **WITH_VEGA}
    imports = "".join(
        f'import {{{names}}} from "{HOLDS}{module}/+esm";' for module, names in modules.items()
    )
    snippet = f"{imports}export {{{', '.join(modules.values())}}};"
    try:
        return _bundle(snippet)
    except BaseException as error:
        if type(error).__name__ not in ("PanicException", "ValueError"):
            raise
        raise ReportError(
            f"vl-convert-python {vl_convert.__version__} does not hold {', '.join(modules)}; "
            f"install the locked version: run `{setup()}`."
        ) from error


@functools.cache
def _bundle(snippet: str) -> str:
    """A module with all that it imports in it, made once: it takes a second or two."""
    return vl_convert.javascript_bundle(snippet, vl_version=VEGA_LITE)
