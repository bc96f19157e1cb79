"""Which files of this package can change a number in a dataset, and a hash of what each says.

They are found by following imports from where measuring begins, so that a new module counts by
itself. A hash is of the code as Python reads it: comments, docstrings and layout do not count.
"""

import ast
import functools
import hashlib
import json
from pathlib import Path

PACKAGE = Path(__file__).parents[1]

BEGINNINGS = (
    "measuring/kinds/{kind}.py",
    "models/load/load.py",
    "models/attention/self_check.py",
)

ALONE = ("measuring/run.py", "measuring/pieces.py", "files.py", "datasets/store.py")
"""Files that count, though not all that they import: that concerns errors and front matter."""

INPUTS = (
    "errors",
    "text",
    "inputs.corpora",
    "inputs.passages",
    "inputs.prompts",
    "inputs.rows",
    "inputs.tables",
    "measuring.key",
)
"""Modules that are not followed: what they give is in the key itself."""

SCHEMA = "datasets/schemas/{}.json"
"""The schema of what a module writes, which it names: "attention/3"."""

DIGITS = 12


def measuring_code(kind, package=PACKAGE):
    """dict of file, as from the package's folder, to a hash of its contents, 12 hex digits.

    kind: name of a module of `report.measuring.kinds`; the code of other kinds is left out
    package: folder of the package `report`
    """
    names = [name.format(kind=kind) for name in BEGINNINGS]
    found = {name: _python(package, name) for name in ALONE}
    while names:
        name = names.pop()
        if name not in found:
            found[name] = _python(package, name)
            names += found[name][1]
    hashes = {name: digest for name, (digest, *_) in found.items()}
    for path in {path for *_, schemas in found.values() for path in schemas}:
        hashes[path] = _hashed(json.loads((package / path).read_text("utf-8")))
    return dict(sorted(hashes.items()))


def _python(package, name):
    path = package / name
    stamp = path.stat()
    return _read(package, name, (stamp.st_mtime_ns, stamp.st_size))


@functools.lru_cache(maxsize=1000)
def _read(package, name, stamp):
    """(hash, names of the files imported, of the schemas written) of a Python file.

    stamp: changes when the file does
    """
    tree = ast.parse((package / name).read_text("utf-8"))
    modules = set().union(*map(_imported, ast.walk(tree)))
    parts = [module.split(".")[1:] for module in modules if module.startswith("report.")]
    followed = [each for each in parts if not {each[0], ".".join(each[:2])} & {*INPUTS}]
    files = {_file(package, each) for each in followed}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    named = [SCHEMA.format(text.replace("/", "-")) for text in texts if isinstance(text, str)]
    schemas = [name for name in named if len(name) < 99 and (package / name).is_file()]
    return _hashed(_shape(tree)), sorted(files - {None}), schemas


def _imported(node):
    """Names that a statement imports, those that are no modules too."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def _file(package, parts):
    """The file of a module of the package, or None for the name of something inside a module."""
    for name in ("/".join(parts) + ".py", "/".join([*parts, "__init__.py"])):
        if (package / name).is_file():
            return name
    return None


def _shape(node):
    """A piece of code as nested lists: the same for the same code however it is laid out.

    What some versions of Python leave empty and others do not know is left out.
    """
    if isinstance(node, list):
        return [_shape(each) for each in node if not _is_docstring(each)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return [type(node).__name__, *([name, _shape(value)] for name, value in fields)]


def _is_docstring(node):
    """Whether a statement is nothing but a string, as docstrings are, those of constants too."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _hashed(value):
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
