"""A kind of article is its folder: one in a folder of its own works in all commands."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from report.models.load.load import load_model
from report.models.text.tokens import tokenize
from report.text import percent
from tests.commands import ROOT
from tests.small import SENTENCE
from tests.themed import write_themed

FIGURE = '''"""How hard each token is to predict, read forwards and backwards."""

import altair

from report.kinds.backwards.data import BothWays


def title(data: BothWays):
    return "Both ways"


def chart(data: BothWays, **state):
    points = altair.Chart(altair.NamedData("rows")).mark_point()
    return points.encode(
        x=altair.X("place:Q", title="token"),
        y=altair.Y("loss:Q", title="loss, nats"),
        shape=altair.Shape("way:N", title="read"),
        tooltip=["text:N", "way:N", altair.Tooltip("loss:Q", format=".2f")],
    )


def rows(data: BothWays, **state):
    ways = {"forwards": data.forwards, "backwards": data.backwards}
    return [
        {"place": place, "text": data.texts[place], "way": way, "loss": float(loss)}
        for way, losses in ways.items()
        for place, loss in enumerate(losses)
        if loss == loss
    ]


def seen(data: BothWays, **state):
    return f"Read backwards, {data.texts[int(data.backwards[:-1].argmax())]} is hardest."
'''

START = """
import sys
import report.kinds
report.kinds.__path__.append(sys.argv.pop(1))
from report import program
program()
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A folder of kinds with one in it."""
    folder = tmp_path_factory.mktemp("kinds")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(__file__).parent / "backwards", folder / "backwards", ignore=ignored)
    return folder


@pytest.fixture(scope="module")
def run(kinds):
    """A function that runs a command with that kind; gives what was said."""

    def command(*arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-c", START, str(kinds), *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=250,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return " ".join(said.split())

    return command


@pytest.fixture(scope="module")
def project(tmp_path_factory, run, falcon_folder):
    """A publication with an article of that kind, as `new` writes it, built into a site."""
    root = write_themed(tmp_path_factory.mktemp("added") / "publication")
    articles = root / "templates" / "articles"
    (root / "figures").mkdir(exist_ok=True)
    (root / "figures" / "both_ways.py").write_text(FIGURE)
    run("new", "both", "--kind", "backwards", "--project", root)
    path = articles / "both.md.j2"
    text = path.read_text().replace("falcon-8x8", str(falcon_folder))
    path.write_text(text.replace("the-lamp-on-the-hill", "passage.md"))
    assert "would be measured" in run("why", "--project", root)
    run("site", "--project", root)
    return root


def dataset(root):
    """Folder and manifest of what was measured."""
    (path,) = (root / "site" / "datasets" / "both").glob("*/manifest.json")
    return path.parent, json.loads(path.read_text())


def losses(model, ids):
    """The loss of every token but the first, through the model's own forward pass."""
    with torch.no_grad():
        rows = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    return np.array([-float(rows[n, token]) for n, token in enumerate(ids[1:])])


def test_its_numbers_are_those_of_the_model(project, falcon_folder):
    folder, manifest = dataset(project)
    assert (manifest["kind"], manifest["passage"]["name"]) == ("backwards", "passage")
    found = json.loads((folder / "both_ways.json").read_text())
    loaded = load_model(falcon_folder)
    ids = list(tokenize(loaded, SENTENCE.strip()).token_ids)
    assert found["forwards"][0] is found["backwards"][-1] is None
    np.testing.assert_allclose(found["forwards"][1:], losses(loaded.model, ids), atol=1e-3)
    back = losses(loaded.model, ids[::-1])[::-1]
    np.testing.assert_allclose(found["backwards"][:-1], back, atol=1e-3)
    text = (project / "site_src" / "articles" / "both" / "index.md").read_text()
    share = (back[1:] > losses(loaded.model, ids)[:-1]).mean()
    assert f"sides, {percent(share)} are harder" in text
    assert f"twice over a passage of {len(ids)} tokens" in text


def test_its_code_and_its_schemas_are_in_the_key(project):
    _, manifest = dataset(project)
    code = manifest["determined_by"]["code"]
    own = {name for name in code if name.startswith("kinds/")}
    assert own == {f"kinds/backwards/{name}" for name in ("measure.py", "manifest.json")} | {
        "kinds/backwards/both-ways-1.json"
    }
    assert "kinds/passage/measure.py" not in code
    published = project / "site" / "schemas"
    assert (published / "both-ways-1.json").is_file()
    schema = json.loads((published / "manifest-1.json").read_text())
    assert "backwards" in schema["properties"]["kind"]["enum"]


def test_it_is_checked_kept_frozen_and_measured_again(project, run):
    assert "all right" in run("check", project / "site")
    assert "unchanged" in run("measure", "--project", project)
    assert re.search(r"both, .*unchanged", run("why", "--project", project))
    run("freeze", "--project", project)
    assert [path.name for path in (project / "frozen" / "both").iterdir()] == [
        dataset(project)[0].name
    ]
    shutil.rmtree(project / "site_src" / "datasets" / "both")
    assert "frozen" in run("render", "--project", project)
    (project / "passage.md").write_text("The lamp went out, and the hill was dark.\n")
    assert "the passage changed" in run("why", "--project", project)


def test_what_is_wrong_with_it_is_one_sentence(project, run, tmp_path):
    said = run("new", "x", "--kind", "sideways", "--project", project, code=2)
    assert "--kind 'sideways' is unknown; there are: atlas, backwards, conditions" in said
    path = project / "templates" / "articles" / "both.md.j2"
    text = path.read_text()
    path.write_text(text.replace("backwards: true", "backwards: true\nbeside: [falcon-8x8]"))
    try:
        said = run("why", "--project", project, code=1)
        assert "says `beside`, which is for articles about a passage or a table" in said
        path.write_text(text.replace('"both_ways"', '"attention_map"'))
        assert "is given a passage both ways" in run("render", "--project", project, code=1)
    finally:
        path.write_text(text)
    folder = shutil.copytree(project / "site", tmp_path / "site")
    (file,) = folder.glob("datasets/both/*/both_ways.json")
    file.write_text(file.read_text().replace("null", "1.0", 1))
    assert "not the file that was measured" in run("check", folder, code=1)
