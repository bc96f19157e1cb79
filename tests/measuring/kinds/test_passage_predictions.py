"""Predictions beside a passage: what is measured, by plain loops; what is left out, and said."""

import json
import shutil

import numpy as np
import pytest
import torch

from report.datasets import store
from report.datasets.write.folder import Folder
from report.effects.asked import MEAN, Asked
from report.effects.direct import direct_effects
from report.errors import ReportError
from report.figures import direct_and_ablation, logit_lens, what_a_head_writes
from report.figures.build.find import figure_named
from report.inputs.predictions import Prompt
from report.kinds.passage.data import PassageData, PassageModels
from report.kinds.passage.findings import context
from report.kinds.passage.predicted import PredictedFindings
from report.kinds.prediction import measure as kind
from report.kinds.prediction.data import PredictionData, PredictionModels, of_passage
from report.kinds.prediction.data import verify as verify_prediction
from report.kinds.prediction.live import LivePrediction
from report.measuring import run
from report.models.attention.structure import structure
from report.models.load.load import load_model
from report.models.text.tokens import encode_texts
from report.notebook.measurement import load
from report.project import project as project_in
from report.study.study import read_study
from tests.small import CORPUS, SENTENCE, write_publication

TEXTS = [text.text for text in CORPUS]
PASSAGE = SENTENCE.strip()

pytestmark = pytest.mark.usefixtures("short_corpus")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return project_in(write_publication(tmp_path_factory.mktemp("predicted") / "project"))


@pytest.fixture(scope="module")
def measured(project, falcon_folder):
    """A function from keys of front matter to the folder of datasets, and whether the model ran."""

    def measured(**keys):
        usual = {"model": str(falcon_folder), "passage": str(project.root / "passage.md")}
        study = read_study(project.articles / "small.md.j2", **usual | keys)
        [found] = run.datasets(study, project, lambda *steps: None)
        return found.folder, found.ran

    return measured


@pytest.fixture(scope="module")
def folder(measured, tmp_path_factory, short_corpus):
    """A copy: what is measured next takes the place of what was measured before."""
    found, _ = measured(predict=True)
    return shutil.copytree(found, tmp_path_factory.mktemp("kept") / found.name)


def test_they_are_measured_where_they_are_asked_for(measured, folder):
    again, ran = measured(predict=True)
    assert (again.name, ran) == (folder.name, False)
    verify_prediction(of_passage(PassageData(folder)))
    other, ran = measured()
    assert ran
    assert other.name != folder.name
    assert of_passage(PassageData(other)) is None
    assert "prediction" not in json.loads((other / "manifest.json").read_text("utf-8"))


def test_what_is_lost_without_a_head_is_what_a_plain_loop_finds(folder, falcon_folder):
    data = PassageData(folder)
    [text] = of_passage(data).sentences
    ids = [token.id for token in data.tokens]
    loaded = load_model(falcon_folder)
    asked = [Asked(row, token, MEAN) for row, token in enumerate(ids[1:])]
    direct = direct_effects(loaded, ids, asked)
    np.testing.assert_allclose(text.heads, direct.heads, atol=1e-4)
    means = _means(loaded)
    plain = _loss(loaded.model, ids)
    assert -text.before == pytest.approx(plain, abs=1e-4)
    for layer in range(3):
        for head in range(4):
            rise = _loss(loaded.model, ids, layer, head, means[layer]) - plain
            assert text.drop("mean")[layer, head] == pytest.approx(rise, abs=2e-4)


def _means(loaded):
    """Of every layer the mean of what enters its output projection, without first tokens."""
    seen = {}
    parts = structure(loaded.model)
    hooks = [
        part.output_projection.register_forward_pre_hook(
            lambda _, args, layer=layer: seen.setdefault(layer, []).append(args[0][0, 1:])
        )
        for layer, part in enumerate(parts)
    ]
    with torch.no_grad():
        for ids in encode_texts(loaded, [text.text for text in CORPUS]).token_ids.values():
            loaded.model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return [torch.cat(seen[layer]).mean(0) for layer in range(len(parts))]


def _loss(model, ids, layer=None, head=None, mean=None):
    hooks = []

    def replace(_, args):
        context = args[0].clone()
        size = context.shape[-1] // 4
        own = slice(head * size, (head + 1) * size)
        context[..., own] = mean[own]
        return (context,)

    if layer is not None:
        part = structure(model)[layer]
        hooks.append(part.output_projection.register_forward_pre_hook(replace))
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0]
    for hook in hooks:
        hook.remove()
    return float(torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:])))


def test_prose_counts_what_is_looked_at_beside_what_matters(folder):
    find = context(PassageData(folder))["find"].predicted
    [text] = find.data.sentences
    whole = np.zeros(3)
    for layer, head in np.ndindex(3, 4):
        one = text.head(layer, head)
        rows = [
            (one.probability[row, 0], abs(one.effect[row, 0]), sum(map(abs, one.effect[row])))
            for row in range(1, text.rows)
        ]
        share, effect, of = np.sum(rows, 0)
        both = find.both_of(layer, head)
        assert both.first_share == pytest.approx(share / len(rows))
        assert both.first_effect == pytest.approx(effect / of)
        whole += share / len(rows) / 12, effect, of
    assert find.both.first_share == pytest.approx(whole[0])
    assert find.both.first_effect == pytest.approx(whole[1] / whole[2])
    direct, lost = text.heads.mean(0), text.drop("mean")
    assert find.strongest.value == direct.max()
    assert find.lost[find.missed.layer, find.missed.head] == lost.max()
    assert find.correlation == pytest.approx(np.corrcoef(direct.ravel(), lost.ravel())[0, 1])


@pytest.fixture(scope="module")
def live(falcon_folder, tmp_path_factory):
    """A model, and a passage and its predictions that it measured in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        model = load(falcon_folder)
    passage = model.measure(PASSAGE).data
    return model.loaded, passage, LivePrediction(model.loaded, passage, PASSAGE, lens=True)


def test_what_is_measured_in_memory_is_what_is_written(live, tmp_path):
    loaded, passage, found = live
    told, _ = kind.of_passage(
        loaded, PASSAGE, passage.passage["tokens"], TEXTS, lambda *_: None, print
    )
    whole, _ = kind.measure(
        loaded, kind.Inputs([Prompt(PASSAGE)], TEXTS), lambda *_: None, lambda _: None
    )
    beside, alone = Folder(tmp_path / "beside"), Folder(tmp_path / "alone")
    kind.write(beside, told, lambda *_: None)
    kind.write(alone, whole, lambda *_: None)
    lens = "lens/0.json"
    assert found._read(lens) == store.read(alone.path / lens)
    assert {*found.manifest["files"]} == {*beside.files, lens}
    for name in beside.files:
        written, read = store.read(beside.path / name), found._read(name)
        if name.startswith("sentences/"):
            assert written.pop("drops").keys() == {"before", "mean"}
            assert read.pop("drops") == {}
        assert read == written
    verify_prediction(found)


def test_where_the_first_token_alone_predicts_it_looks_at_itself(live):
    loaded, passage, _ = live
    told, facts = kind.without_ablations(
        loaded, "T", passage.passage["tokens"][:2], False, lambda: None
    )
    data = LivePrediction(loaded, passage, PASSAGE, lens=False)
    data._makers = dict(kind.makers(told, 0))
    data.manifest = data.manifest | {"prediction": facts}
    both = PredictedFindings(data).both
    assert (both.first_share, both.first_effect) == (1, 1)
    assert "it sees no other" in figure_named("effect_by_target").seen(data)


def test_without_ablations_a_figure_of_these_is_left_out(live):
    *_, found = live
    assert "not measured" in direct_and_ablation.left_out(found)
    assert found.sentences[0].ablations == []
    with pytest.raises(ReportError, match="'mean' was not measured"):
        found.sentences[0].drop("mean")


def test_the_measuring_in_memory_can_be_ended_after_each_part(live):
    loaded, passage, _ = live
    parts = []
    LivePrediction(loaded, passage, PASSAGE, True, lambda: parts.append(1))
    assert len(parts) >= 2
    with pytest.raises(ZeroDivisionError):
        LivePrediction(loaded, passage, PASSAGE, True, lambda: 1 / 0)


def test_figures_that_need_more_are_left_out(folder):
    data = of_passage(PassageData(folder))
    assert "not measured" in logit_lens.left_out(data)
    assert "not measured" in what_a_head_writes.left_out(data)
    assert direct_and_ablation.controls(data) == []  # one text, replaced by one thing
    places = (
        figure_named("direct_and_ablation")
        .chart(data)
        .to_dict()["usermeta"]["report"]["data"]["url"]
    )
    assert places == "rows/0-mean.json"


@pytest.mark.parametrize(
    ("change", "said"),
    [({"MOST": 5}, "are told of at most 5"), ({"LARGEST": 1000}, "models with at most")],
)
def test_what_would_take_too_long_is_left_out_and_said(measured, monkeypatch, change, said):
    for name, value in change.items():
        monkeypatch.setattr(kind, name, value)
    folder, _ = measured(predict=True, label=next(iter(change)))
    data = PassageData(folder)
    assert of_passage(data) is None
    assert context(data)["find"].predicted is None
    assert said in data.manifest["prediction"]["reasons"]["effects"]


def test_of_several_models_those_that_have_them_are_shown(folder, measured):
    one = PassageData(folder)
    other = PassageData(measured(label="plain")[0])
    models = of_passage(PassageModels([one, one]))
    assert isinstance(models, PredictionModels)
    assert models.labels == PassageModels([one, one]).labels
    partly = of_passage(PassageModels([one, other], ["a", "b"]))
    assert [model.path for model in partly.models] == [one.path]
    assert partly.labels == ["a"]
    assert isinstance(of_passage(one), PredictionData)
