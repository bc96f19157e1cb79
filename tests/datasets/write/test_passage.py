"""From a model to files and back: what figures read is what was measured, for any kind of model."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from report import families
from report.datasets.formats.attention import PLACED
from report.datasets.write.folder import write_folder
from report.errors import ReportError
from report.kinds.passage.data import PassageData
from report.kinds.passage.measure import write
from report.models.measure.passage import measure_corpus, measure_passage
from tests.figures import hand_made

LENGTH = 30
ALIBI, ROTARY = "target_difference", "cell"
EXPECTED = {
    # terms, position, causal, softcap, sink, updates before and after a norm differ
    "falcon": ({"content", "bias", "position"}, ALIBI, True, False, False, False),
    "qwen2": ({"content", "bias", "position"}, ROTARY, True, False, False, False),
    "gemma2": ({"content", "position"}, ROTARY, True, True, False, True),
    "gpt_oss": ({"content", "bias", "position", "row_constant"}, ROTARY, True, False, True, False),
    "gpt2": ({*PLACED, "mixed", "bias"}, None, True, False, False, False),
    "gptj": ({"score"}, None, True, False, False, False),
    "bert": ({*PLACED, "mixed", "bias"}, None, False, False, False, False),
}


def of(measurement, corpus):
    """What `write` takes, of a measurement and corpus statistics."""
    text = {"name": "hand", "title": "", "source": "", "licence": "", "language": ""}
    tokens = [{"id": i, "text": f" {i}"} for i in measurement.token_ids]
    return SimpleNamespace(
        passage=SimpleNamespace(**text),
        regions={},
        tokens=tokens,
        measurement=measurement,
        corpus=corpus,
        prediction=None,
        measures=(),
    )


@pytest.fixture(scope="module", params=EXPECTED)
def written(request, tmp_path_factory):
    """(family, PassageMeasurement, PassageData) of a tiny random model."""
    loaded = families.loaded(request.param, seed=3)
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 40, LENGTH).tolist()
    measurement = measure_passage(loaded, ids)
    measured = of(measurement, measure_corpus(loaded, [ids[:9], ids[5:]]))
    provenance = hand_made.manifest(hand_made.KINDS["alibi_bias"])
    provenance["model"] |= {
        "num_attention_heads": measurement.largest_targets.shape[1],
        "num_hidden_layers": len(measurement.factors),
        "layers_measured": len(measurement.factors),
    }
    folder = tmp_path_factory.mktemp("datasets")
    write_folder(folder, write, measured, provenance)
    return request.param, measurement, PassageData(folder)


def test_the_reader_tells_what_the_model_has(written):
    family, _, data = written
    terms, position, causal, softcap, sink, _ = EXPECTED[family]
    attention = data.attention(0, 0)
    assert data.terms.keys() == terms
    assert data.terms.get("position") == position
    assert data.causal == causal
    assert (attention.softcap is not None) == softcap
    assert (attention.sink is not None) == sink
    assert data.length == LENGTH


def test_updates_are_as_measured(written):
    family, measurement, data = written
    raw = EXPECTED[family][-1]
    for layer in range(data.layers):
        points = data.updates(layer)["points"]
        assert np.allclose(points["magnitude"], measurement.magnitude[layer].ravel(), atol=1e-4)
        assert np.allclose(points["alignment"], measurement.alignment[layer].ravel(), atol=1e-4)
        assert ("raw_magnitude" in points) == ("raw_alignment" in points) == raw
        if raw:
            before = measurement.raw_magnitude[layer].ravel()
            assert np.allclose(points["raw_magnitude"], before, atol=1e-4)
            assert not np.allclose(points["raw_magnitude"], points["magnitude"], atol=1e-3)


def test_a_model_without_updates_has_no_files_of_them(tmp_path):
    loaded = families.loaded("llama")
    measurement = replace(measure_passage(loaded, [1, 2, 3, 4]), magnitude=None, alignment=None)
    measured = of(measurement, measurement.statistics)
    write_folder(tmp_path, write, measured, hand_made.manifest(hand_made.KINDS["no_updates"]))
    assert not (tmp_path / "updates").exists()
    data = PassageData(tmp_path)
    assert not [name for name in data.manifest["files"] if name.startswith("updates")]
    with pytest.raises(ReportError, match="updates of this model cannot be measured; leave"):
        data.updates(0)
