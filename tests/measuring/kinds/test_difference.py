"""Two models from front matter to datasets, and what is refused before a model is measured."""

import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from report.datasets.formats import attention_pair, changes
from report.datasets.formats.rounding import PROBABILITY_ERROR
from report.datasets.read.study import open_study
from report.effects.difference import compare_effects
from report.errors import ReportError
from report.figures.build.find import figure_named
from report.kinds.difference.beside import COSINE, DISTANCE, EFFECT, MAGNITUDE
from report.kinds.difference.data import verify
from report.kinds.difference.findings import Findings, context
from report.measures import shipped
from report.measuring import run
from report.models.load.load import load_model
from report.models.measure.difference import CHANGE, REFERENCE, compare
from report.models.measure.loss import mean_loss
from report.models.measure.passage import measure_passage
from report.models.text.tokens import encode
from report.project import project as project_in
from report.study.study import read_study
from tests.models import tiny_tokenizers
from tests.models.checkpoints import add_adapter, change_config, change_weights
from tests.models.gguf.written import Written, saved, tiny

ARTICLE = """---
title: Two models
date: 2026-01-02
author: Ann
summary: What it says.
difference: {named}
corpus: texts.txt
cover: distance_sorted
{more}---
{{{{ figure("distance_sorted") }}}}
"""
TEXTS = (
    "The lamp on the hill was lit, and the lamp went out.",
    "Nobody answered Ann.",
    "Ann saw the lamp; Bo saw the lamp, too.",
    "One, two, three, one, two, three, one.",
)


@pytest.fixture
def root(tmp_path, falcon_folder, monkeypatch):
    """A publication with two models of one shape."""
    (tmp_path / "templates" / "articles").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("site_name: Small\n")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    for name in ("one", "other"):
        shutil.copytree(falcon_folder, tmp_path / name)
    change_weights(tmp_path / "other", turned)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def turned(tensors):
    """Each matrix a little different."""
    return {
        name: tensor if tensor.dim() < 2 else tensor * 0.95 + 0.05 * tensor.flip(0)
        for name, tensor in tensors.items()
    }


def study(root, named="[one, other]", more=""):
    path = root / "templates" / "articles" / "small.md.j2"
    path.write_text(ARTICLE.format(named=named, more=more))
    return read_study(path)


def measured(root, *arguments, announce=lambda _: None, **options):
    found = run.datasets(
        study(root, *arguments),
        project_in(root),
        lambda *_: None,
        announce=announce,
        **options,
    )
    return [each.folder for each in found]


def test_every_number_is_that_of_both_models(root):
    data = open_study(measured(root))
    verify(data)
    first, second = (load_model(root / name) for name in ("one", "other"))
    ids = [encode(first, text) for text in TEXTS]
    halves = compare(first, second, ids, [*shipped().values()])
    whole = halves[0].merge(halves[1])
    of = Findings(data)
    np.testing.assert_allclose(of.values(DISTANCE.name), whole.mean(DISTANCE.name), atol=6e-5)
    np.testing.assert_allclose(of.values(COSINE.name), whole.mean(COSINE.name), atol=6e-5)
    for name in ("entropy", "to_first_token", MAGNITUDE.name):
        columns = {
            changes.REFERENCE: whole.mean(REFERENCE + name),
            changes.CHANGE: whole.mean(CHANGE + name),
            changes.ERROR: whole.error(CHANGE + name),
            changes.HALVES: halves[0].mean(REFERENCE + name) - halves[1].mean(REFERENCE + name),
        }
        for column, values in columns.items():
            np.testing.assert_allclose(data.column(column, name), values, atol=6e-5)
    assert of.loss == pytest.approx(mean_loss(second.model, ids))
    assert of.loss_of_reference == pytest.approx(mean_loss(first.model, ids))
    assert data.reference == "one"
    assert data.about["reference"]["weights_sha256"] == first.weights_sha256
    assert data.manifest["model"]["weights_sha256"] == second.weights_sha256


def test_maps_and_effects_are_those_of_both_models(root):
    data = open_study(measured(root))
    verify(data)
    first, second = (load_model(root / name) for name in ("one", "other"))
    moved = data.of_heads(DISTANCE.name, DISTANCE.name, "corpus")
    assert [moved[head] for head in data.mapped] == sorted(moved.ravel(), reverse=True)
    ids = encode(first, TEXTS[0])
    assert [token.id for token in data.tokens] == ids
    maps = [measure_passage(each, ids) for each in (first, second)]
    for place, head in enumerate(data.mapped):
        for found, exact in zip(data.pair(place), maps, strict=True):
            off = found.probability - exact.probability(*head)
            assert np.abs(off).max() <= PROBABILITY_ERROR
    halves = compare_effects(first, second, [encode(first, text) for text in TEXTS])
    whole = halves[0].merge(halves[1])
    for column, name in ((changes.REFERENCE, REFERENCE), (changes.CHANGE, CHANGE)):
        values = whole.mean(name + EFFECT.name)
        np.testing.assert_allclose(data.column(column, EFFECT.name), values, atol=6e-5)
    assert np.abs(data.column(changes.CHANGE, EFFECT.name)).max() > 0
    number = data.layers * data.heads
    with pytest.raises(ReportError, match=f"head {number} of those .* there are {number}, count"):
        data.pair(number)


def test_only_the_heads_that_moved_most_are_kept_where_so_many_are_asked_for(root):
    every = open_study(measured(root))
    heads, pairs = every.mapped, [every.pair(place) for place in range(3)]
    few = open_study(measured(root, "[one, other]", "maps: 3\n"))
    assert few.mapped == heads[:3]
    for place, pair in enumerate(pairs):
        for one, other in zip(few.pair(place), pair, strict=True):
            assert (one.probability == other.probability).all()
    with pytest.raises(ReportError, match="'maps'"):
        study(root, more="maps: 0\n")


def test_texts_that_are_too_long_have_no_map_and_it_is_said(root):
    (root / "texts.txt").write_text("\n".join(["The lamp went out. " * 30] * 2))
    data = open_study(measured(root))
    verify(data)
    assert data.mapped == []
    assert "No text has 64 tokens or fewer" in figure_named("attention_change").left_out(data)


def test_a_map_of_another_head_is_refused(root):
    [folder] = measured(root)
    one, other = (folder / attention_pair.FILE.format(place) for place in (0, 1))
    one.write_text(other.read_text())
    data = open_study([folder])
    data.manifest["files"]["maps/0.json"] = data.manifest["files"]["maps/1.json"]
    with pytest.raises(ReportError, match="is not of L"):
        verify(data)


def test_findings_are_those_of_the_tables(root):
    of = Findings(open_study(measured(root)))
    distances = of.values(DISTANCE.name)
    assert of.heads[0].value == distances.max() > distances.min() == of.heads[-1].value
    assert of.mean == pytest.approx(distances.mean())
    assert of.median == pytest.approx(np.median(distances))
    each = of.changes("entropy")
    assert abs(each[0].change) == max(abs(one.change) for one in each)
    assert each[0].now == each[0].reference + each[0].change
    clear = [c for c in each if abs(c.change) > 2 * c.error and abs(c.change) > c.halves]
    assert of.clear("entropy") == len(clear)
    assert of.correlation(of) == pytest.approx(1)
    sizes = [abs(of.change("entropy", head).change) for head in of.heads]
    alike = np.corrcoef(sizes, [head.value for head in of.heads])[0, 1]
    assert of.goes_with_distance("entropy") == pytest.approx(alike)
    before = of.data.column(changes.REFERENCE, "entropy")
    now = before + of.data.column(changes.CHANGE, "entropy")
    assert of.likeness("entropy") == pytest.approx(np.corrcoef(before.ravel(), now.ravel())[0, 1])
    assert of.top("entropy").value == before.max()


def test_a_model_beside_itself_is_at_zero(root):
    data = open_study(measured(root, "[one, one]"))
    of = Findings(data)
    assert (of.values(DISTANCE.name) == 0).all()
    assert (of.values(COSINE.name) == 1).all()
    for name in data.words:
        assert (np.nan_to_num(data.column(changes.CHANGE, name)) == 0).all()
    assert EFFECT.name in data.words
    assert len(data.mapped) == data.layers * data.heads
    for place in range(len(data.mapped)):
        before, now = data.pair(place)
        assert (before.probability == now.probability).all()
    said = figure_named("attention_change").seen(data, chosen=0, shows="change")
    assert "gives every token what it gives it in one" in said
    assert "what it adds in one" in figure_named("effect_change_by_head").seen(data)


def test_several_are_compared_with_the_first(root):
    shutil.copytree(root / "other", root / "third")
    found = context(open_study(measured(root, "[one, other, third]")))
    labels = [of.label for of in found["each"]]
    assert labels == ["other", "third"]
    first, second = (of.values(DISTANCE.name) for of in found["each"])
    assert (first == second).all()


def test_a_file_is_compared_with_what_it_is_quantised_to(root, tmp_path):
    """Both ways to round it: by the file, and by hand."""
    folder = saved(tiny("llama"), tiny_tokenizers.byte_level(), tmp_path / "llama")
    Written(folder, "F32").to(tmp_path / "whole.gguf")
    written = Written(folder, "Q4_0")
    written.to(tmp_path / "four.gguf", **{"general.name": "Four"})
    data = open_study(measured(root, "[whole.gguf, four.gguf]"))
    verify(data)
    by_hand = open_study(measured(root, f"[llama, {written.twin(tmp_path / 'twin').name}]"))
    assert data.manifest["model"]["stored_as"].endswith("Q4_0")
    assert data.about["reference"]["stored_as"] == "F32"
    of, other = Findings(data), Findings(by_hand)
    assert of.median > 0.01
    np.testing.assert_allclose(of.values(DISTANCE.name), other.values(DISTANCE.name), atol=2e-4)


def test_two_steps_of_a_training_are_two_models(root):
    shutil.copytree(root / "other", root / "run" / "step-2")
    shutil.copytree(root / "one", root / "run" / "step-1")
    by_step = open_study(measured(root, "[run@step-1, run@step-2]"))
    assert (by_step.reference, by_step.name) == ("run@step-1", "run@step-2")
    distances = Findings(by_step).values(DISTANCE.name)
    assert (distances == Findings(open_study(measured(root))).values(DISTANCE.name)).all()


def test_an_adapter_is_compared_with_its_model_and_says_so(root):
    name = "transformer.h.1.self_attention.query_key_value"
    weight = load_file(root / "one" / "model.safetensors")[f"{name}.weight"]
    rows, columns = weight.shape
    generator = torch.Generator().manual_seed(0)
    down, up = (torch.randn(*shape, generator=generator) / 4 for shape in ((2, columns), (rows, 2)))
    add_adapter(
        root / "tuned",
        {f"{name}.lora_A.weight": down, f"{name}.lora_B.weight": up},
        target_modules="transformer.h.1.self_attention.query_key_value",
        base_model_name_or_path="one",
    )
    merged = lambda tensors: tensors | {f"{name}.weight": weight + 8 / 2 * up @ down}  # noqa: E731
    shutil.copytree(root / "one", root / "merged")
    change_weights(root / "merged", merged)
    data = open_study(measured(root, "[one, tuned]"))
    assert data.manifest["model"]["adapter"]["base"] == "one"
    distances = Findings(data).values(DISTANCE.name)
    assert (distances[0] == 0).all()  # nothing below the layer that was tuned
    assert (distances[1] > 0.01).all()
    by_hand = Findings(open_study(measured(root, "[one, merged]")))
    np.testing.assert_allclose(distances, by_hand.values(DISTANCE.name), atol=2e-4)


def test_a_measure_of_the_publication_is_taken_in_both(root):
    (root / "measures").mkdir()
    (root / "measures" / "two_back.py").write_text(
        '"""Mean attention to the token two back."""\n\nTITLE = "Two back"\n\n\n'
        "def rows(attention):\n    return attention.to(attention.query - 2)\n"
    )
    data = open_study(measured(root))
    assert "token two back" in data.words["two_back"].shows
    assert np.abs(data.column(changes.CHANGE, "two_back")).max() > 0


def test_the_key_follows_the_first_model_too(root):
    before = measured(root)
    assert measured(root) == before
    change_weights(root / "one", turned)
    said = []
    assert measured(root, announce=said.append) != before
    reasons = run.plans(study(root, "[other, one]"), project_in(root), run.read(study(root)))
    assert reasons[0].state == "measure"


def test_datasets_stand_in_for_a_reference_that_is_gone(root):
    [folder] = measured(root)
    frozen = root / "frozen" / "small" / folder.name
    shutil.copytree(folder, frozen)
    for name in ("one", "other"):
        shutil.rmtree(root / name)
    assert measured(root)[0].name == folder.name


REFUSED = {
    "[one]": "says `difference` with one model; name two or more",
    "one": "'difference': must be a list",
    "[owner/model, other]": "is on the hub; name its commit as well, owner/model@commit",
    "[gone, other]": "unknown model 'gone'",
}


@pytest.mark.parametrize("named", REFUSED)
def test_front_matter_that_names_no_two_models_is_refused(root, named):
    with pytest.raises(ReportError, match=r"small\.md\.j2, line \d") as refused:
        measured(root, named)
    assert REFUSED[named] in str(refused.value)


@pytest.mark.parametrize("key", ["model: one", "models: [one]", "beside: [one]", "label: One"])
def test_other_keys_for_models_are_refused(root, key):
    name = key.partition(":")[0]
    with pytest.raises(ReportError, match=f"says `difference` and `{name}`"):
        study(root, more=f"{key}\n")


def test_other_tokens_are_refused_before_weights_are_read(root, monkeypatch):
    path = root / "other" / "tokenizer.json"
    stated = json.loads(path.read_text())
    vocabulary = stated["model"]["vocab"]
    first, second = (next(t for t, n in vocabulary.items() if n == number) for number in (60, 61))
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    path.write_text(json.dumps(stated))
    (root / "texts.txt").write_text("\n".join([*TEXTS, first * 3 + second]))
    monkeypatch.setattr(run, "alone", lambda *_: pytest.fail("a model was loaded"))
    with pytest.raises(ReportError, match="one and other do not read the same tokens: text"):
        measured(root)


def test_another_shape_is_refused_before_weights_are_read(root, monkeypatch):
    config = json.loads((root / "other" / "config.json").read_text())
    change_config(root / "other", num_hidden_layers=config["num_hidden_layers"] - 1)
    monkeypatch.setattr(run, "alone", lambda *_: pytest.fail("a model was loaded"))
    with pytest.raises(ReportError, match="heads are compared one by one"):
        measured(root)


def test_a_table_that_lacks_a_head_is_refused(root):
    [folder] = measured(root)
    path = folder / changes.FILE
    table = json.loads(path.read_text())
    for column in table["tables"]["changes"]["columns"].values():
        column["values"] = column["values"][:-1]
    table["tables"]["changes"]["rows"] -= 1
    path.write_text(json.dumps(table))
    data = open_study([folder])
    data.manifest["files"][changes.FILE] = None
    with pytest.raises(ReportError):
        verify(data)
