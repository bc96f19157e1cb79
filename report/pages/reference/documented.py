"""What a page of the reference consists of, and docstrings as Markdown."""

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass

from pydantic import BaseModel

from report.pages.filters import markdown_text
from report.text import slug

ITEM = re.compile(r"([a-z_][\w, ]*): (.*)")
"""A line that begins what a docstring says of an argument, "returns" or "raises"."""


@dataclass(frozen=True)
class Entry:
    """One thing that is described."""

    name: str
    """As it is written in code."""
    text: str
    """Markdown."""
    about: str = ""
    """What stands above the text, Markdown: what it may be, and what it is by default."""


@dataclass(frozen=True)
class Section:
    """Entries under a heading."""

    title: str
    entries: list[Entry]
    text: str = ""
    """Markdown below the heading."""

    def anchor(self, entry: Entry) -> str:
        """The place of an entry on its page, from its name without arguments."""
        name = re.search(r"[\w.-]+", entry.name.lstrip("-"))[0]
        return f"{slug(self.title)}-{name.replace('.', '-')}"


@dataclass(frozen=True)
class Reference:
    """A page of the reference."""

    name: str
    """Of its file, without ending."""
    title: str
    description: str
    sections: list[Section]


def marked(text: str) -> str:
    """A sentence as Markdown in which only what stands in backquotes is more than plain text."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else markdown_text(part) for part in parts)


def code(text: object) -> str:
    """Any text in one line as a code span."""
    plain = " ".join(str(text).split())
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: paragraphs, and a list of what it says of arguments and errors."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(docstring or ""))
    return "\n\n".join(_paragraph(lines.splitlines(), n) for n, lines in enumerate(paragraphs))


def _paragraph(lines, number):
    """A paragraph as Markdown; only a later one than the first may be a list, by its first line.

    lines: of the paragraph; number: of it, from 0
    """
    if not number or not lines or not ITEM.match(lines[0]):
        return marked(" ".join(lines))
    items = []
    for line in lines:
        if item := ITEM.match(line):
            items.append((item[1], [item[2]]))
        else:
            items[-1][1].append(line)
    return "\n".join(f"- **{marked(name)}**: {marked(' '.join(words))}" for name, words in items)


def attributes(owner: type) -> dict[str, str]:
    """The docstrings below a class's annotated attributes in its source: name -> text, "" for none;
    for a model of pydantic, those of its bases too."""
    texts = {}
    if issubclass(owner, BaseModel):  # whose keys may be those of its bases
        for base in owner.__bases__:
            texts |= attributes(base) if base is not BaseModel else {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    for node, below in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            texts[node.target.id] = inspect.cleandoc(below.value.value) if text else ""
    return texts


def call(name: str, function: object) -> str:
    """How a function is called: its name and parameters, without types and `self`."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    return f"{name}{inspect.Signature(parameters)}"
