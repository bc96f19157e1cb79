"""Answers, from front matter to frozen datasets: measured apart, and shown where they are."""

import json
import re
import shutil
from collections import Counter

import pytest
import torch

from report.datasets import store
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.files import sha256
from report.kinds.conditions import measure_answers as kind
from report.kinds.conditions.answers import ModelAnswers
from report.measuring import frozen, run
from report.models.load.load import load_model
from report.project import project as project_in
from report.site.check import check_datasets
from report.study.study import read_study
from tests.measuring.kinds.test_conditions import PROMPTS
from tests.small import write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

ARTICLE = """---
title: Fillers
date: 2026-01-02
author: Ann
summary: What it says.
models: [{model}]
prompts: {prompts}
conditions:
  - {{name: none}}
  - {{name: filler, label: "{label}", before: question, text: "/", times: 9}}
  - {{name: newline, before: question, text: "\\n", like: filler}}
  - {{name: bare, remove: system}}
answers: {{questions: 20, lengths: {lengths}}}
layers: {layers}
---
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    random_falcon(4).save_pretrained(folder)
    byte_level_tokenizer().save_pretrained(folder)
    return folder


def with_prompts(root):
    (write_publication(root) / "sums.md").write_text(PROMPTS)
    return project_in(root)


@pytest.fixture
def project(tmp_path):
    return with_prompts(tmp_path / "project")


def article(project, folder, label="with /", lengths="[7, 9]", layers="all"):
    text = ARTICLE.format(
        model=folder,
        prompts=project.root / "sums.md",
        label=label,
        lengths=lengths,
        layers=layers,
    )
    path = project.articles / "fillers.md.j2"
    path.write_text(text)
    return read_study(path)


def measured(study, project):
    return run.datasets(
        study, project, lambda *step: None, use_frozen=False, announce=lambda said: None
    )


@pytest.fixture(scope="module")
def answered_once(folder, tmp_path_factory):
    """A project in which conditions and answers were measured, and the folders of both."""
    project = with_prompts(tmp_path_factory.mktemp("answered") / "project")
    study = article(project, folder)
    found = [*measured(study, project), *measured(study.apart, project)]
    return project, [each.folder for each in found]


@pytest.fixture
def answered(project, folder, answered_once):
    """A study whose conditions and answers were measured, and the folders of both."""
    before, folders = answered_once
    shutil.copytree(before.site_src, project.site_src, dirs_exist_ok=True)
    places = [project.root / each.relative_to(before.root) for each in folders]
    return article(project, folder), *places


def test_a_build_measures_no_answers(project, folder):
    study = article(project, folder)
    found = measured(study, project)
    assert run.measured_apart(study, project) == []
    data = open_study([one.folder for one in found])
    assert (data.kind, list(data.answers)) == ("conditions", [])


def test_neither_removes_what_was_measured_of_the_other(project, answered):
    study, conditions, answers = answered
    assert conditions.is_dir()
    [found] = run.measured_apart(study, project)
    assert (found.folder, found.state) == (answers, "unchanged")
    assert [one.state for one in run.datasets(study, project, print)] == ["unchanged"]
    assert conditions.is_dir()
    assert answers.is_dir()


def test_frozen_answers_are_used_and_freezing_others_keeps_them(project, answered, folder):
    study, conditions, answers = answered
    [copy] = frozen.freeze("fillers", [answers], project)
    [other] = frozen.freeze("fillers", [conditions], project)
    assert copy.is_dir()
    assert other.is_dir()
    [found] = run.measured_apart(study, project)
    assert found.state == "frozen"
    data = open_study([conditions], apart=[found.folder])
    assert [one.name for one in data.answers] == ["tiny"]
    assert list(data.answers[0].conditions.values()) == ["with /", "newline"]


def test_a_published_site_s_answers_are_checked(project, answered):
    counts = Counter()
    assert check_datasets(project.site_src, counts) == []
    *_, answers = answered
    table = json.loads((answers / "answers.json").read_text())
    table["tables"]["questions"]["columns"].pop("right.none.0")
    (answers / "answers.json").write_text(json.dumps(table))
    manifest = json.loads((answers / "manifest.json").read_text())
    manifest["files"]["answers.json"]["sha256"] = sha256(answers / "answers.json")
    (answers / "manifest.json").write_text(json.dumps(store.sealed(manifest)))
    said = check_datasets(project.site_src, counts)
    assert any("has other columns than it should" in problem for problem in said)


def test_a_part_that_is_repeated_by_a_plain_loop_gives_the_same(answered, folder):
    """Each question alone, through the model's own forward pass."""
    study, _, answers = answered
    data, loaded = ModelAnswers(answers), load_model(folder)
    prompts = kind.asked_of(loaded, kind.inputs(study.apart.front_matter), False)
    assert [*prompts] == [("none", 0), *((one.name, one.tokens) for one in data.cells)]
    for cell, some in prompts.items():
        logs, rights = data.values("log_probability", *cell), data.values("right", *cell)
        for place in (0, 5, 19):
            log, right = by_hand(loaded.model, some[place])
            assert logs[place] == pytest.approx(log, abs=0.00051)
            assert rights[place] == right
        lengths = {len(prompt.filler) for prompt in some}
        assert lengths == {cell[1]}


def by_hand(model, prompt):
    """(log probability, whether right) of the answer of a prompt."""
    with torch.no_grad():
        rows = model(torch.tensor([prompt.token_ids]), use_cache=False).logits[0].double()
    pairs = [(rows[place - 1].log_softmax(-1), prompt.token_ids[place]) for place in prompt.answer]
    log = sum(float(row[token]) for row, token in pairs)
    return log, all(int(row.argmax()) == token for row, token in pairs)


def test_the_manifest_says_how_to_repeat_it(answered):
    manifest = store.read(answered[2] / "manifest.json")
    assert manifest["kind"] == "answers"
    assert re.search(r"report freeze --study fillers --models \S+ --answers$", manifest["command"])
    about = manifest["answers"]
    assert (about["questions"], about["seed"], about["chat"]) == (20, 0, False)
    assert [cell["shares"] for cell in about["cells"]] == [False, False, True, False, False]


def test_a_label_changes_nothing_and_a_length_does(project, answered, folder):
    assert len(run.measured_apart(article(project, folder, label="Slashes"), project)) == 1
    assert run.measured_apart(article(project, folder, lengths="[7, 10]"), project) == []


def test_a_study_of_some_layers_asks_the_whole_model(project, folder):
    study = article(project, folder, layers="0-1")
    read = [
        store.read(measured(one, project)[0].folder / "manifest.json")["model"]
        for one in (study, study.apart)
    ]
    assert [model["num_hidden_layers"] for model in read] == [3, 3]
    assert [model["layers_measured"] for model in read] == [2, 3]


def test_an_article_without_such_conditions_is_refused(project, folder):
    study = article(project, folder)
    wanted = study.apart.front_matter
    few = wanted.model_construct(**dict(wanted) | {"conditions": wanted.conditions[:1]})
    with pytest.raises(ReportError, match="add one with `before: question`"):
        kind.inputs(few)
    text = study.template.read_text()
    study.template.write_text(re.sub("  - .*before: question.*\n", "", text))
    with pytest.raises(ReportError, match="line 11: `answers` asks about conditions that add"):
        run.read(read_study(study.template).apart)


def test_answers_are_a_part_of_studies_that_ask_for_them(project, folder):
    study = article(project, folder)
    assert study.apart.front_matter.kind == "answers"
    assert study.front_matter.kind == "conditions"
    text = study.template.read_text()
    study.template.write_text(re.sub("answers:.*\n", "", text))
    assert read_study(study.template).apart is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{lengths: [9, 7]}", "lengths go from the smallest to the largest, each once"),
        ("{lengths: []}", "lengths"),
        ("{questions: 5}", "questions"),
        ("{length: [5]}", "unknown key 'length' of the answers"),
    ],
)
def test_mistakes_in_front_matter_are_told(project, folder, said, told):
    path = article(project, folder).template
    path.write_text(re.sub("answers: .*\n", f"answers: {said}\n", path.read_text()))
    with pytest.raises(ReportError, match=f"line 13.*{told}"):
        read_study(path)
