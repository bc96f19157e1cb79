"""How long modules and functions are, and how many arguments they take: a reader's patience."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_layers import PACKAGE

PLACES = (PACKAGE, PACKAGE.parent / "training")

LINES = 600
"""Of a file; a longer one says why in its head, in a sentence with the words `WHY`."""

WHY = "in one file because"

FUNCTION_LINES = 60
"""Of a function, with its decorators, docstring and the functions inside it."""

ARGUMENTS = 7
"""Of a function; `self`, `cls`, `*arguments` and `**options` do not count."""


def too_long(path: Path) -> bool:
    """Whether a file has more lines than it may, without a head that says why."""
    text = path.read_text("utf-8")
    return len(text.splitlines()) > LINES and WHY not in head(text, path.suffix)


def head(text: str, suffix: str) -> str:
    """What a file says of itself, in one line: its docstring, or its first comment."""
    if suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    else:
        said = text.partition("\n\n")[0]
    return " ".join(said.replace("//", " ").replace("*", " ").split())


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, lines, arguments) of every function; methods and nested ones too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            named = [argument.arg for argument in taken if argument.arg not in ("self", "cls")]
            yield node.name, node.end_lineno - first + 1, len(named)


def test_files_are_short_or_say_why_not():
    ends = ("py", "js", "css")
    files = [path for place in PLACES for end in ends for path in place.rglob(f"*.{end}")]
    assert [str(path.relative_to(PACKAGE.parent)) for path in files if too_long(path)] == []


def test_functions_are_short_and_take_few_arguments():
    wrong = [
        f"{path.relative_to(PACKAGE.parent)}: {name} has {lines} lines, {arguments} arguments"
        for place in PLACES
        for path in place.rglob("*.py")
        for name, lines, arguments in functions(path.read_text("utf-8"))
        if lines > FUNCTION_LINES or arguments > ARGUMENTS
    ]
    assert wrong == []


ONE_EACH = {"embedded", "figures", "kinds", "measures"}
"""Folders whose files need no list: their docstring says that each is a model, a figure, a measure,
or what a kind of article has."""


def unlisted(folder: Path) -> list[str]:
    """The files and folders that the docstring of a folder leaves out, or names in vain."""
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    files |= {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    named = set(re.findall(r"(?<![\w/])\w+(?:\.py\b|/(?!\w))", said))
    gone = {name for name in named - files if name.endswith(".py")}
    return sorted(files - named | gone)


def test_the_docstring_of_a_folder_lists_what_is_in_it():
    folders = [path.parent for place in PLACES for path in place.rglob("__init__.py")]
    listed = [at for at in folders if at.name not in (PACKAGE.name, "tests", *ONE_EACH)]
    assert {str(at): unlisted(at) for at in listed if unlisted(at)} == {}


@pytest.mark.parametrize(
    ("docstring", "missing"),
    [
        ("Numbers.", ["a.py", "b.py", "within/"]),
        ("a.py adds; see `other/c.py`, `within/`.", ["b.py"]),
        ("a.py adds, b.py divides, c.py went away; of within/d.py more.", ["c.py", "within/"]),
    ],
)
def test_files_left_out_and_files_that_went_away_are_told(tmp_path, docstring, missing):
    (tmp_path / "__init__.py").write_text(f'"""{docstring}"""')
    (tmp_path / "within").mkdir()
    for name in ("a.py", "b.py", "within/__init__.py"):
        (tmp_path / name).touch()
    assert unlisted(tmp_path) == missing


@pytest.mark.parametrize(
    ("name", "start", "long"),
    [
        ("a.py", '"""Numbers.\n\nThey stand in one\nfile because they are one list.\n"""\n', False),
        ("a.css", "/* Numbers. */\n\n/* in one file because */", True),
    ],
)
def test_a_long_file_needs_a_sentence_in_its_head(tmp_path, name, start, long):
    path = tmp_path / name
    path.write_text(start + "\n" * LINES)
    assert too_long(path) is long
    path.write_text(start)
    assert not too_long(path)


def test_methods_and_nested_functions_are_measured():
    text = "class A:\n    @property\n    def b(self, x, *, y=1, **z):\n        def c(): ...\n"
    assert sorted(functions(text)) == [("b", 3, 2), ("c", 1, 0)]
