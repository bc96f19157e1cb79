"""Which files of this package can change a number in a dataset, and a hash of each.

The files are found by following imports from where measuring begins, so a new module counts without
being listed. A hash is of the code as Python reads it, without comments, docstrings and layout. The
schema of a dataset counts with the module that writes it: the module names it in a constant
`SCHEMA` (or `…_SCHEMA`).
"""

import ast
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from report.kinds import folders_of_kinds, measured_by
from report.measures import WORDS

PACKAGE = Path(__file__).parents[1]

BEGINNINGS = ("models/load/load.py", "models/attention/self_check.py")
"""Files that imports are followed from, besides the one that measures the kind."""

ALONE = (
    *("measuring/run.py", "measuring/alone.py", "measuring/pieces.py", "measuring/kept.py"),
    *("files.py", "datasets/store.py"),
)
"""Files that count without their imports, which deal with errors and front matter."""

NOT_FOLLOWED = (
    "errors",
    "text",
    "datasets.damaged",
    "inputs.corpora",
    "inputs.network",
    "inputs.passages",
    "inputs.predictions",
    "inputs.prompts",
    "inputs.records",
    "inputs.rows",
    "inputs.tables",
    "measuring.forecast",
    "measuring.key",
)
"""Modules that do not count: their results are in the key itself, or only in messages."""

SCHEMAS = "datasets/schemas"
"""Folder of schemas that kinds share; a kind's own are beside its modules."""

MEASURES = "measures/__init__.py"
"""Loads every file beside it by name, so these are followed though no import names them."""

DIGITS = 12
"""Hex digits of a hash."""


def measuring_code(kind: str, package: Path = PACKAGE) -> dict[str, str]:
    """Files that can change a dataset of a kind: path within the package -> hash, 12 hex digits.

    kind: name of a folder of `report.kinds`, or of something measured apart
    package: folder of the package `report`
    """
    folder, module = measured_by(kind)
    queue = [f"kinds/{folder}/{module}.py", *BEGINNINGS]
    modules = {name: _python(package, name) for name in ALONE}
    while queue:
        name = queue.pop()
        if name not in modules:
            modules[name] = _python(package, name)
            queue += modules[name][1]
            if name == MEASURES:
                queue += sorted(
                    path.relative_to(package).as_posix()
                    for path in (package / name).parent.glob("[!_]*.py")
                )
    hashes = {name: digest for name, (digest, *_) in modules.items()}
    for path in {path for *_, schemas in modules.values() for path in schemas}:
        hashes[path] = _json(package, path)
    manifest = f"kinds/{folder}/manifest.json"
    hashes[manifest] = _json(package, manifest)
    return dict(sorted(hashes.items()))


def _python(package, name):
    """The result of `_read`, kept until the file changes."""
    path = _path(package, name)
    stamp = path.stat()
    return _read(package, name, (str(path), stamp.st_mtime_ns, stamp.st_size))


def _json(package, name):
    """Hash of a JSON file."""
    return _hashed(json.loads(_path(package, name).read_text("utf-8")))


def _path(package, name):
    """The path of a file; that of a kind may lie in another folder of kinds."""
    path, (first, *rest) = package / name, Path(name).parts
    others = folders_of_kinds() if first == "kinds" else []
    there = [path, *(folder.joinpath(*rest) for folder in others)]
    return next((each for each in there if each.is_file()), path)


@functools.lru_cache(maxsize=1000)
def _read(package, name, stamp):
    """Hash of a Python file, the files it imports, and the files of the schemas it writes.

    stamp: changes with the file; a key of the cache
    """
    of_measure = Path(name).parent == Path(MEASURES).parent
    digest, modules, schemas = _parsed(_path(package, name).read_text("utf-8"), of_measure)
    files = sorted({_file(package, parts) for parts in modules} - {None})
    return digest, files, [_schema_file(package, name, schema) for schema in schemas]


def _schema_file(package, name, schema):
    """The file of a schema: beside the module that writes it, or with those of all kinds."""
    file = f"{schema.replace('/', '-')}.json"
    beside = f"{Path(name).parent.as_posix()}/{file}"
    return beside if _path(package, beside).is_file() else f"{SCHEMAS}/{file}"


@functools.lru_cache(maxsize=1000)
def _parsed(text, of_measure):
    """Hash of Python code, the modules of the package that it imports, such as ["models", "load"],
    and the schemas it writes. The same text, in whatever folder, is parsed once.

    of_measure: whether it is a measure's file, whose title and other words change no number
    """
    tree = ast.parse(text)
    if of_measure:
        tree.body = [statement for statement in tree.body if not _is_word(statement)]
    modules = set().union(*map(_imported, _nodes(tree)))
    ours = [module.split(".")[1:] for module in modules if module.startswith("report.")]
    followed = [parts for parts in ours if not {parts[0], ".".join(parts[:2])} & {*NOT_FOLLOWED}]
    return _hashed(_nested(tree)), followed, [*_schemas(tree)]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree, without expressions and what only type checkers read."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                nodes += child.orelse
            elif not isinstance(child, ast.expr):  # those hold no statements
                nodes.append(child)


def _schemas(tree):
    """The schemas that a module names in constants, such as "attention/4"."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            if any(name.endswith("SCHEMA") for name in names):
                yield ast.literal_eval(statement.value)


def _imported(node):
    """Names that a statement imports, some of them not of modules."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return set()


def _file(package, parts):
    """The file of a module of the package, or None if the name is of something else."""
    for name in ("/".join(parts) + ".py", "/".join([*parts, "__init__.py"])):
        if _path(package, name).is_file():
            return name
    return None


def _nested(node):
    """Code as nested lists, which do not depend on its layout.

    Empty fields are left out, because only some versions of Python have them.
    """
    if isinstance(node, list):
        return [_nested(item) for item in node if not _is_docstring(item)]
    if not isinstance(node, ast.AST):
        return repr(node)
    shape = [type(node).__name__]
    for name in node._fields:
        value = getattr(node, name, None)
        if value is not None and value != []:
            shape.append([name, _nested(value)])
    return shape


def _is_word(statement):
    """Whether a statement of a measure's file gives it a title, or another word."""
    names = [target.id for target in getattr(statement, "targets", []) if hasattr(target, "id")]
    return bool(names) and {*names} <= {*WORDS}


def _is_docstring(node):
    """Whether a statement is only a string: a docstring, also one below a constant."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _hashed(value):
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
