"""Names are nouns: in folders that are done, none is a participle or a pronoun."""

from benchmarks.house import NO_NAMES, ROOT, no_names
from tests.test_layers import PACKAGE

TO_DO = {
    "datasets/formats",
    "effects",
    "figures",
    "figures/build",
    "figures/parts",
    "kinds/conditions",
    "kinds/passage",
    "kinds/prediction",
    "kinds/table",
    "measurements",
    "measuring",
    "measuring/cluster",
    "models/attention",
    "models/load",
    "models/measure",
    "models/partial",
    "models/quantised",
}
"""Folders, and modules of the root, that are not done; none is added."""


def room(path):
    """The folder of a file below the package, or the file in its root."""
    inside = path.relative_to(PACKAGE)
    return inside.as_posix() if len(inside.parts) == 1 else inside.parent.as_posix()


def test_names_are_nouns():
    wrong = {}
    for path in PACKAGE.rglob("*.py"):
        if names := no_names(path):
            wrong.setdefault(room(path), {})[path.name] = names
    assert {at: names for at, names in wrong.items() if at not in TO_DO} == {}
    assert TO_DO - {*wrong} == set()  # what is done leaves the list


def test_a_name_of_any_sort_counts(tmp_path):
    path, name = tmp_path / "a.py", min(NO_NAMES)
    text = (
        "import x as {0}\ndef {0}({0}, *, _{0}=1): ...\nfor {0} in (): y.{0} = [{0} for {0} in ()]"
    )
    path.write_text(text.format(name) + f"\nclass A:\n    {name}: int\n", "utf-8")
    assert len(no_names(path)) == 8
    path.write_text(f"{name}s = x.{name}(y, {name}=1)", "utf-8")
    assert no_names(path) == []
    assert (ROOT / "report") == PACKAGE
