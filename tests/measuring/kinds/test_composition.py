"""Which heads of an atlas compose: from front matter to what an article may say of it."""

import json

import numpy as np
import pytest

from report.datasets.formats.composition import decode, encode
from report.datasets.read.study import open_study
from report.effects.composition import composition
from report.errors import ReportError
from report.kinds import folders
from report.kinds.atlas.findings import Findings
from report.measuring import run
from report.models.load.load import load_model
from report.pages.article import figure_for
from report.project import project as project_in
from report.study.study import read_study
from tests.figures import hand_atlas
from tests.measuring.kinds.test_atlas import write_atlas


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder):
    """Folders of the datasets of an atlas without effects, and of its composition."""
    root = tmp_path_factory.mktemp("small")
    path = write_atlas(root, "effects: 0\ncomposition: true")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        study = read_study(path, model=str(falcon_folder))
        project = project_in(root)
        assert run.measured_apart(study, project) == []
        [part] = study.parts
        found = [run.datasets(each, project, lambda *_: None)[0] for each in (study, part)]
        assert [each.folder for each in run.measured_apart(study, project)] == [found[1].folder]
    return [each.folder for each in found]


def test_scores_are_those_of_the_weights(measured, falcon_folder):
    data = open_study(measured[:1], apart=measured[1:])
    folders.verify("composition", measured[1])
    loaded = load_model(falcon_folder)
    expected, chance = composition(loaded), loaded.identity["hidden_size"] ** -0.5
    assert data.composition.baseline == pytest.approx(chance)
    for name, values in data.composition.scores.items():
        np.testing.assert_allclose(values, expected[name], atol=chance / 79)
    assert [each.kind for each in data.apart] == ["composition"]


def test_an_article_names_readers_and_writers_in_their_order(measured):
    data = open_study(measured[:1], apart=measured[1:])
    of, scores = Findings(data), data.composition.scores["k"]
    writer = of.head(0, 1)
    readers = of.readers("k", writer)
    assert len(readers) == data.heads * (data.layers - 1)
    assert [each.value for each in readers] == sorted(scores[1:, :, 0, 1].ravel(), reverse=True)
    reader = readers[0]
    writers = of.writers("k", reader)
    assert {each.layer for each in writers} == {*range(reader.layer)}
    assert (0, 1, reader.value) in [(each.layer, each.head, each.value) for each in writers]
    assert of.writers("q", of.head(0, 0)) == []
    assert of.chance == data.composition.baseline


def test_of_several_models_each_has_its_own(measured, tmp_path):
    other = hand_atlas.study(tmp_path)
    both = open_study([measured[0], other.path], apart=measured[1:])
    first, second = both.models
    assert first.composition.path == measured[1]
    assert second.composition is None
    assert [each.path for each in both.apart] == [measured[1]]
    assert both.labels == ["tiny-falcon", "hand"]


def test_without_it_an_article_that_speaks_of_it_is_refused(measured):
    with pytest.raises(ReportError, match="was not measured; say `composition: true`"):
        Findings(open_study(measured[:1])).readers("k", Findings(None).head(0, 0))


def test_a_model_whose_heads_have_no_matrices_is_left_out_with_the_reason(tmp_path):
    path = write_atlas(tmp_path, "effects: 0\ncomposition: true")
    study, project = read_study(path, model="gemma3-6x8"), project_in(tmp_path)
    said = []
    [part] = study.parts
    [measured] = run.datasets(part, project, lambda *_: None, announce=said.append)
    assert any("is left out: architecture 'gemma3_text'" in sentence for sentence in said)
    folders.verify("composition", measured.folder)
    atlas = hand_atlas.study(tmp_path / "hand", name="gemma3-6x8")
    data = open_study([atlas.path], apart=[measured.folder])
    assert data.composition is None and not data.apart
    assert figure_for("composition", data).left_out(data).startswith("Architecture 'gemma3_text'")
    with pytest.raises(ReportError, match=r"compose is not known: .* queries are not linear"):
        Findings(data).readers("k", Findings(data).head(0, 0))


def test_damaged_scores_are_refused():
    scores = {name: np.full((3, 2, 3, 2), np.nan) for name in "qkv"}
    for values in scores.values():
        for layer in range(3):
            values[layer, :, :layer] = 0.25
    dataset = encode(scores, 16)
    for name, values in decode(dataset, 3, 2).items():
        np.testing.assert_allclose(values, scores[name])
    for damage, reason in (
        (lambda columns: columns.pop("k"), "has other columns"),
        (lambda columns: columns["q"]["values"].pop(), "rows|values"),
    ):
        other = json.loads(json.dumps(dataset))
        damage(other["tables"]["readers"]["columns"])
        with pytest.raises(ReportError, match=reason):
            decode(other, 3, 2)
