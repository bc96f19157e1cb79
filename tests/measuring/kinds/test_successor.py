"""Successor scores of an atlas: from front matter to what articles and tables have of them."""

import json

import numpy as np
import pytest

from report.datasets.read.study import open_study
from report.effects.successor import succession
from report.errors import ReportError
from report.figures.build.find import figure_named
from report.kinds import folders
from report.kinds.atlas.findings import Findings
from report.kinds.atlas.release import release, table
from report.measuring import run
from report.models.load.load import load_model
from report.models.text.ordered import ordered_lists
from report.project import project as project_in
from report.study.study import read_study
from tests.figures import hand_atlas
from tests.measuring.kinds.test_atlas import write_atlas


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder):
    """Folders of the datasets of an atlas without effects, and of both that are measured apart."""
    root = tmp_path_factory.mktemp("small")
    path = write_atlas(root, "effects: 0\ncomposition: true\nsuccessor: true")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        study = read_study(path, model=str(falcon_folder))
        project = project_in(root)
        each = [run.datasets(one, project, lambda *_: None)[0] for one in (study, *study.parts)]
    assert [one.front_matter.kind for one in study.parts] == ["composition", "successor"]
    return [one.folder for one in each]


def test_scores_are_one_more_measure_of_the_atlas(measured, falcon_folder):
    data, without = open_study(measured[:1], apart=measured[1:]), open_study(measured[:1])
    assert {*data.measures} - {*without.measures} == {"successor"}
    folders.verify("successor", measured[2])
    loaded = load_model(falcon_folder)
    lists = ordered_lists(loaded)
    expected = succession(loaded, lists)
    steps = len(expected.right)
    of = Findings(data)
    np.testing.assert_allclose(of.values("successor"), expected.right.mean(0), atol=6e-5)
    chance = expected.by_chance.mean(0)
    np.testing.assert_allclose(of.values("successor", "control"), chance, atol=6e-5)
    error = expected.right.std(0, ddof=1) / steps**0.5
    np.testing.assert_allclose(of.error("successor"), error, atol=6e-5)
    about = data.successor.about
    assert about == {"steps": steps, "lists": {each.name: len(each.token_ids) for each in lists}}
    assert [each.kind for each in data.apart] == ["composition", "successor"]
    rows = figure_named("heads_by_two").rows(data)["rows"]
    top = of.strongest("successor")
    assert rows[top.layer * data.heads + top.head]["successor"] == pytest.approx(top.value)
    assert [
        each for each in figure_named("heads_by_two").finds(data) if each["name"] == "successor"
    ]
    assert {"successor", "control_successor", "place_successor"} <= {*table(data)}
    header, first, *_ = dict(release(data))[f"{measured[0].name}.csv"].splitlines()
    assert first.split(",")[header.split(",").index("successor")] == ""  # of the first layer


def test_of_several_models_each_has_its_own(measured, tmp_path):
    other = hand_atlas.composed(tmp_path)
    apart = [*measured[1:], *(each.path for each in other.apart)]
    first, second = open_study([measured[0], other.path], apart=apart).models
    assert first.successor.path == measured[2]
    assert Findings(second).strongest("successor").state == dict(
        zip(("layer", "head"), hand_atlas.SUCCEEDING, strict=True)
    )


def test_a_table_of_too_few_heads_is_refused(tmp_path):
    path = hand_atlas.successors(tmp_path)
    folders.verify("successor", path)
    file = path / "heads" / "successor.json"
    heads = json.loads(file.read_text())
    heads["tables"]["heads"]["columns"]["head"]["values"].reverse()
    file.write_text(json.dumps(heads))
    with pytest.raises(ReportError):
        folders.verify("successor", path)
