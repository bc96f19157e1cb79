"""What can be known of an article's prose before a model runs.

Its templates are parsed and not rendered: names, functions and their arguments,
figures and conditions must be there. A part inside `{% if %}` is given the benefit of the doubt
where its condition may rule a mistake out.

Controls of a figure must stand where they can, as far as that is known before.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from jinja2 import Environment, TemplateNotFound, nodes

from report.authored.boundary import authored
from report.errors import ReportError
from report.figures import Figure
from report.figures.build import defaults
from report.figures.build.find import HEADS, figure_named, figure_of
from report.figures.build.per_model import PARAM as MODEL
from report.figures.parts import target_classes
from report.figures.parts.choices import Switch
from report.figures.parts.received import Panels
from report.kinds import folders
from report.pages.article import ArticleFigures, no_cover
from report.pages.bibliography import read_bibliography, require_citation
from report.pages.glossary import term
from report.pages.templates import environment
from report.project import Project
from report.study.front_matter import FIGURE, QUESTIONS
from report.study.study import Study, publication_of
from report.text import nearest, quoted

SIZES = {"layer": "layers", "head": "heads"}
"""Control -> what a model has so many of."""


class _Unknown:
    """What is not measured yet. Whatever is made of it is not known either."""

    certain = True
    """Of the object that stands for all data: False once a plain value was made of this."""

    def __init__(self, data=None):
        self._data = data if data is not None else self

    def _again(self, *_, **__):
        return _Unknown(self._data)

    def _plain(self, value):
        self._data.certain = False
        return value

    __call__ = __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = _again
    __mul__ = __rmul__ = __floordiv__ = __truediv__ = __mod__ = __neg__ = _again

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown(self._data)

    def __len__(self):
        return self._plain(1)

    __index__ = __int__ = __len__

    def __iter__(self):
        return self._plain(iter([_Unknown(self._data)]))

    def __lt__(self, _):
        return self._plain(False)

    __le__ = __gt__ = __ge__ = __contains__ = __lt__

    def __format__(self, _):
        return self._plain("?")


class _Data(_Unknown):
    """Data of a model of which only the size is known."""

    SOME: ClassVar = {"targets": tuple(target_classes.NAMES), "renderings": {"": _Unknown()}}
    """What is of a kind that is known, while nobody knows yet which of it there are."""

    def __init__(self, size):
        super().__init__()
        for name in SIZES.values():
            if size.get(name) is not None:
                setattr(self, name, size[name])

    def __getattr__(self, name):
        return self._plain(self.SOME[name]) if name in self.SOME else super().__getattr__(name)


def check_state(
    figure: Figure, state: Mapping[str, object], size: Mapping[str, int | None], several: bool
) -> None:
    """Stop for a control that a figure does not have, or a value that it does not reach.

    state: of the controls; None for a value that is not written down
    size: "layers" and "heads" of the model, None for what is not known
    several: whether the figure has a switch between models besides
    raises: ReportError with the nearest control, or what is allowed
    """
    data = _Data(size)
    try:
        controls = figure.controls(data)
        known = [control.param for control in controls] + [MODEL] * several
    except Exception:  # it asks for what only a measurement has
        return
    for param in state:
        if param not in known:
            near = nearest(param, known)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ReportError(
                f"unknown control {param!r}; {hint}{figure.name} has: {', '.join(known) or 'none'}."
            )
    for control in controls:
        value = state.get(control.param)
        if value is not None and _is_known(control, data, size):
            control.check(value)


def _is_known(control, data, size):
    """Whether the values of a control are known already."""
    if isinstance(control, Switch):
        return data.certain and isinstance(control.options, dict)
    number = size.get(SIZES.get(control.param))
    if number is not None and control.maximum == number - 1:
        return True
    return data.certain and {type(control.minimum), type(control.maximum)} == {int}


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
    optional: set[str] = field(default_factory=set)
    """Names that a template asks about: `{% if position is defined %}`."""

    def __post_init__(self):
        project = Project(publication_of(self.study.template))
        self.figures_folder = project.figures
        self.calls: dict[str, Callable] = ArticleFigures(self.study.name, project, None).functions
        kind = self.study.front_matter.kind
        self.names = folders.finding_names(kind)
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
        return {
            *ALWAYS,
            *self.calls,
            *self.names,
            *self.jinja.globals,
            *self.values,
            *self.optional,
        }

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
                self.optional.add(node.node.name)

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


FOR_ALL = ("data", "compared", "predicted")
"""Names that stand for something in an article about several models, too."""

CONDITIONS = ("condition", "other", "lines")
"""Parameters of findings that take names of conditions."""


def check_prose(study: Study, size: Mapping[str, int | None] | None = None) -> None:
    """Stop where the prose of an article asks for what there cannot be.

    size: "layers" and "heads" that its largest model has, None for what is not known
    raises: ReportError with the template, the line and the nearest name that there is
    """
    prose = Prose(
        study,
        environment(study.template.parent, publication_of(study.template) / "templates"),
        size or {},
    )
    prose.read(study.body, str(study.template))
    for part in prose.parts:
        for node, tests in walk(part.tree, []):
            try:
                _check(prose, node, tests)
            except ReportError as error:
                raise ReportError(f"{part.path}, line {node.lineno}: {error}") from error
    _check_references(prose)
    _check_citations(prose)


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
    alone = several and name in prose.names and name not in FOR_ALL
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
    figure_name = prose.constant(given.get("name"))
    if figure_name is None:
        return
    key = prose.constant(given.get("key"))
    for text in (figure_name, *([] if key is None else [key])):
        if not isinstance(text, str) or not re.fullmatch(FIGURE, text):
            raise ReportError(
                f"{name}({quoted(text)}): the name or key of a figure is a text in quotes, of "
                "letters, digits, hyphens and underscores."
            )
    state = dict(given.get("state", {}))
    if figure_name != HEADS and "measure" in given:
        state["measure"] = given["measure"]
    elif "measure" in given and prose.constant(given["measure"]) is None:
        return  # it is made up while the page is written
    figure_name = figure_of(figure_name, prose.constant(given.get("measure")))
    data = _drawn_of(prose, given.get("data"))
    figure = figure_named(figure_name, prose.figures_folder, data)
    if name == "figure" and not _mentions(tests, figure_name):
        reason = defaults.other_kind(figure, data)
        if reason:
            raise ReportError(f"figure {figure_name!r} cannot be placed here: {reason}")
        _check_state(prose, figure, state, tests)


def _check_state(prose, figure, given, tests):
    """Stop for controls that a figure does not have; and for values that it does not reach, where
    no condition may rule them out."""
    front = prose.study.front_matter
    several = QUESTIONS[front.kind].in_turn and len(front.all_names) > 1 and not figure.of_models
    values = {name: None if tests else prose.constant(node) for name, node in given.items()}
    check_state(figure, values, prose.size, several)


def _drawn_of(prose, data):
    """The class of the data that a figure is given; `object` if it is not known."""
    if data is None:
        return folders.finding_names(prose.study.front_matter.kind)["data"]
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


def _placed(prose, given):
    """What an article calls a figure that it places; None where it is not written down."""
    name = prose.constant(given.get("key", given.get("name")))
    if name != HEADS or "key" in given:
        return name
    measure = prose.constant(given.get("measure"))
    return measure and figure_of(name, measure)


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
        if isinstance(node.node, nodes.Name)
        and node.node.name in ("figure", "ref", "cover")
        and node.node.name not in prose.values
    ]
    placed = [_placed(prose, given) for _, node, given in calls if node.node.name == "figure"]
    if None in placed:  # a name is made up while the page is written
        return
    for part, node, given in calls:
        call = node.node.name
        wanted = None if call == "figure" else prose.constant(given.get("name"))
        if wanted is not None and wanted not in placed:
            near = nearest(str(wanted), placed)
            raise ReportError(
                f"{part.path}, line {node.lineno}: {call}({quoted(wanted)}): this article has no "
                f"such figure; {f'did you mean {near[0]!r}? ' if near else ''}it has: "
                f"{', '.join(dict.fromkeys(placed)) or 'none'}."
            )
    if not any(node.node.name == "cover" for _, node, _ in calls):
        _check_cover(prose, placed)


def _check_cover(prose, placed):
    front = prose.study.front_matter
    kind = folders.finding_names(front.kind)["data"]
    with prose.study.blaming("cover"):
        stated = "cover" in front.model_fields_set
        drawable = (
            stated
            or not placed
            or not defaults.other_kind(figure_named(front.cover, prose.figures_folder), kind)
        )
        if front.cover not in placed and drawable:
            raise no_cover(front.cover, placed)


def _check_citations(prose):
    """Stop where `cite` names a work that `references.bib` has not, or cannot show."""
    bibliography = read_bibliography(prose.study.template.parent)
    for part in prose.parts:
        for node in part.tree.find_all(nodes.Call):
            call = node.node
            if getattr(call, "name", None) != "cite" or "cite" in prose.values:
                continue
            given = _bound("cite", prose.calls["cite"], node)
            keys = [prose.constant(each) for each in given.get("keys", ())]
            known = [key for key in keys if key is not None]  # others are made up later
            try:
                if len(known) == len(keys) and not node.dyn_args:
                    require_citation(keys, given.get("text"))
                for key in known:
                    bibliography.require(key)
            except ReportError as error:
                raise ReportError(f"{part.path}, line {node.lineno}: {error}") from error
            for key in known:
                bibliography.work(key)


def _unknown(what, name, known):
    near = nearest(name, known)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(known))}."
    return ReportError(f"unknown {what} {name!r}; {hint}")
