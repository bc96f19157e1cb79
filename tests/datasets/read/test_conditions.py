"""A study of conditions is read as it was written: models, texts, lines, effects."""

import numpy as np
import pytest

from report import files
from report.datasets import store
from report.datasets.read.study import open_study
from report.datasets.write.folder import write_folder
from report.errors import ReportError
from report.kinds.conditions.measure import write
from tests.datasets import measured
from tests.figures import hand_made


def provenance(name="tiny"):
    """What a manifest of a study of conditions has besides its files."""
    facts = hand_made.manifest(hand_made.KINDS["rotary"])
    for entry in ("schema", "files", "date", "passage", "corpus"):
        facts.pop(entry, None)
    facts["model"] |= {
        "name": name,
        "layers_measured": measured.LAYERS,
        "num_attention_heads": measured.HEADS,
    }
    prompts = {"name": "sums", "title": "Sums", "texts": 3, "tokens": 60}
    return facts | {"kind": "conditions", "prompts": prompts}


def written(folder, name="tiny", seed=0, prompts=3):
    """A folder with the datasets of one model."""
    folder.mkdir(parents=True)
    found = type("Measured", (), {"conditions": measured.conditions(prompts, seed)})
    write_folder(folder, write, found, provenance(name))
    return folder


@pytest.fixture
def study(tmp_path):
    return open_study([written(tmp_path / name, name, seed) for seed, name in enumerate("ba")])


def test_models_come_in_the_order_of_the_front_matter(study):
    assert (study.kind, study.address) == ("conditions", "")
    assert [model.name for model in study.models] == ["b", "a"]
    assert [model.address for model in study.models] == ["b/", "a/"]
    assert {(model.layers, model.heads, model.prompts) for model in study.models} == {(2, 3, 3)}
    assert study.models[0].capabilities["route"] == "interface"


def test_every_file_is_in_the_manifest_and_is_written_before_it(tmp_path):
    steps = []
    found = type("Measured", (), {"conditions": measured.conditions(2)})
    write_folder(tmp_path, write, found, provenance(), lambda *n: steps.append(n))
    manifest = store.read(tmp_path / "manifest.json")
    heads = {f"received/{layer}/{head}.json" for layer in range(2) for head in range(3)}
    assert manifest["files"].keys() == {"conditions.json", "effects.json"} | heads
    for name, facts in manifest["files"].items():
        assert facts["sha256"] == files.sha256(tmp_path / name)
    assert steps == [(1, 2), (2, 2)]


def test_texts_of_conditions(study):
    plain, filled = study.models[0].conditions
    assert (filled.name, filled.label, filled.added) == ("filler", "w/ <filler>", "filler")
    assert filled.segments == {"system": range(3), "filler": range(3, 5), "question": range(5, 9)}
    assert (plain.new, filled.new) == (range(0), range(3, 5))
    assert filled.counts.tolist() == [3] * 9 + [2, 1]
    assert filled.tokens[2] == "↵"
    assert study.models[0].condition("filler") is filled
    with pytest.raises(ReportError, match="unknown condition 'x'; this study has: none, filler"):
        study.models[0].condition("x")


def test_a_line_with_the_filler_cut_out_lies_over_the_tokens_without_it(study):
    model = study.models[0]
    plain, filled = model.conditions
    lines = model.received(1, 2)
    without, _ = lines["none"]["mean"]
    np.testing.assert_array_equal(plain.aligned(without), without)
    values, _ = lines["filler"]["mean"]
    cut = filled.aligned(values)
    assert cut.shape == without.shape
    assert np.isnan(cut[2])  # a merge changed it
    assert cut[:2].tolist() == values[:2].tolist()
    assert cut[3:].tolist() == values[5:].tolist()
