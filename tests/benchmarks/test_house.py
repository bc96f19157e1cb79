"""Circles and floors of the house are counted as they are, on graphs that one can draw."""

import runpy

from tests.commands import ROOT

HOUSE = runpy.run_path(ROOT / "benchmarks" / "house.py")


def test_circles_are_found_and_floors_are_the_longest_way_down():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "d"}, "f": set()}
    assert HOUSE["rings"](graph) == [["b", "c"]]
    assert HOUSE["floors"](graph) == 4


def test_imports_in_functions_for_type_checkers_and_by_a_text_count():
    graph = HOUSE["imports"](HOUSE["modules"]())
    assert "report.kinds.sweep.data" in graph["report.datasets.read.study"]  # by a text
    assert "report.kinds.conditions.measure_answers" in graph["report.kinds.folders"]
    assert "report.pipeline" in graph["report.__main__"]  # in a function
    assert "report.models.load.load" in graph["report.measuring.forecast"]  # TYPE_CHECKING
