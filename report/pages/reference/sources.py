"""What the source of a module says in its errors. It is read, and never imported or run.

A sentence is put together from what is written in it. What a name in it stands for is looked up:
texts of the same function, constants, what other functions of this package return. All else is a
gap, called like what fills it. Commands are those of the installed package.
"""

import ast
import functools
import operator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from report import errors

PACKAGE = Path(errors.__file__).parent

RAISED = {"ReportError", "UsageError", "ValueError"}
"""Names of the classes whose first argument is a sentence; of those derived from them it is too."""

MOST = 6
"""Of a sentence with more wordings, or with two places that differ, these places are gaps."""

DEEPEST = 4
"""How many functions are followed to a text, one calling the other."""

GIVEN = {
    *("after_user", "fromkeys", "int", "iter", "list", "map", "max", "min", "next", "quoted"),
    *("repr", "sorted", "str"),
}
"""Functions whose result is called like what they are given."""

METHODS = {"argmax", "item", "max", "nonzero", "removeprefix", "replace", "rstrip", "strip"}
"""Methods whose result is called like what they are of."""

CALLED = {
    "__name__": "type",
    "__version__": "version",
    "gethostname": "machine",
    "gettempdir": "folder",
    "len": "number",
    "line_of": "line",
    "lineno": "line",
    "msg": "reason",
    "strerror": "reason",
}
"""Name in the code -> what a gap is called."""

VAGUE = {
    *("called", "did_you_mean", "e", "getattr", "has", "hint", "more", "of", "said", "sentence"),
    *("shown", "what", "where", "which", "why"),
}
"""Names that would tell a reader nothing."""

ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class Gap:
    """A place in a sentence that is filled anew each time."""

    name: str
    """What fills it; "" if its name in the code would tell nothing."""


Parts = tuple[str | Gap, ...]
"""A sentence: what is always the same in it, and gaps."""


@dataclass(frozen=True, eq=False)
class Module:
    """The source of a module of this package."""

    name: str
    """Such as "models/find/hub"."""
    tree: ast.Module

    @staticmethod
    @functools.cache
    def of(path: Path) -> "Module":
        """The module in a file."""
        name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        return Module(name, ast.parse(path.read_text("utf-8")))

    def sentences(self) -> list[ast.expr]:
        """What errors are raised with here, in the order of the source."""
        classes = [node for node in self._nodes if isinstance(node, ast.ClassDef)]
        derived = [each for each in classes if RAISED & {*map(_name, each.bases)}]
        raised = RAISED | {each.name for each in derived}
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and node.args]
        inside = {node for each in derived for node in ast.walk(each)}
        found = [
            call.args[0]
            for call in calls
            if _name(call.func) in raised or (_name(call.func) == "__init__" and call in inside)
        ]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def wordings(self, node: ast.expr, fill: bool = True, depth: int = 0) -> list[Parts]:
        """The texts that an expression may have.

        fill: whether texts are put into the gaps of others; depth: how many names were looked up
        """
        if (number := self._number(node)) is not None:
            return [(str(number),)]
        match node:
            case ast.Constant():
                return [(str(node.value),)]
            case ast.JoinedStr():
                return self._joined(node.values, fill, depth)
            case ast.BinOp(op=ast.Add()) if _is_text(node.left) and _is_text(node.right):
                return self._joined([node.left, node.right], fill, depth)
            case ast.IfExp():
                one, other = (self.wordings(each, fill, depth) for each in (node.body, node.orelse))
                return one + other
        found = []
        if depth < DEEPEST and isinstance(node, ast.Name | ast.Call):
            found = self._looked_up(node, fill, depth + 1)
        return found or [(Gap(_gap(node)),)]

    def _joined(self, nodes, fill, depth):
        """Every combination of the wordings of parts, unless there are too many."""
        options = [
            self._filled(node, depth) if fill or _is_text(node) else [(Gap(_gap(node)),)]
            for node in nodes
        ]
        several = [len(one) for one in options if len(one) > 1]
        if len(several) > 1 or max(several, default=1) > MOST:
            options = [
                one if len(one) == 1 else [(Gap(_gap(node)),)]
                for one, node in zip(options, nodes, strict=True)
            ]
        return [sum(chosen, ()) for chosen in product(*options)]

    def _filled(self, node, depth):
        """The wordings of a part of a sentence; of one that may be missing, those with it."""
        if not isinstance(node, ast.FormattedValue):
            return self.wordings(node, depth=depth)
        number = self._number(node.value)
        if number is not None and node.format_spec:
            return [(format(number, ast.literal_eval(node.format_spec.values[0])),)]
        found = [parts for parts in self.wordings(node.value, depth=depth) if parts != ("",)]
        if isinstance(node.value, ast.IfExp) and all(map(_is_word, found)):
            found = found[:1]  # one word for one, another for several
        found = found or [("",)]
        quoted = node.conversion == ord("r") or _name(node.value) == "quoted"
        return [("'", *parts, "'") for parts in found] if quoted else found

    def _looked_up(self, node, fill, depth):
        """The wordings of what a name or a call stands for; [] if it is not a text of ours."""
        name = _name(node)
        if isinstance(getattr(errors, name, None), str):
            return [(errors.NAME if name == "PROGRAM" else getattr(errors, name),)]
        if isinstance(node, ast.Call) and name in ("command", "setup"):
            given = [_argument(each) for each in node.args]
            options = {each.arg: _argument(each.value) for each in node.keywords}
            return [(getattr(errors, name)(*given, installed=True, **options),)]
        module, bound = self, self._texts(node) if isinstance(node, ast.Name) else []
        if not bound:
            module, bound = self._elsewhere(name)
            bound = _returned(bound) if isinstance(node, ast.Call) else _assigned([bound], name)
        found = [parts for each in bound for parts in module.wordings(each, fill, depth)]
        is_text = all(any(isinstance(part, str) for part in parts) for parts in found)
        return found if is_text else []

    def _texts(self, node):
        """What a name is set to in the function around it; [] if it is set in other ways too."""
        around = [one for one in self._functions if one.lineno <= node.lineno <= one.end_lineno]
        if not around:
            return []
        function = max(around, key=lambda one: one.lineno)
        stored = [
            one
            for one in ast.walk(function)
            if (isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store))
            or (isinstance(one, ast.arg) and one.arg == node.id)
        ]
        values = _assigned(ast.walk(function), node.id)
        return values if len(values) == len(stored) else []

    def _elsewhere(self, name):
        """The module that has a function or a constant of that name, and its statement."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return self, node
            if isinstance(node, ast.Assign) and _assigned([node], name):
                return self, node
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("report."):
                for alias in node.names:
                    path = PACKAGE.parent / f"{node.module.replace('.', '/')}.py"
                    if (alias.asname or alias.name) == name and path.is_file():
                        return Module.of(path)._elsewhere(alias.name)
        return self, None

    @functools.cached_property
    def _nodes(self):
        return [*ast.walk(self.tree)]

    @functools.cached_property
    def _functions(self):
        return [node for node in self._nodes if isinstance(node, ast.FunctionDef)]

    def _number(self, node, depth=0):
        """The value of a number in the source, of a constant, or of what is computed of these."""
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return value
            case ast.BinOp(op=op) if type(op) in ARITHMETIC:
                left, right = (self._number(each, depth) for each in (node.left, node.right))
                if left is not None and right is not None:
                    return ARITHMETIC[type(op)](left, right)
            case ast.Name(id=name) if name.isupper() and depth < DEEPEST:
                module, found = self._elsewhere(name)
                for value in _assigned([found], name):
                    return module._number(value, depth + 1)
        return None


def _is_word(parts):
    """Whether a wording is a single word."""
    return len(parts) == 1 and isinstance(parts[0], str) and " " not in parts[0]


def _is_text(node):
    """Whether an expression is written as a text."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _assigned(statements, name):
    """What a name is set to by statements `name = value`."""
    return [
        one.value
        for one in statements
        if isinstance(one, ast.Assign)
        and [target.id for target in one.targets if isinstance(target, ast.Name)] == [name]
    ]


def _returned(function):
    """What a function returns; [] if it is none."""
    if not isinstance(function, ast.FunctionDef):
        return []
    statements = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return [statement.value for statement in statements if statement.value]


def _argument(node):
    """What a command that a sentence quotes is given: a value, or in capitals what it is of."""
    return node.value if isinstance(node, ast.Constant) else _gap(node).upper()


def _name(node):
    """How a name, an attribute or a function that is called is called itself; "" for all else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _name(function)
    return ""


def _gap(node):
    """What a gap is called, from the expression that fills it."""
    match node:
        case ast.FormattedValue(value=value) | ast.Starred(value=value):
            return _gap(value)
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return _readable(name)
        case ast.Subscript(value=value) | ast.BinOp(left=value) | ast.BoolOp(values=[value, *_]):
            return _gap(value)
        case ast.GeneratorExp(generators=[ast.comprehension(iter=of), *_]):
            return _gap(of)
        case ast.IfExp(body=body):
            return _gap(body)
        case ast.Call(func=ast.Attribute(attr="join"), args=[given]):
            return _gap(given)
        case ast.Call(args=[given, *_]) if _name(node) in GIVEN:
            return _gap(given)
        case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in METHODS:
            return _gap(owner)
    return _readable(_name(node))


def _readable(name):
    name = CALLED.get(name, name.strip("_"))
    return "" if name in VAGUE else name.replace("_", " ").lower()
