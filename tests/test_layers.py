"""Who may import whom: nothing after the wall (`store`) needs torch to render a site."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "report"
HEAVY = {"torch", "transformers", "tokenizers", "safetensors"}
MODULES = {
    path.relative_to(PACKAGE).with_suffix("").as_posix(): path for path in PACKAGE.rglob("*.py")
}

MAY_USE_TORCH = ("models/", "measurements/", "embedded/", "families/")
ALLOWED = {
    "errors": set(),
    "characters": set(),
    "store": {"errors"},
    "words": set(),
    "measurements/": {"errors", "measurements"},
    "models/": {"errors", "characters", "store", "conditions", "measurements", "models"},
    "families/": {"errors", "measurements", "models", "families"},
    "datasets/": {"errors", "store", "datasets", "words"},
    "figures/": {"errors", "datasets", "figures", "heads", "text", "words"},
    "passages/": {"errors", "characters", "yaml_lines", "passages", "tables", "corpus_spec"},
    "corpus_spec": set(),
    "cluster_spec": set(),
    "passage_spec": set(),
    "yaml_lines": {"errors", "characters"},
    "prompts/": {"errors", "characters", "passages"},
    "conditions": {"errors"},
    "fillers": {"errors"},
    "tables": {"errors", "characters"},
    "findings/": {"errors", "datasets", "figures", "heads", "findings"},
    "kinds/": {  # of models only inside functions: rendering loads kinds without torch
        "errors",
        "key",
        "datasets",
        "measurements",
        "models",
        "passages",
        "prompts",
        "conditions",
        "fillers",
        "tables",
        "kinds",
    },
    "jinja": {"text", "figures", "words"},
    "figure_files": {"errors", "figures"},
    "per_model": {"errors", "figures"},
    "glossary": {"errors"},
    "article": {"errors", "figures", "figure_files", "glossary", "per_model", "jinja"},
    "pages": {
        "embed_pages",
        "glossary",
        "provenance",
        "errors",
        "store",
        "text",
        "figures",
        "findings",
        "pictures",
        "jinja",
        "model_cards",
        "article",
    },
}
"""Part of the package -> parts that it may import when it is loaded."""


def imports(path, top_level_only=False):
    """Names of the modules that a file imports, e.g. "report.datasets.store" or "torch"."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.module == "report":
                yield from (f"report.{name}" for name in names)
            else:
                yield node.module


@pytest.mark.parametrize("name", sorted(MODULES))
def test_only_measuring_imports_the_heavy_packages(name):
    found = {module.split(".")[0] for module in imports(MODULES[name])} & HEAVY
    assert not found or name.startswith(MAY_USE_TORCH), f"{name} imports {found}"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_layers_import_only_what_lies_before_them(name):
    allowed = next(
        (parts for prefix, parts in ALLOWED.items() if name == prefix or name.startswith(prefix)),
        None,
    )
    parts = {m.split(".")[1] for m in imports(MODULES[name]) if m.startswith("report.")}
    assert "__main__" not in parts
    if allowed is not None:
        assert parts <= allowed, f"{name} imports {parts - allowed}; allowed: {sorted(allowed)}"


def test_rendering_loads_without_torch():
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in sorted(HEAVY))
    modules = "report.pages.render, report.measuring.run, report.pages.assets, report.__main__"
    code = f"import sys; {hidden}; import {modules}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
