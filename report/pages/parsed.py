"""The templates of an article, parsed and not rendered, and the names that they may use."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, TemplateNotFound, nodes

from report import kinds
from report.authored.boundary import authored
from report.errors import ReportError
from report.pages.article import ArticleFigures, own_figures
from report.study.study import Study
from report.text import quoted

ALWAYS = {"data", "model", "study", "loop", "caller", "varargs", "kwargs", "self"}
"""Names that every template may use."""

ASKING = ("defined", "undefined", "default", "d")
"""Tests and filters of names that may be missing."""

BRANCHES = (nodes.If, nodes.CondExpr)

COMPUTED = (nodes.Mul, nodes.Pow, nodes.Mod, nodes.Filter, nodes.Test, nodes.Call)
"""What may take all time and memory, and so is left for when the page is written."""


@dataclass(frozen=True)
class Part:
    """One template of an article."""

    path: str
    tree: nodes.Template


@dataclass
class Prose:
    """All templates of an article, and what they may name."""

    study: Study
    jinja: Environment
    size: Mapping[str, int | None]
    """"layers" and "heads" of the largest model; None for what is not known."""
    parts: list[Part] = field(default_factory=list)
    values: dict[str, list[nodes.Node | None]] = field(default_factory=dict)
    """Name -> for each time that templates set it, None and what they set it to; None alone for
    arguments, items of loops and the like."""
    asked: set[str] = field(default_factory=set)
    """Names that a template asks about: `{% if position is defined %}`."""

    def __post_init__(self):
        self.own = own_figures(self.study)
        self.calls: dict[str, Callable] = ArticleFigures(self.study, None).functions
        kind = self.study.front_matter.kind
        self.names = kinds.finding_names(kind)
        front = self.study.front_matter
        if kind == "passage" and len(front.all_names) > 1 and not front.beside:
            self.names = dict.fromkeys(self.names)  # of each model, in `compared`

    @property
    def conditions(self) -> list[str]:
        """Names of the article's conditions."""
        return [condition.name for condition in self.study.front_matter.conditions]

    @property
    def known(self) -> set[str]:
        """Every name that a template of this article may use."""
        return {*ALWAYS, *self.calls, *self.names, *self.jinja.globals, *self.values, *self.asked}

    def read(self, source: str, path: str) -> None:
        """Parse a template and those that it includes.

        raises: ReportError if one is missing or cannot be parsed
        """
        with authored(path):
            tree = self.jinja.parse(source, path, path)
            _require_arguments_once(tree, path)
            self.jinja.compile(source, path, path)  # which filters and tests there are
        self.parts.append(Part(path, tree))
        self._note_names(tree)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            name = _constant(node.template)
            if not isinstance(name, str):
                continue
            try:
                text, file, _ = self.jinja.loader.get_source(self.jinja, name)
            except TemplateNotFound as error:
                if getattr(node, "ignore_missing", False):
                    continue
                raise ReportError(
                    f"{path}, line {node.lineno}: no template {quoted(name)}; write it, or "
                    "correct its name."
                ) from error
            if file not in [part.path for part in self.parts]:
                self.read(text, file)

    def _note_names(self, tree):
        for node in tree.find_all(nodes.Name):
            if node.ctx != "load":
                self.values.setdefault(node.name, []).append(None)
        for node in tree.find_all(nodes.Assign):
            if isinstance(node.target, nodes.Name):
                self.values[node.target.name].append(node.node)
        for node in tree.find_all((nodes.Macro, nodes.Import)):
            self.values.setdefault(getattr(node, "name", None) or node.target, []).append(None)
        for node in tree.find_all(nodes.FromImport):
            for name in node.names:
                self.values.setdefault(name if isinstance(name, str) else name[1], []).append(None)
        for node in tree.find_all((nodes.Test, nodes.Filter)):
            if node.name in ASKING and isinstance(node.node, nodes.Name):
                self.asked.add(node.node.name)

    def constant(self, node: nodes.Node | None) -> Any:
        """What an expression is, if that is written down; None if it is not."""
        return _constant(self.expression(node))

    def expression(self, node: nodes.Node | None) -> nodes.Node | None:
        """The expression that a name was set to, if it was set once; any other node itself."""
        if not isinstance(node, nodes.Name):
            return node
        given = self.values.get(node.name, [])
        return given[-1] if len(given) == 2 else None  # the name that is set, and its value


def _require_arguments_once(tree, path):
    for call in tree.find_all((nodes.Call, nodes.Filter, nodes.Test)):
        names = [pair.key for pair in call.kwargs]
        for name in names:
            if names.count(name) > 1:
                raise ReportError(
                    f"{path}, line {call.lineno}: the argument {name!r} comes twice; give it once."
                )


def _constant(node):
    with suppress(nodes.Impossible):
        if not (node is None or isinstance(node, COMPUTED) or node.find(COMPUTED)):
            return node.as_const()
    return None


def walk(node, tests) -> Iterator[tuple[nodes.Node, list[nodes.Node]]]:
    """All nodes below one, each with the conditions that it stands under."""
    for child in node.iter_child_nodes():
        under = tests
        if isinstance(node, BRANCHES) and child is not node.test:
            under = [*tests, node.test]
        elif isinstance(node, (nodes.And, nodes.Or)) and child is node.right:
            under = [*tests, node.left]
        yield child, under
        yield from walk(child, under)
