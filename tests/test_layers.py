"""Who may import whom: the way of the data from a checkpoint to a site, one folder after the other.

Imports are read from the source: those that run when a module is loaded, and those inside
functions. Both count everywhere here. Imports under `if TYPE_CHECKING` never run, and do not count
but for circles; nor does what `import_module` loads by a name in a text: so figures and findings
are found by the names of their files, and so the package itself hands on `measure` and `figure` of
the notebook.
"""

import ast
import functools
import runpy
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "report"
MODULES = {
    path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in PACKAGE.rglob("*.py")
}
"""Name of a module, such as "models/load/load" or "models/__init__" -> its file."""

HEAVY = {"torch", "transformers", "tokenizers", "safetensors", "regex"}
MAY_USE_HEAVY = ("measurements/", "models/", "effects/", "families/")

ROOT = {
    "__init__",
    "__main__",
    "console",
    "errors",
    "files",
    "pipeline",
    "project",
    "text",
}
"""All modules outside folders. Put a ninth into a folder."""

LEAVES = {"errors", "files", "text", "authored/"}
MODELS = {
    f"models/{folder}/"
    for folder in ("gguf", "quantised", "find", "attention", "partial", "load", "text")
}
MODELS |= {"models/__init__", "models/load/memory", "models/measure/"}
MODELS |= {"models/load/sentences", "models/load/tokenizing"}
DATASETS = {f"datasets/{folder}/" for folder in ("formats", "write", "read")}
DATASETS |= {"datasets/"}
APART = {"kinds/*/answers", "kinds/*/generated", "kinds/*/composition", "kinds/*/successor"}
APART |= {"kinds/*/copying"}
SEEN = {"measures/", "datasets/formats/", "datasets/read/"}
SEEN |= {"kinds/*/data", "kinds/*/pieces", "kinds/*/beside"} | APART
BELOW = {"datasets/damaged", "datasets/", "datasets/formats/"}
FIGURES = {"figures/parts/", "figures/build/", "figures/"}

MAY_IMPORT = {
    "errors": set(),
    "__init__": {"errors"},
    "text": set(),
    "files": {"errors"},
    "authored/": {"errors", "files", "text"},
    "project": LEAVES,
    # 1. what is asked
    "measures/": LEAVES,
    "inputs/": LEAVES,
    "models/__init__": set(),
    "models/gguf/": LEAVES,
    "models/quantised/": LEAVES,
    "models/find/": LEAVES | {"models/gguf/"},
    "kinds/question": set(),
    "kinds/*/__init__": set(),
    "kinds/__init__": {"kinds/question"},
    "kinds/folders": {"kinds/__init__"},
    "kinds/*/question": LEAVES | {"inputs/", "models/find/", "kinds/question"},
    "study/": LEAVES | {"measures/", "inputs/", "models/find/", "kinds/__init__"},
    # 2. checkpoint -> tensors -> numbers
    "measurements/": {"errors"},
    "models/load/memory": {"errors"},
    "models/load/sentences": {"errors", "text", "models/load/memory"},
    "models/load/tokenizing": {"errors", "models/load/sentences"},
    "models/attention/": {"text", "errors", "measurements/", "models/load/memory"}
    | {"models/load/sentences"},
    "models/partial/": LEAVES
    | {"models/gguf/", "models/quantised/", "models/find/", "models/attention/"}
    | {"models/load/memory"},
    "models/load/": LEAVES
    | {"models/gguf/", "models/quantised/", "models/find/", "models/attention/"}
    | {"models/partial/", "models/load/memory"}
    | {"models/load/sentences", "models/load/tokenizing"},
    "models/text/": {"errors", "text", "inputs/", "models/load/tokenizing"},
    "models/measure/": {
        "errors",
        "measures/",
        "models/load/tokenizing",
        "inputs/",
        "measurements/",
        "models/attention/",
        "models/text/",
    },
    "embedded/": set(),
    "effects/": {"errors", "measurements/"} | MODELS,
    "families/": {"errors", "measurements/", "effects/"} | MODELS,
    # 3. numbers -> JSON, and back
    "datasets/damaged": {"errors"},
    "datasets/": LEAVES | {"datasets/damaged", "kinds/__init__"},
    "datasets/formats/": {"errors", "measures/", "datasets/damaged"},
    "datasets/write/": LEAVES | {"datasets/", "datasets/formats/"},
    "datasets/read/": LEAVES | BELOW | {"measures/"},
    "kinds/*/beside": {"measures/"},
    **{
        row: LEAVES | BELOW | {"datasets/read/", "kinds/*/beside"}
        for row in ("kinds/*/pieces", *sorted(APART))
    },
    "kinds/*/data": LEAVES
    | {"measures/"}
    | BELOW
    | {"datasets/read/", "kinds/*/pieces", "kinds/*/beside"}
    | APART,
    "measuring/": LEAVES
    | {"kinds/__init__", "kinds/folders", "measures/"}
    | {"project", "inputs/", "study/", "measurements/", "effects/"}
    | MODELS
    | DATASETS,
    "kinds/*/measure*": LEAVES
    | {"measures/", "inputs/", "measurements/", "effects/", "measuring/", "kinds/*/beside"}
    | MODELS
    | DATASETS,
    "kinds/*/live": LEAVES
    | {"measures/", "measuring/", "kinds/*/data", "kinds/*/measure*"}
    | MODELS
    | DATASETS,
    # 4. JSON -> figures -> pages -> site
    "kinds/*/sentences": LEAVES | SEEN,
    "figures/parts/": LEAVES | SEEN | {"kinds/*/sentences"},
    "figures/build/": LEAVES | SEEN | {"datasets/", "figures/parts/", "kinds/__init__"},
    "figures/": LEAVES | SEEN | {"figures/parts/", "kinds/*/sentences"},
    "kinds/*/release": LEAVES | SEEN | {"kinds/*/sentences"},
    "kinds/*/predicted": LEAVES | SEEN | FIGURES,
    "kinds/*/findings": LEAVES | SEEN | FIGURES | {"kinds/*/predicted"},
    "kinds/*/agreement": LEAVES
    | SEEN
    | FIGURES
    | {"inputs/", "datasets/", "kinds/*/findings", "kinds/*/release"},
    "pages/": LEAVES
    | SEEN
    | {"project", "study/", "inputs/", "models/find/", "datasets/"}
    | {"kinds/__init__", "kinds/folders", "kinds/*/findings"}
    | FIGURES,
    "pages/beside": {"files", "study/", "datasets/read/", "datasets/write/", "kinds/__init__"}
    | {"pages/"},
    "site/": LEAVES | {"inputs/", "datasets/", "pages/", "kinds/__init__", "kinds/folders"},
    # all of them
    "console": {"project", "measuring/", "text"},
    "pipeline": {
        "errors",
        "text",
        "project",
        "study/",
        "measuring/",
        "datasets/read/",
        "pages/",
        "pages/beside",
        "site/",
        "console",
    },
    "watching/": LEAVES
    | {"project", "study/", "measuring/", "pages/", "site/", "console", "pipeline"}
    | {"datasets/", "datasets/read/", "kinds/*/data", "kinds/*/live", "models/load/sentences"},
    "notebook/": LEAVES
    | {"kinds/folders", "kinds/*/live", "measures/", "models/find/"}
    | {"project", "inputs/", "study/", "measuring/", "datasets/read/", "pages/"}
    | FIGURES,
    "exploring/": LEAVES
    | {"project", "study/", "inputs/", "measures/", "measuring/"}
    | {"models/load/memory", "models/load/sentences"}
    | {"datasets/", "datasets/write/", "kinds/*/data", "console", "models/find/"}
    | {"kinds/*/live", "kinds/*/measure*", "pages/", "site/", "notebook/"}
    | FIGURES,
    "__main__": LEAVES
    | {"project", "study/", "families/", "measures/", "measuring/", "pages/", "site/"}
    | {"console", "pipeline", "watching/", "exploring/", "kinds/*/agreement"},
}
"""A module, or a folder with all below it -> what it may import besides itself, all of it from
rows above its own. Where several rows fit a module, the longest is its rule."""


def rule_of(module: str) -> str | None:
    """The row of `MAY_IMPORT` that holds for a module; None if there is none."""
    fitting = [
        row
        for row in MAY_IMPORT
        if fnmatch(module, row) or (row.endswith("/") and module.startswith(row))
    ]
    return max(fitting, key=len, default=None)


def module_named(dotted: str) -> str | None:
    """The module of this package with a dotted name, "report.models" or "report.text"."""
    if dotted != "report" and not dotted.startswith("report."):
        return None
    path = dotted.removeprefix("report").removeprefix(".").replace(".", "/")
    return next((name for name in (path, f"{path}/__init__".lstrip("/")) if name in MODULES), None)


@functools.cache
def imports(path: Path) -> list[tuple[str, str]]:
    """(dotted name of what is imported, the name it goes by), one a name."""
    found = []
    for node in running(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, alias.asname or alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import, which these rules do not read"
            names = [(alias.name, alias.asname or alias.name) for alias in node.names]
            found += [(f"{node.module}.{name}", known_as) for name, known_as in names]
    return found


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """All below a node but what is only there for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from running(node)


def imported_modules(path: Path) -> set[str]:
    """The modules of this package that a file imports, or imports something of."""
    dotted = {name for name, _ in imports(path)}
    found = {module_named(name) or module_named(name.rpartition(".")[0]) for name in dotted}
    return found - {None}


@functools.cache
def all_imported() -> dict[str, set[str]]:
    """Of every module, those that it imports; read by tests, as every process collects them all."""
    return {module: imported_modules(path) for module, path in MODULES.items()}


def test_every_module_has_a_rule_and_every_rule_a_module():
    ruled = {module: rule_of(module) for module in MODULES}
    assert [module for module, row in ruled.items() if row is None] == []
    assert MAY_IMPORT.keys() - ruled.values() == set()


def test_modules_import_only_what_their_rule_names():
    wrong = [
        f"{module} imports {other}; {rule_of(module)} may import {sorted(allowed)}"
        for module, others in all_imported().items()
        for other in sorted(others)
        for allowed in [MAY_IMPORT[rule_of(module)]]
        if rule_of(other) not in {*allowed, rule_of(module)}
    ]
    assert wrong == []


def test_the_package_needs_nothing_that_lies_beside_it():
    beside = {path.parent.name for path in PACKAGE.parent.glob("*/*.py")} - {PACKAGE.name}
    assert {"benchmarks", "tests", "training"} <= beside
    wrong = [
        f"{module} imports {name}"
        for module, path in MODULES.items()
        for name, _ in imports(path)
        if name.split(".")[0] in beside
    ]
    assert wrong == []


def test_rules_lead_one_way():
    """No two folders import each other, not even inside functions or by way of others."""
    rows = list(MAY_IMPORT)
    wrong = [
        f"{row} may import {other}, which does not stand above it"
        for number, row in enumerate(rows)
        for other in MAY_IMPORT[row]
        if other not in rows[:number]
    ]
    assert wrong == []


def test_modules_import_each_other_in_no_circle():
    """Of all imports: those under `if TYPE_CHECKING` and by a text count too."""
    house = runpy.run_path(str(PACKAGE.parent / "benchmarks" / "house.py"))
    assert house["rings"](house["imports"](house["modules"]())) == []


def test_what_is_imported_for_type_checkers_is_there():
    """Nothing runs these imports, so nobody else would miss what they name."""
    wrong = []
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
                named = [each for each in node.body if isinstance(each, ast.ImportFrom)]
                for each in named:
                    if of := module_named(each.module):
                        lacking = {alias.name for alias in each.names} - defined(MODULES[of])
                        wrong += [f"{module}: {each.module} has no {name}" for name in lacking]
    assert wrong == []


@functools.cache
def defined(path: Path) -> set[str]:
    """Names that a module, or a folder by its files, has."""
    found = {other.stem for other in path.parent.iterdir()} if path.stem == "__init__" else set()
    for node in ast.parse(path.read_text("utf-8")).body:
        found |= {getattr(node, "name", "")}
        found |= {alias.asname or alias.name for alias in getattr(node, "names", ())}
        targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
        names = (each for target in targets for each in ast.walk(target))
        found |= {each.id for each in names if isinstance(each, ast.Name)}
    return found


def test_no_module_uses_a_private_name_of_another():
    wrong = []
    for module, path in MODULES.items():
        known = [(name, alias) for name, alias in imports(path) if name.startswith("report")]
        wrong += [f"{module} imports {name}" for name, _ in known if private(name)]
        aliases = {alias: name for name, alias in known if module_named(name)}
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and private(node.attr):
                owner = ast.unparse(node.value)
                if owner in aliases:
                    wrong.append(f"{module} uses {aliases[owner]}.{node.attr}")
    assert wrong == []


def private(name: str) -> bool:
    """Whether a name, or a part of a dotted one, is meant for its own module."""
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def test_few_modules_lie_outside_folders():
    assert {module for module in MODULES if "/" not in module} == ROOT
    assert len(ROOT) <= 8


def test_only_what_measures_imports_the_heavy_packages():
    wrong = [
        f"{module} imports {name}"
        for module, path in MODULES.items()
        for name, _ in imports(path)
        if name.split(".")[0] in HEAVY and not module.startswith(MAY_USE_HEAVY)
    ]
    assert wrong == []


def test_rendering_loads_without_torch():
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in sorted(HEAVY))
    code = f"import sys; {hidden}; import report.pipeline, report.__main__"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
