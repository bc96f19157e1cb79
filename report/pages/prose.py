"""What can be known of an article's prose before a model runs.

Its templates are parsed and not rendered: names, functions and their arguments, figures and
conditions must be there. A part inside `{% if %}` is given the benefit of the doubt where its
condition may rule a mistake out.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, TemplateError, nodes

from report import findings
from report.errors import ReportError
from report.figures.build import defaults
from report.figures.build.find import figure_named
from report.figures.parts.received import Panels
from report.pages.article import ArticleFigures, own_figures
from report.pages.glossary import term
from report.pages.templates import environment
from report.study.study import Study
from report.text import nearest

ALWAYS = {"data", "model", "study", "loop", "caller", "varargs", "kwargs", "self"}
"""Names that every template may use."""

CONDITIONS = ("condition", "other", "lines")
"""Parameters of findings that take names of conditions."""

ASKING = ("defined", "undefined", "default", "d")
"""Tests and filters of names that may be missing."""

BRANCHES = (nodes.If, nodes.CondExpr)


def check_prose(study: Study) -> None:
    """Stop where the prose of an article asks for what there cannot be.

    raises: ReportError with the template, the line and the nearest name that there is
    """
    prose = _Prose(study, environment(study.template.parent))
    prose.read(study.body, str(study.template))
    for part in prose.parts:
        for node, tests in _walk(part.tree, []):
            try:
                _check(prose, node, tests)
            except ReportError as error:
                raise ReportError(f"{part.path}, line {node.lineno}: {error}") from error
    _check_references(prose)


@dataclass(frozen=True)
class _Part:
    """One template of an article."""

    path: str
    tree: nodes.Template


@dataclass
class _Prose:
    """All templates of an article, and what they may name."""

    study: Study
    jinja: Environment
    parts: list[_Part] = field(default_factory=list)
    values: dict[str, list[nodes.Node | None]] = field(default_factory=dict)
    """Name -> for each time that templates set it, None and what they set it to; None alone for
    arguments, items of loops and the like."""
    asked: set[str] = field(default_factory=set)
    """Names that a template asks about: `{% if position is defined %}`."""

    def __post_init__(self):
        self.own = own_figures(self.study)
        self.calls: dict[str, Callable] = ArticleFigures(self.study, None).functions
        kind = self.study.front_matter.kind
        self.names = findings.names(kind)
        if kind == "passage" and len(self.study.front_matter.all_names) > 1:
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
        try:
            self.jinja.compile(source, path, path)  # which filters and tests there are
        except TemplateError as error:
            line = getattr(error, "lineno", None) or 1
            where = getattr(error, "filename", None) or path
            raise ReportError(f"{where}, line {line}: {error}") from error
        tree = self.jinja.parse(source, path, path)
        self.parts.append(_Part(path, tree))
        self._note_names(tree)
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
            name = _constant(node.template)
            if not isinstance(name, str):
                continue
            try:
                text, file, _ = self.jinja.loader.get_source(self.jinja, name)
            except TemplateError as error:
                if getattr(node, "ignore_missing", False):
                    continue
                raise ReportError(f"{path}, line {node.lineno}: no template {name!r}.") from error
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


def _constant(node):
    with suppress(nodes.Impossible):
        return None if node is None else node.as_const()
    return None


def _walk(node, tests) -> Iterator[tuple[nodes.Node, list[nodes.Node]]]:
    """All nodes below one, each with the conditions that it stands under."""
    for child in node.iter_child_nodes():
        under = tests
        if isinstance(node, BRANCHES) and child is not node.test:
            under = [*tests, node.test]
        elif isinstance(node, (nodes.And, nodes.Or)) and child is node.right:
            under = [*tests, node.left]
        yield child, under
        yield from _walk(child, under)


def _check(prose, node, tests):
    """Stop where a node asks for what there cannot be."""
    if isinstance(node, nodes.Name) and node.ctx == "load":
        _check_name(prose, node.name, tests)
    elif isinstance(node, nodes.Getattr):
        _check_attribute(prose, node)
    elif isinstance(node, nodes.Call):
        _check_call(prose, node, tests)


def _check_name(prose, name, tests):
    if name not in prose.known:
        raise _unknown("name", name, prose.known - prose.jinja.globals.keys() - ALWAYS)
    several = prose.names and not any(prose.names.values())
    alone = several and name in prose.names and name not in ("data", "compared")
    if alone and not tests and name not in prose.values:
        raise ReportError(
            f"{name!r} is of one model, and this article has several; write `compared[0].{name}`."
        )


def _class_of(prose, node):
    """The class of what a name stands for; None if it is not known."""
    if not isinstance(node, nodes.Name) or node.name in prose.values:
        return None
    return prose.names.get(node.name)


def _check_attribute(prose, node):
    owner = _class_of(prose, node.node)
    if owner and node.attr not in (there := _attributes(owner)):
        public = [f"{node.node.name}.{name}" for name in there if not name.startswith("_")]
        raise _unknown("name", f"{node.node.name}.{node.attr}", public)


def _attributes(owner):
    """Names of all that objects of a class have: of the class, its fields, set by `__init__`."""
    names = set(dir(owner))
    for base in owner.__mro__:
        names |= inspect.get_annotations(base).keys()
        if code := getattr(base.__dict__.get("__init__"), "__code__", None):
            names |= set(code.co_names)
    return names


def _check_call(prose, node, tests):
    call = node.node
    if isinstance(call, nodes.Name) and call.name in prose.calls and call.name not in prose.values:
        given = _bound(call.name, prose.calls[call.name], node)
        _check_function(prose, call.name, given, tests)
    elif isinstance(call, nodes.Getattr):
        owner = _class_of(prose, call.node)
        method = getattr(owner, call.attr, None) if owner else None
        given = {}
        if callable(method):
            given = _bound(f"{call.node.name}.{call.attr}", method, node, itself=True)
        elif call.attr == "condition":
            given = dict(zip(["condition"], node.args, strict=False))
        for name in CONDITIONS if prose.conditions else ():
            _check_conditions(prose, given.get(name), tests)


def _bound(name, function, node, itself=False):
    """The arguments of a call by the names of the parameters, as far as they are written down.

    itself: whether the first parameter is the object itself
    raises: ReportError if they do not fit the function
    """
    signature = inspect.signature(function)
    first = [None] if itself else []
    pairs = {pair.key: pair.value for pair in node.kwargs}
    if "caller" in signature.parameters:
        pairs["caller"] = None  # the text inside {% call %}
    if node.dyn_args:
        return pairs
    bind = signature.bind_partial if node.dyn_kwargs else signature.bind
    try:
        return bind(*first, *node.args, **pairs).arguments
    except TypeError as error:
        raise ReportError(f"{name}(): {error}.") from error


def _check_function(prose, name, given, tests):
    if name == "term" and isinstance(key := prose.constant(given.get("key")), str):
        term(key)
    if name not in ("figure", "can_draw", "left_out"):
        return
    asked = prose.constant(given.get("name"))
    if not isinstance(asked, str):
        return
    figure = figure_named(asked, prose.own)
    if name == "figure" and not _mentions(tests, asked):
        reason = defaults.other_kind(figure, _drawn_of(prose, given.get("data")))
        if reason:
            raise ReportError(f"figure {asked!r} cannot be placed here: {reason}")


def _drawn_of(prose, data):
    """The class of the data that a figure is given; `object` if it is not known."""
    if data is None:
        return findings.names(prose.study.front_matter.kind)["data"]
    data = prose.expression(data)
    called = isinstance(data, nodes.Call) and isinstance(data.node, nodes.Getattr)
    return Panels if called and data.node.attr == "panels" else object


def _check_conditions(prose, node, tests):
    """Stop where an argument names a condition that the article has not."""
    named = prose.constant(node)
    named = [named] if isinstance(named, str) else named
    for name in named if isinstance(named, (list, tuple, dict)) else []:
        if name not in prose.conditions and not _mentions(tests, name):
            raise _unknown("condition", name, prose.conditions)


def _mentions(tests, word):
    """Whether the conditions that a node stands under say something about a word."""
    constants = [node for test in tests for node in [test, *test.find_all(nodes.Const)]]
    return any(isinstance(node, nodes.Const) and node.value == word for node in constants)


def _check_references(prose):
    """Stop where `ref`, or the front matter's `cover`, names a figure that is nowhere placed."""
    calls = [
        (part, node, _bound(node.node.name, prose.calls[node.node.name], node))
        for part in prose.parts
        for node in part.tree.find_all(nodes.Call)
        if isinstance(node.node, nodes.Name) and node.node.name in ("figure", "ref", "cover")
    ]
    placed = [
        prose.constant(given.get("key", given.get("name")))
        for _, node, given in calls
        if node.node.name == "figure"
    ]
    if None in placed:  # a name is made up while the page is written
        return
    for part, node, given in calls:
        wanted = prose.constant(given.get("name")) if node.node.name == "ref" else None
        if wanted is not None and wanted not in placed:
            near = nearest(wanted, placed)
            raise ReportError(
                f"{part.path}, line {node.lineno}: ref({wanted!r}): this article has no such "
                f"figure; {f'did you mean {near[0]!r}? ' if near else ''}it has: "
                f"{', '.join(dict.fromkeys(placed)) or 'none'}."
            )
    if not any(node.node.name == "cover" for _, node, _ in calls):
        _check_cover(prose, placed)


def _check_cover(prose, placed):
    front = prose.study.front_matter
    kind = findings.names(front.kind)["data"]
    with prose.study.blaming("cover"):
        stated = "cover" in front.model_fields_set
        drawable = (
            stated
            or not placed
            or not defaults.other_kind(figure_named(front.cover, prose.own), kind)
        )
        if front.cover not in placed and drawable:
            raise ReportError(
                f"cover {front.cover!r} is no figure of this article; it has: "
                f"{', '.join(dict.fromkeys(placed)) or 'none'}."
            )


def _unknown(what, name, known):
    near = nearest(name, known)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}."
    return ReportError(f"unknown {what} {name!r}; {hint}")
