"""SECURITY.md names tests that there are."""

import ast
import functools
import re

import pytest

from tests.commands import ROOT

NAMED = sorted(
    set(re.findall(r"`((?:training/)?tests/[^`]+)`", (ROOT / "SECURITY.md").read_text("utf-8")))
)


def test_every_promise_names_a_test():
    rows = re.findall(r"^\| (.+) \| (.+) \|$", (ROOT / "SECURITY.md").read_text("utf-8"), re.M)
    promises = [(promise, tests) for promise, tests in rows if promise != "promise"]
    assert len(promises) > 15
    assert [promise for promise, tests in promises if not re.search("`tests/", tests)] == []


@functools.cache
def functions_of(path):
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_is_a_test(name):
    path, _, function = name.partition("::")
    assert (ROOT / path).exists(), path
    if (ROOT / path).is_dir():
        assert list((ROOT / path).glob("test_*.py"))
        return
    functions = functions_of(path)
    assert not function or function in functions
    if (ROOT / path).name.startswith("test_"):
        assert any(each.startswith("test_") for each in functions)
