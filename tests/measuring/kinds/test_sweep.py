"""A sweep from front matter to datasets: models and revisions, measured once, small."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from report.datasets.read.study import open_study
from report.errors import ReportError
from report.kinds.sweep import measure as kind
from report.measuring import run
from report.models.load import identity
from report.models.load.load import load_model
from report.models.measure import repetition as induction_module
from report.models.measure.loss import mean_loss
from report.models.measure.passage import measure_corpus
from report.models.measure.repetition import repetition
from report.models.text.tokens import encode
from report.project import project as project_in
from report.study.study import read_study
from tests.small import CORPUS
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

ARTICLE = """---
title: Sweep
date: 2026-01-02
author: Ann
summary: What it says.
models: [{models}]
model: {training}
revisions: [first, second]
sweep: true
cover: habits_in_training
---
{{{{ figure("habits_in_training") }}}}
"""


@pytest.fixture(autouse=True)
def few_texts(monkeypatch):
    monkeypatch.setattr(kind, "corpus", lambda: CORPUS)
    monkeypatch.setattr(induction_module, "SEQUENCES", 2)


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """The folder of two checkpoints, whose names say nothing of steps."""
    folder = tmp_path_factory.mktemp("training") / "runs"
    for seed, name in ((3, "first"), (4, "second")):
        random_falcon(seed).save_pretrained(folder / name)
        byte_level_tokenizer().save_pretrained(folder / name)
        facts = {"steps": 10 * seed, "recipe": {"seed": 1}}
        (folder / name / "training.json").write_text(json.dumps(facts))
    return folder


@pytest.fixture
def root(tmp_path, training, falcon_folder):
    article = tmp_path / "templates" / "articles" / "small.md.j2"
    article.parent.mkdir(parents=True)
    article.write_text(ARTICLE.format(models=falcon_folder, training=training))
    (tmp_path / "mkdocs.yml").write_text("site_name: Small\n")
    return tmp_path


def study(root):
    return read_study(root / "templates" / "articles" / "small.md.j2")


def measured(root, **options):
    return run.datasets(study(root), project_in(root), lambda *_: None, **options)


def test_models_and_checkpoints_are_measured_alike(root, training, falcon_folder):
    found = measured(root)
    assert [each.state for each in found] == ["measured"] * 3
    data = open_study([each.folder for each in found], study(root).front_matter.labels)
    assert [model.step for model in data.training] == [30, 40]
    assert [model.name for model in data.compared] == ["tiny-falcon"]
    assert [model.recipe for model in data.models] == [{}, {"seed": 1}, {"seed": 1}]
    for model, folder in zip(
        data.models, (falcon_folder, training / "first", training / "second"), strict=True
    ):
        loaded = load_model(folder)
        texts = [encode(loaded, text.text) for text in CORPUS]
        statistics, repeated = measure_corpus(loaded, texts), repetition(loaded)
        for measure, expected in {
            "previous_token": statistics.mean("previous_token"),
            "first_token": statistics.mean("first_token"),
            "induction": repeated.induction.mean(0),
            "previous_random": repeated.previous_token.mean(0),
        }.items():
            np.testing.assert_allclose(model.habit(measure), expected, atol=6e-5)
        assert model.loss("texts") == pytest.approx(mean_loss(loaded.model, texts), abs=1e-4)
        assert model.loss("second") == pytest.approx(repeated.loss_second.mean(), abs=1e-4)
        error = repeated.loss_second.std(ddof=1) / 2**0.5
        assert model.loss_error("second") == pytest.approx(error, abs=1e-4)
        assert model.loss_error("texts") is None


def test_nothing_is_measured_twice_and_little_is_kept(root):
    first = measured(root)
    assert [each.state for each in measured(root)] == ["unchanged"] * 3
    for each in first:
        assert {path.name for path in each.folder.iterdir()} == {"manifest.json", "habits.json"}
        assert sum(path.stat().st_size for path in each.folder.iterdir()) < 20_000


def test_steps_that_a_name_would_say_otherwise_are_the_checkpoint_s_own(root, training, tmp_path):
    runs = tmp_path / "others"
    shutil.copytree(training, runs)
    (runs / "first").rename(runs / "step-999")
    article = root / "templates" / "articles" / "small.md.j2"
    text = article.read_text().replace(str(training), str(runs)).replace("[first,", "[step-999,")
    article.write_text(text)
    found = measured(root)
    data = open_study([each.folder for each in found], study(root).front_matter.labels)
    assert [model.step for model in data.training] == [30, 40]


def test_a_corpus_that_no_model_can_read_is_refused(root, monkeypatch):
    monkeypatch.setattr(identity, "context", lambda model: 512)
    long = tuple(replace(text, text=text.text * 500) for text in CORPUS)
    monkeypatch.setattr(kind, "corpus", lambda: long)
    with pytest.raises(ReportError, match="every text of the corpus is longer than the model"):
        measured(root)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("table: cars", "says `table` and `sweep`; say one of them"),
        ("passage: a.txt", "says `passage`, which an article about a sweep"),
    ],
)
def test_a_sweep_reads_no_text_of_its_own(root, line, said):
    article = root / "templates" / "articles" / "small.md.j2"
    article.write_text(article.read_text().replace("sweep: true", f"sweep: true\n{line}"))
    with pytest.raises(ReportError, match=said):
        study(root)
