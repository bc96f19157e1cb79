"""Which code counts as measuring: all that runs, nothing else, and not how it is laid out."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest

from report.kinds import owner, questions
from report.measuring import code
from tests.commands import ROOT

KINDS = ("passage", "conditions", "table")

RUN = """
import json, os, sys, tempfile
from pathlib import Path
import torch, transformers.models.falcon.modeling_falcon  # once, for all kinds
for about, changes in CHANGES.items():
    pid = os.fork()
    if not pid:
        break
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"{about} failed")
else:
    sys.exit()
from tests.small import CORPUS, SENTENCE
from report.models.attention import self_check
from report.models.load import load
from report.datasets.write.folder import write_folder
from report.kinds.folders import kind
from report.study.front_matter import FrontMatter
front = {"title": "a", "date": "2026-01-01", "author": "a", "summary": "a"} | changes
wanted = FrontMatter(**front)
kind = kind(wanted.kind)
kind.corpus = lambda: CORPUS
Path("passage.md").write_text(SENTENCE)
header = "title: Few\\nsystem: Be brief.\\nsource: us\\nlicence: CC0\\nlanguage: en"
Path("few.md").write_text(f"---\\n{header}\\n---\\nHow many are 2?\\n\\nHow many are 3?\\n")
inputs = kind.inputs(wanted)
loaded = load.load_model("falcon-8x8")
self_check.checked(loaded)
if wanted.kind == "passage":
    from report.measuring.kind import Piece
    piece = Piece(0, tuple(inputs.corpus), per_model=True)
    measured, _ = kind.joined(inputs, *kind.measure_batch(loaded, inputs, piece, print, print))
else:
    measured, _ = kind.measure(loaded, inputs, lambda *_: None, print)
try:
    write_folder(Path(tempfile.mkdtemp()), kind.write, measured, {})
except Exception as error:
    assert "manifest" in str(error), error
names = [name for name in sys.modules if name.startswith("report.")]
Path(f"{about}.json").write_text(json.dumps(names))
"""
"""Measures like `alone.alone`, each kind in a process forked for it, and writes the names of
the modules that this took."""

CHANGES = {
    "passage": {"passage": "passage.md"},
    "table": {"table": "seattle-weather", "columns": ["date", "weather"], "rows": 3},
    "conditions": {
        "prompts": "few.md",  # two questions run the same code as the 25 that ship
        "conditions": [
            {"name": "none"},
            {"name": "new", "before": "question", "text": "/", "times": 12},
            {"name": "words", "before": "question", "kind": "sentence", "like": "new"},
        ],
    },
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package's files, whose code `edit` changes."""
    ignored = shutil.ignore_patterns("embedded", "__pycache__")
    return shutil.copytree(code.PACKAGE, tmp_path_factory.mktemp("code") / "report", ignore=ignored)


@pytest.fixture
def edit(package):
    """A function that changes a file of the copy, for a test."""
    texts = {}

    def edit(name, change):
        texts[package / name] = (package / name).read_text()
        change(package / name)

    yield edit
    for path, text in texts.items():
        path.write_text(text)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """A folder with the names of the modules that measuring takes, a file a kind."""
    folder = tmp_path_factory.mktemp("loaded")
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("CHANGES", repr(CHANGES))],
        cwd=folder,
        # no thread may be lost in a fork
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_every_module_that_measures_counts(kind, modules):
    names = json.loads((modules / f"{kind}.json").read_text())
    loaded = {name.removeprefix("report.") for name in names}
    counted = {
        file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for file in code.measuring_code(kind)
    }
    # what front matter needs to be read, and what gives inputs that are in the key themselves
    others = ("study", "inputs.specs", "inputs.yaml_lines", "measuring.code", *code.NOT_FOLLOWED)
    others += ("inputs.needles", "inputs.pairs")
    assert "models.attention.kernel" in loaded
    folders = (path.parent.relative_to(code.PACKAGE) for path in code.PACKAGE.rglob("__init__.py"))
    packages = {folder.as_posix().replace("/", ".") for folder in folders}
    packages |= {f"kinds.{name}" for name in questions()}
    asked = {f"kinds.{name}.question" for name in questions()} | {"kinds.question", "kinds.folders"}
    rest = loaded - counted - packages - asked
    missing = {name for name in rest if not name.startswith(others)}
    assert missing == set()


@pytest.mark.parametrize("kind", KINDS)
def test_what_draws_reads_or_refuses_does_not_count(kind):
    files = set(code.measuring_code(kind))
    assert not any(file.startswith(("figures/", "web/", "pages/")) for file in files)
    others = {f"kinds/{other}/measure.py" for other in KINDS if other != kind}
    readers = {"datasets/read/study.py", "kinds/passage/data.py", "datasets/read/conditions.py"}
    after = {"errors.py", "study/study.py", "pages/render.py", "measuring/plan.py"}
    readers |= {f"kinds/{each}/{name}.py" for each in KINDS for name in ("data", "findings")}
    assert not files & (others | readers | after)


def appended(text):
    return lambda path: path.write_text(path.read_text() + text)


def replaced(old, new):
    def change(path):
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return change


def laid_out_anew(path):
    """Other line breaks, another docstring, no comment but one."""
    path.write_text(
        f'"""Other words."""\n\n# a comment\n{ast.unparse(ast.parse(path.read_text()))}\n'
    )


def without_docstring(path):
    text = path.read_text()
    path.write_text(text[text.index('"""', 3) + 3 :])


STATEMENT = appended("\nCHANGED = 1\n")
KERNEL, SCHEMA = "models/attention/kernel.py", "datasets/schemas/attention-4.json"
EDITS = [
    ("passage", "models/attention/own_forwards.py", STATEMENT, True),
    ("passage", "datasets/formats/attention.py", STATEMENT, True),
    ("passage", "measuring/run.py", STATEMENT, True),
    ("conditions", "kinds/conditions/measure.py", STATEMENT, True),
    ("conditions", "inputs/fillers.py", STATEMENT, True),
    ("table", "models/text/cells.py", STATEMENT, True),
    (
        "passage",
        "models/find/weights.py",
        replaced('"model.safetensors"', '"other.safetensors"'),
        True,
    ),
    ("passage", SCHEMA, replaced('"object"', '"array"'), True),
    (
        "passage",
        SCHEMA,
        lambda path: path.write_text(json.dumps(json.loads(path.read_text()), indent=7)),
        False,
    ),
    ("passage", KERNEL, laid_out_anew, False),
    ("passage", KERNEL, without_docstring, False),
    ("passage", "measures/itself.py", replaced("TITLE = ", 'TITLE = "New: " + '), False),
    ("passage", "measures/itself.py", replaced("is_top", "is_top_of_any"), True),
    ("passage", "figures/parts/theme.py", STATEMENT, False),
    ("passage", "pages/render.py", STATEMENT, False),
    ("passage", "inputs/passages.py", STATEMENT, False),
    ("passage", "kinds/passage/data.py", STATEMENT, False),
    ("passage", "kinds/table/measure.py", STATEMENT, False),
    ("passage", "web/page/site.css", appended("\n\n"), False),
]
"""Kind, file, a change of it, and whether what was measured may have become another."""


@pytest.mark.parametrize(("kind", "name", "change", "counts"), EDITS)
def test_what_runs_counts_and_no_comment_docstring_or_layout(
    package, edit, kind, name, change, counts
):
    before = code.measuring_code(kind, package)
    edit(name, change)
    after = code.measuring_code(kind, package)
    changed = {file for file in after if after[file] != before.get(file)}
    assert changed == ({name} if counts else set())


IMPORT = "from report.models.attention.extra import EXTRA\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", False),
        (IMPORT, True),
        (f"if TYPE_CHECKING:\n    {IMPORT}", False),
        (f"if TYPE_CHECKING:\n    pass\nelse:\n    {IMPORT}", True),
    ],
)
def test_a_module_that_is_new_counts_once_code_that_runs_imports_it(package, edit, text, counts):
    before = code.measuring_code("passage", package)
    (package / "models" / "attention" / "extra.py").write_text("EXTRA = 1\n")
    edit(KERNEL, appended(f"\n{text}"))
    new = code.measuring_code("passage", package).keys() - before.keys()
    assert new == ({"models/attention/extra.py"} if counts else set())


HEADS = ("attention-4", "keys-1")
"""Schemas of what a head is written in."""


@pytest.mark.parametrize(
    ("kind", "schemas"),
    [
        (
            "passage",
            {*HEADS, "manifest-1", "passage-1", "batch-3", "table-1"}
            | {"prediction-1", "prediction-head-1", "prediction-lens-1"},
        ),
        ("table", {*HEADS, "manifest-1", "passage-1", "renderings-1", "table-1"}),
        ("conditions", {"conditions-1", "manifest-1", "passage-1", "received-1", "table-1"}),
        ("sweep", {"manifest-1", "table-1"}),
        (
            "prediction",
            {"manifest-1", "passage-1", "table-1"}
            | {"prediction-1", "prediction-head-1", "prediction-lens-1"},
        ),
        (
            "pair",  # what it asks is as of a prediction
            {"manifest-1", "passage-1", "table-1"}
            | {"prediction-1", "prediction-head-1", "prediction-lens-1"},
        ),
        (
            "regions",  # heads are replaced as in a prediction
            {"manifest-1", "passage-1", "table-1"}
            | {"prediction-1", "prediction-head-1", "prediction-lens-1"},
        ),
        (
            "generated",  # some functions are those of a prediction
            {"manifest-1", "passage-1", "table-1", "effect-rows-1"}
            | {"prediction-1", "prediction-head-1", "prediction-lens-1"},
        ),
    ],
)
def test_the_schemas_that_a_kind_writes_count(kind, schemas):
    counted = {file for file in code.measuring_code(kind) if file.endswith(".json")}
    of_manifest = f"kinds/{owner(kind)}/manifest.json"
    assert counted == {of_manifest, *(f"datasets/schemas/{name}.json" for name in schemas)}


def test_no_measuring_module_writes_a_schema_that_it_does_not_name_in_a_constant():
    files = {file for kind in KINDS for file in code.measuring_code(kind) if file.endswith(".py")}
    for file in files:
        for node in ast.walk(ast.parse((code.PACKAGE / file).read_text("utf-8"))):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    is_schema = isinstance(key, ast.Constant) and key.value == "schema"
                    assert not (is_schema and isinstance(value, ast.Constant)), file
