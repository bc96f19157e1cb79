"""Pages for developers: what they say of the code is in the code."""

import ast
import re

import pytest

from tests.commands import ROOT
from tests.documents import DOCS
from tests.test_layers import MODULES, PACKAGE

PAGES = DOCS / "developers"
UPGRADES = (PAGES / "upgrades.md").read_text("utf-8")

ROWS = [
    tuple(re.findall(r"`([^`]+)`", part) for part in parts)
    for parts in re.findall(r"^- (`.+) in (`.+?): .+ Noticed by (.+)\.$", UPGRADES, re.MULTILINE)
]
"""(names of libraries, modules, tests) of the page on upgrades."""

OF_PYTHON = {"_exit", "_replace", "_fields", "_current_frames"}
"""Names with an underscore that Python documents."""


def private_names(tree: ast.Module, methods: set[str]) -> set[str]:
    """The names of libraries in a module that begin with an underscore, or lie in a module that
    does or in one of transformers' own modules, and `__globals__`.

    methods: names of the package's own methods, which its objects may ask each other for
    """
    ours, texts, names = {"self", "cls"}, {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            path = f"{node.module}."
            for alias in node.names:
                if path.startswith("report."):
                    ours.add(alias.asname or alias.name)
                elif re.search(r"\._(?!_)|^transformers\.\w+\.", path + alias.name):
                    names.add(path + alias.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            texts[ast.unparse(node.targets[0])] = node.value.value
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ours:
            names |= {node.attr} if re.match(r"_(?!_)|__globals__", node.attr) else set()
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            name = node.args[1]
            text = name.value if isinstance(name, ast.Constant) else texts.get(ast.unparse(name))
            names |= {text} if re.match("_(?!_)", text or "") else set()
    return names - methods - OF_PYTHON


def test_no_private_name_of_a_library_is_missing_on_the_page_about_upgrades():
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}
    classes = [node for tree in trees.values() for node in ast.walk(tree)]
    classes = [node for node in classes if isinstance(node, ast.ClassDef)]
    methods = {each.name for one in classes for each in one.body if hasattr(each, "name")}
    listed = {(name, module) for names, modules, _ in ROWS for name in names for module in modules}
    used = {
        (name, f"{module}.py")
        for module, tree in trees.items()
        for name in private_names(tree, methods)
    }
    assert len(used) > 30
    assert used - listed == set()


@pytest.mark.parametrize(("names", "modules", "tests"), ROWS)
def test_what_the_page_about_upgrades_names_is_there(names, modules, tests):
    texts = [(PACKAGE / module).read_text("utf-8") for module in modules]
    ends = [name.rpartition(".")[2] for name in names]
    assert [name for name in ends if not any(name in text for text in texts)] == []
    assert [text for text in texts if not any(name in text for name in ends)] == []
    assert tests and all((ROOT / test).is_file() for test in tests)


def test_the_files_on_the_ways_through_the_code_have_the_functions_that_are_named():
    text = (PAGES / "paths.md").read_text("utf-8")
    text, seen, above = text.partition("## ")[2], [], ""
    for path, name in re.findall(r"`([\w/]+\.\w+)`|`(\w+)`", text):
        above = (PACKAGE / path).read_text("utf-8") if path else above
        assert path or re.search(rf"\b{name}\b", above), name
        seen.append(path)
    assert len({*seen}) > 40


def test_the_words_of_the_code_are_in_the_modules_that_are_named():
    """In any form: as a name, or in what a docstring says."""
    text = (PAGES / "code-words.md").read_text("utf-8")
    rows = re.findall(r"^\| ([a-z, -]+?) \| .+ \| (`.+`) \|$", text, re.MULTILINE)
    rows = [(words.split(", "), re.findall(r"`([^`]+)`", cell)) for words, cell in rows]
    assert len(rows) > 30
    for words, modules in rows:
        held = "".join((PACKAGE / module).read_text("utf-8").lower() for module in modules)
        assert [word for word in words if not re.search(word.replace("-", "."), held)] == []


def test_what_contributing_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    paths = re.findall(r"`((?:report|tests|training|templates|site_src|benchmarks)/[^`]*)`", text)
    named = [path for path in (*links, *paths) if not re.search(r"[A-Z<]|/that/", path)]
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists()] == []
