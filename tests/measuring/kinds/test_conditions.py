"""From front matter to the datasets of a study of conditions: one model or several."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from report.datasets import store
from report.datasets.read.study import open_study
from report.errors import ReportError
from report.inputs.conditions import Segment
from report.inputs.prompts import prompts
from report.inputs.specs import ConditionSpec
from report.kinds.conditions import measure as kind
from report.measuring import alone, run
from report.models.load.load import load_model
from report.models.measure.conditions import measure_conditions
from report.models.text.segments import segmented
from report.project import project as project_in
from report.study.study import read_study
from tests.commands import contents, without_date
from tests.small import write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

PROMPTS = """---
title: Sums
source: made up
licence: CC0-1.0
language: en
system: The lamp stood.
---

How many are 3 and 4?
How many are 12 and 30, asked Ann?
"""
ARTICLE = """---
title: Fillers
date: 2026-01-02
author: Ann
summary: What it says.
models: [{models}]
prompts: {prompts}
conditions:
  - {{name: none, label: without}}
  - {{name: filler, label: "with /", before: question, text: "/", times: 9}}
  - {{name: sentence, before: question, kind: sentence, like: filler, seed: 3}}
  - {{name: newline, before: question, text: "\\n", like: filler}}
  - {{name: random, before: question, kind: random tokens, like: filler}}
  - {{name: note, replace: system, kind: text, text: "Ann asked. "}}
  - {{name: bare, remove: system}}
layers: 0-1
cover: x
---
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two tiny models that differ, in folders of names that sort the other way round."""
    folder = tmp_path_factory.mktemp("models")
    found = []
    for seed, name in enumerate(("second", "first")):
        random_falcon(seed).save_pretrained(folder / name)
        byte_level_tokenizer().save_pretrained(folder / name)
        found.append(folder / name)
    return found


@pytest.fixture
def project(tmp_path):
    folder = write_publication(tmp_path / "project")
    (folder / "sums.md").write_text(PROMPTS)
    return project_in(folder)


@pytest.fixture
def study(project, folders):
    text = ARTICLE.format(models=", ".join(map(str, folders)), prompts=project.root / "sums.md")
    path = project.articles / "fillers.md.j2"
    path.write_text(text)
    return read_study(path)


def measured(study, project, **options):
    steps = []
    found = run.datasets(study, project, lambda *step: steps.append(step), **options)
    return [(each.folder, each.ran) for each in found], steps


def test_every_model_is_measured_once_and_read_in_the_order_of_the_front_matter(study, project):
    found, steps = measured(study, project)
    assert [ran for _, ran in found] == [True, True]
    assert {what: n == total for what, n, total in steps} == {"Measuring": True, "Writing": True}
    assert [step for step in steps if step[0] == "Measuring"][:15] == [
        ("Measuring", n, 14) for n in range(15)
    ]
    opened = open_study([path for path, _ in found])
    assert opened.kind == "conditions"
    assert [model.name for model in opened.models] == ["second", "first"]
    again, steps = measured(study, project)
    assert again == [(path, False) for path, _ in found]
    assert steps == []
    forced, _ = measured(study, project, force=True)
    assert forced == found


def test_what_is_written_is_what_is_measured_of_the_model(study, project, folders):
    (path, _), _ = measured(study, project)[0]
    model = open_study([path]).models[0]
    loaded = load_model(folders[0], layers=2)
    conditions = kind.conditions(loaded, kind.inputs(study.front_matter))
    expected = measure_conditions(loaded, conditions)
    assert [each.name for each in model.conditions] == [each.name for each in expected]
    assert [each.label for each in model.conditions][:3] == ["without", "with /", "sentence"]
    for each, statistics in zip(model.conditions, expected, strict=True):
        assert each.counts.tolist() == statistics.received.count.tolist()
        for layer, head in np.ndindex(2, 4):
            mean, _ = model.received(layer, head)[each.name]["mean"]
            np.testing.assert_allclose(mean, statistics.received.mean[0, layer, head], atol=1.1e-5)
    effects = model.effects
    assert set(effects["condition"]) == {"filler", "sentence", "newline", "random"}
    at = (effects["condition"] == "filler") & (effects["rows"] == "mean")
    wanted = expected[1].compared.mean[0, 0]
    np.testing.assert_allclose(effects["lambda"][at].reshape(2, 4), wanted, atol=6e-5)


def test_new_segments_are_as_long_as_the_filler_in_every_question(study, project, folders):
    loaded = load_model(folders[0])
    found = kind.conditions(loaded, kind.inputs(study.front_matter))
    assert len(found) == 2
    names = [each.name for each in found[0]]
    for prompt in found:
        texts = {each.name: segmented(loaded, each.segments) for each in prompt}
        filler = texts["filler"].span("filler")
        assert len(filler) == 10  # nine slashes and the end of their line
        for name in ("sentence", "newline", "random"):
            assert texts[name].span("filler") == filler
        assert texts["none"].texts.keys() == {"system", "question"}
        assert list(texts["bare"].texts) == ["question"]
        assert texts["note"].texts["system"] == "Ann asked. "
        assert texts["filler"].texts["filler"] == "/////////\n"
        assert set(texts["newline"].texts["filler"]) <= {"\n", " "}
    one, two = (dict(zip(names, prompt, strict=True)) for prompt in found)
    for name in names:
        segments = [{s.name: s.text for s in each[name].segments} for each in (one, two)]
        assert segments[0].pop("question") != segments[1].pop("question")
        assert segments[0] == segments[1]


@pytest.mark.parametrize(
    ("said", "text"),
    [('"Q: {question}\\n"', "Q: How many are 3 and 4?\n"), ("none", "How many are 3 and 4?")],
)
def test_a_frame_stands_around_each_question_and_is_a_part_of_the_key(study, folders, said, text):
    text_before = study.template.read_text()
    study.template.write_text(text_before.replace("layers: 0-1", f"frame: {said}\nlayers: 0-1"))
    framed = kind.inputs(read_study(study.template).front_matter)
    plain = kind.inputs(study.front_matter)
    for prompt in kind.conditions(load_model(folders[0]), framed)[0]:
        assert prompt.segments[-1] == Segment("question", text)
    assert "frame" not in kind.parts(plain), "datasets of before keep their key"
    assert kind.parts(framed) == kind.parts(plain) | {"frame": framed.frame}


def test_the_same_seed_gives_the_same_fillers_and_another_seed_others(study, project, folders):
    loaded = load_model(folders[0])
    inputs = kind.inputs(study.front_matter)
    assert kind.conditions(loaded, inputs) == kind.conditions(loaded, inputs)
    reseeded = [spec.model_copy(update={"seed": spec.seed + 1}) for spec in inputs.specs]
    others = kind.conditions(loaded, kind.Inputs(inputs.prompts, tuple(reseeded)))
    same = [a == b for a, b in zip(kind.conditions(loaded, inputs)[0], others[0], strict=True)]
    assert same == [True, True, False, True, False, True, True]


def test_the_default_filler_is_55_slashes(falcon_folder):
    loaded = load_model(falcon_folder)
    spec = ConditionSpec(name="f", before="question")
    (prompt, *_) = kind.conditions(loaded, kind.Inputs(prompts("arithmetic"), (spec,)))
    assert prompt[0].segments[1].text == "/" * 55 + "\n"


def test_the_manifest_says_what_was_read_and_how_to_do_it_again(study, project, folders):
    found, _ = measured(study, project)
    manifest = store.read(found[1][0] / "manifest.json")
    assert manifest["kind"] == "conditions"
    about = manifest["prompts"]
    assert (about["name"], about["title"], about["texts"]) == ("sums", "Sums", 2)
    assert (about["system"], about["question"]) == ("The lamp stood.", "How many are 3 and 4?")
    loaded = load_model(folders[1])
    conditions = kind.conditions(loaded, kind.inputs(study.front_matter))
    lengths = [len(segmented(loaded, c.segments).token_ids) for p in conditions for c in p]
    assert about["tokens"] == sum(lengths)
    assert manifest["model"]["layers_measured"] == manifest["self_check"]["layers_called"] == 2
    assert manifest["command"] == (
        "python -m report measure --study fillers --models path/to/first --layers 0-1"
    )
    assert "passage" not in manifest
    for path, _ in found:
        text = json.dumps(store.read(path / "manifest.json"))
        assert str(project.root.parent) not in text
        assert str(folders[0].parent) not in text


@pytest.fixture
def merging(study, folders):
    """The study with a condition whose last word is one token with the first of the question."""
    text = study.template.read_text()
    joined = '  - {name: joined, before: question, kind: text, text: "the lamp"}\n'
    study.template.write_text(text.replace("layers: 0-1", f"{joined}layers: 0-1"))
    folder, tokenizer = folders[0].parent / "merging", byte_level_tokenizer()
    tokenizer.add_tokens(["lampQuestion"])
    tokenizer.save_pretrained(folder)
    # without ALiBi, which the eager attention of transformers rounds
    random_falcon(0, vocab_size=len(tokenizer), alibi=False).save_pretrained(folder)
    return read_study(study.template, models=[str(folder)]), folder


def test_a_token_over_an_edge_is_said_before_measuring_and_written_down(merging, project):
    events = []
    show = lambda *step: events.append(step)  # noqa: E731
    run.datasets(merging[0], project, show, announce=events.append)
    said = next(place for place, each in enumerate(events) if "(“lampQuestion”)" in str(each))
    assert "in 2 of 2 prompts" in events[said]
    assert said < events.index(("Measuring", 1, 16))
    [(path, _)], _ = measured(merging[0], project)
    model = open_study([path]).models[0]
    assert model.condition("filler").crossings == []
    text = model.condition("joined")
    assert [each["prompt"] for each in text.crossings] == [0, 1]
    assert (text.crossings[0]["before"], text.crossings[0]["after"]) == ("filler", "question")
    assert -1 in text.positions
    [(position, over)] = text.straddling.items()
    assert (over["text"], text.left_out) == ("lampQuestion", True)
    assert all(position not in places for places in text.segments.values())


def test_what_an_addition_takes_is_without_the_token_over_its_edge(merging, project):
    """Against transformers' own attention, summed over the tokens that its offsets put inside."""
    study, folder = merging
    eager = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer, before, shares = AutoTokenizer.from_pretrained(folder), "The lamp stood.\n", []
    for question in PROMPTS.split("\n\n")[1].strip().split("\n"):
        text = f"{before}the lampQuestion: {question}\nAnswer:"
        read = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
        places = read.pop("offset_mapping")[0].tolist()
        end = len(before) + len("the lamp")
        inside = [n for n, (a, z) in enumerate(places) if len(before) <= a < z <= end]
        after = [n for n, (a, _) in enumerate(places) if a >= end]
        assert after[0] == inside[-1] + 2
        with torch.no_grad():
            found = eager(read["input_ids"], output_attentions=True).attentions[:2]
        of_rows = torch.cat(found)[:, :, after][..., inside].sum(-1)
        shares.append(of_rows.mean(-1).numpy())
    [(path, _)], _ = measured(study, project)
    effects = open_study([path]).models[0].effects
    at = (effects["condition"] == "joined") & (effects["rows"] == "mean")
    np.testing.assert_allclose(
        1 - effects["lambda"][at].reshape(2, 4), np.mean(shares, 0), atol=6e-5
    )


def test_an_addition_of_which_no_token_is_its_own_is_refused(merging, project):
    study, _ = merging
    study.template.write_text(study.template.read_text().replace('"the lamp"', '"lamp"'))
    asked = read_study(study.template, models=list(study.front_matter.models))
    with pytest.raises(
        ReportError, match=r"'filler' alone: .* neighbours \('lampQuestion'\); give"
    ):
        measured(asked, project)


def test_one_layer_at_a_time_gives_the_same_bytes(study, project):
    found, _ = measured(study, project)
    before = [without_date(contents(path)) for path, _ in found]
    changed = read_study(study.template, layer_by_layer=True)
    said = []
    again, _ = measured(changed, project, force=True, announce=said.append)
    assert [path for path, _ in again] == [path for path, _ in found]
    assert [without_date(contents(path)) for path, _ in again] == before
    assert sum("one layer in memory at a time" in each for each in said) == 2


def test_prompts_that_are_not_there_are_told_before_a_model_is_loaded(study, project, monkeypatch):
    monkeypatch.setattr(alone, "load_source", None)
    (project.root / "sums.md").unlink()
    with pytest.raises(ReportError, match=r"unknown prompts '.*sums\.md'; known: arithmetic"):
        measured(study, project)
