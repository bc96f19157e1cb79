"""The theme's style sheets, without what the settings of a publication cannot bring into a page.

MkDocs takes a file of the theme from the publication's folder where that has one of the same name.
So a lighter style sheet needs no hook, and without it a page looks the same.
"""

import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from report.errors import ReportError, setup

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
