"""What figures and templates learn about a model from its datasets."""

import pytest

from report.datasets import store
from report.datasets.formats import attention
from report.kinds.passage import data as passage
from report.kinds.passage.data import PassageData
from tests.figures import hand_made


@pytest.fixture
def study(tmp_path):
    return lambda kind: hand_made.study(tmp_path / kind, kind)


@pytest.mark.parametrize("kind", hand_made.KINDS)
def test_terms_come_in_one_order_with_what_they_belong_to(study, kind):
    made, data = hand_made.KINDS[kind], study(kind)
    assert list(data.terms) == [name for name in attention.TERMS if name in made.terms]
    assert data.terms.get("position", made.position) == made.position
    assert data.causal == made.causal
    assert data.capabilities["updates"] == made.updates
    assert (data.layers, data.heads, data.length) == (3, 4, 24)


def test_windows_are_told_layer_by_layer(study):
    data = study("window")
    assert data.windows == [7, None, 7]
    assert data.causal
    assert data.visible(0, 3).window == 7
    assert data.visible(1, 0).is_causal


def test_what_a_file_states_is_read_without_working_out_its_cells(study, monkeypatch):
    data = study("window")
    monkeypatch.setattr(attention, "decode", None)
    assert data.terms
    assert data.causal
    assert data.windows == [7, None, 7]


def test_of_a_long_passage_few_heads_stay_in_memory(study, monkeypatch):
    short, long = study("window"), PassageData(study("window").path)
    heads = [short.attention(0, head) for head in range(4)]
    assert short.attention(0, 0) is heads[0]
    monkeypatch.setattr(passage, "CELLS", 3 * long.length**2)
    heads = [long.attention(0, head) for head in range(4)]
    assert long.attention(0, 3) is heads[3]
    assert long.attention(0, 0) is not heads[0]


def test_a_term_counts_even_if_the_first_layers_lack_it(study):
    data = study("rotary")
    for head in range(data.heads):
        path = data.path / "attention" / "0" / f"{head}.json"
        shard = store.read(path)
        del shard["terms"]["position"]
        store.write(path, shard)
    assert PassageData(data.path).terms == {"content": "cell", "position": "cell"}


def test_terms_are_whole_scores_if_some_layer_tells_no_more(study):
    data = study("content")
    for head in range(data.heads):
        path = data.path / "attention" / "2" / f"{head}.json"
        shard = store.read(path)
        shard["terms"] = {"score": shard["terms"]["content"]}
        store.write(path, shard)
    assert PassageData(data.path).terms == {"score": "cell"}


def test_layers_are_those_that_were_measured(study):
    data = study("rotary")
    manifest = store.read(data.path / "manifest.json")
    manifest["model"] |= {"num_hidden_layers": 32, "layers_measured": 2}
    store.write(data.path / "manifest.json", store.sealed(manifest))
    assert PassageData(data.path).layers == 2


def test_a_raw_update_is_read_beside_the_effective_one(study):
    points = study("softcap").updates(1)["points"]
    assert (points["raw_alignment"] == -points["alignment"]).all()
    assert "raw_magnitude" not in study("rotary").updates(1)["points"]
