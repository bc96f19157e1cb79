"""Successor scores of an atlas, and what its heads write: from front matter to what articles and
tables have of them."""

import json

import numpy as np
import pytest

from report.datasets.formats.head_writes import SHOWN, STEP
from report.datasets.read.study import open_study
from report.effects.copying import TOP, copying
from report.effects.successor import succession
from report.errors import ReportError
from report.figures.build.find import figure_named
from report.inputs import corpora
from report.kinds import folders
from report.kinds.atlas.copying import Copying
from report.kinds.atlas.data import APART
from report.kinds.atlas.findings import Findings
from report.kinds.atlas.measure_copying import MANY_KINDS, WORDS
from report.kinds.atlas.release import release, table
from report.measuring import run
from report.models.load.load import load_model
from report.models.text.frequent import frequent_words
from report.models.text.ordered import ordered_lists
from report.models.text.vocabulary import words as spelt
from report.project import project as project_in
from report.study.study import read_study
from report.text import isolated
from tests.figures import hand_atlas
from tests.measuring.kinds.test_atlas import write_atlas


@pytest.fixture(scope="module")
def measured(tmp_path_factory, falcon_folder):
    """Folders of the datasets of an atlas without effects, and of what is measured apart."""
    root = tmp_path_factory.mktemp("small")
    path = write_atlas(root, "effects: 0\n" + "".join(f"{each}: true\n" for each in APART))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        study = read_study(path, model=str(falcon_folder))
        project = project_in(root)
        each = [run.datasets(one, project, lambda *_: None)[0] for one in (study, *study.parts)]
    assert [one.front_matter.kind for one in study.parts] == [*APART]
    return [one.folder for one in each]


def test_scores_are_one_more_measure_of_the_atlas(measured, falcon_folder):
    data, without = open_study(measured[:1], apart=measured[1:]), open_study(measured[:1])
    assert {*data.measures} - {*without.measures} == {"successor", "copying", "suppression"}
    folders.verify("successor", measured[3])
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
    assert [each.kind for each in data.apart] == [*APART]
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
    assert first.successor.path == measured[3]
    assert Findings(second).strongest("successor").state == dict(
        zip(("layer", "head"), hand_atlas.SUCCEEDING, strict=True)
    )


def test_what_heads_write_is_kept_of_the_words_for_which_it_is_clearest(measured, falcon_folder):
    data, loaded = open_study(measured[:1], apart=measured[1:]), load_model(falcon_folder)
    folders.verify("copying", measured[2])
    texts = [text for _, text in corpora.specified(MANY_KINDS)]
    ids = frequent_words(loaded, texts, WORDS)
    expected, of = copying(loaded, ids), Findings(data)
    assert data.copying.about == {"words": len(ids), "tokens": TOP}
    for name, score in (("copying", expected.copies), ("suppression", expected.suppresses)):
        for source, values in zip(("corpus", "control"), score.mean(1), strict=True):
            np.testing.assert_allclose(of.values(name, source), values, atol=6e-5)
        error = score[0].std(0, ddof=1) / len(ids) ** 0.5
        np.testing.assert_allclose(of.error(name), error, atol=6e-5)
    for layer, head in np.ndindex(data.layers, data.heads):
        by = expected.gained_by[layer, head, :, 0]
        shown = data.copying.readings(layer, head)
        places = [ids.index(each.word) for each in shown]
        assert len({*places}) == len(shown) == SHOWN
        np.testing.assert_allclose(by[places], np.sort(by)[::-1][:SHOWN], atol=1e-6)
        for place, each in zip(places, shown, strict=True):
            assert each.gained == expected.gained[layer, head, place].tolist()
            np.testing.assert_allclose(
                each.lost_by, expected.lost_by[layer, head, place], atol=STEP / 2 + 1e-9
            )
            for token in (each.word, *each.lost):
                known = spelt(loaded, [token])[token]
                stands = f"⟨{known['bytes']}⟩" if "bytes" in known else known["text"]
                assert data.copying.word(token) == isolated(stands)


def test_without_examples_no_word_is_kept(tmp_path, falcon_folder, monkeypatch):
    path = write_atlas(tmp_path, "effects: 0\nexamples: none\ncopying: true")
    monkeypatch.chdir(tmp_path)
    study = read_study(path, model=str(falcon_folder))
    [found] = run.datasets(study.parts[0], project_in(tmp_path), lambda *_: None)
    [data] = folders.verify("copying", found.folder) or [Copying(found.folder)]
    assert not data.has_words and {*data.measures} == {"copying", "suppression"}


@pytest.mark.parametrize("damage", ["head", "text"])
def test_writes_that_do_not_fit_are_refused(tmp_path, damage):
    path = hand_atlas.copies(tmp_path)
    file = path / "writes.json"
    tables = json.loads(file.read_text())
    columns = tables["tables"][{"head": "reads", "text": "words"}[damage]]["columns"]
    columns["head" if damage == "head" else "token"]["values"][0] = 77
    file.write_text(json.dumps(tables))
    with pytest.raises(ReportError, match=r"writes\.json"):
        folders.verify("copying", path)


def test_a_table_of_too_few_heads_is_refused(tmp_path):
    path = hand_atlas.successors(tmp_path)
    folders.verify("successor", path)
    file = path / "heads" / "successor.json"
    heads = json.loads(file.read_text())
    heads["tables"]["heads"]["columns"]["head"]["values"].reverse()
    file.write_text(json.dumps(heads))
    with pytest.raises(ReportError):
        folders.verify("successor", path)
