"""Which tests keep which promise, in the page of the documentation that lists them.

    python -m tests.promises    # writes the last column of the page's tables anew

A test, or all tests of a file, keep a promise by the mark `promise` with its name.
"""

import ast
import re
from collections import defaultdict

from tests.commands import ROOT
from tests.documents import DOCS

PAGE = DOCS / "developers" / "promises.md"

ROW = re.compile(r"^\| `([a-z-]+)` (.+?) \| (.*?) ?\|$", re.MULTILINE)
"""The name of a promise, the promise, and its tests."""


def marks() -> dict[str, dict[str, list[str]]]:
    """Name of a promise -> file, such as `tests/test_files.py` -> functions, none for all of it."""
    tests = defaultdict(lambda: defaultdict(list))
    paths = (path for top in ("tests", "training") for path in (ROOT / top).rglob("test_*.py"))
    for path in sorted(paths):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                for promise in _promises(node.value):
                    tests[promise][file] = []
            elif isinstance(node, ast.FunctionDef):
                for mark in node.decorator_list:
                    for promise in _promises(mark):
                        tests[promise][file].append(node.name)
    return tests


def _promises(mark: ast.expr) -> list[str]:
    """The names that marks in an expression give."""
    calls = (node for node in ast.walk(mark) if isinstance(node, ast.Call))
    ours = (call for call in calls if ast.unparse(call.func) == "pytest.mark.promise")
    return [ast.literal_eval(name) for call in ours for name in call.args]


def page() -> str:
    """The page as the marks would have it."""
    tests = marks()

    def row(match):
        files = []
        for file, names in tests[match[1]].items():
            sentences = [name.removeprefix("test_").replace("_", " ") for name in names]
            files.append(f"`{file}`" + (": " if names else "") + "; ".join(sentences))
        return f"| `{match[1]}` {match[2]} | {'<br>'.join(files)} |"

    return ROW.sub(row, PAGE.read_text("utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
