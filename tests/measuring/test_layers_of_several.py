"""How many layers are measured of several models, of which some have no more than are asked for."""

import pytest

from report.errors import ReportError
from report.measuring import plan, run
from report.measuring.settings import measuring_settings
from report.models.find import names
from report.project import project as project_in
from report.study.study import read_studies
from tests.small import write_publication

MODELS = ("falcon-8x8", "qwen2-5x28")


def article(root, keys):
    """The study of a project whose one article has these keys, and the project."""
    path = write_publication(root) / "templates" / "articles" / "small.md.j2"
    path.write_text(path.read_text("utf-8").replace("title:", f"{keys}\ntitle:"))
    return read_studies(path.parent)[0], project_in(root)


def layers(study, model, before=None):
    return measuring_settings(study.front_matter, names.find(model), before)["layers"]


@pytest.mark.parametrize(("asked", "measured"), [(4, [4, 4]), (5, [5, None]), (6, [6, None])])
def test_a_model_that_has_no_more_is_measured_whole(tmp_path, asked, measured):
    study, project = article(tmp_path, f"models: [falcon-8x8, qwen2-5x28]\nlayers: {asked}")
    assert [layers(study, model) for model in MODELS] == measured
    chosen = plan.plans(study, project, run.read(study), ask=False)
    assert [each.settings["layers"] for each in chosen] == measured


def test_more_layers_than_any_model_has_are_refused(tmp_path):
    study, project = article(tmp_path, "models: [falcon-8x8, qwen2-5x28]\nlayers: 9")
    with pytest.raises(ReportError, match=r"line \d+: .*at most 8 layers, asked for .* first 9"):
        plan.plans(study, project, run.read(study), ask=False)


def test_what_is_not_known_of_a_model_that_is_gone_counts_as_it_was_measured(tmp_path):
    study, _ = article(tmp_path, "models: [falcon-8x8, qwen2-5x28]\nlayers: 6")
    gone = names.Source("gone", "folder")
    for before, expected in ((None, 6), ({"layers": 6}, 6), ({"layers": None}, None)):
        assert measuring_settings(study.front_matter, gone, before)["layers"] == expected


def test_one_model_is_never_measured_whole_by_mistake(tmp_path):
    study, project = article(tmp_path, "model: qwen2-5x28\nlayers: 6")
    with pytest.raises(ReportError, match="has 5 layers"):
        plan.plans(study, project, run.read(study), ask=False)
