"""Measured numbers of models of several families, against one another."""

import numpy as np
import pytest
import torch

from report import families
from report.errors import ReportError
from report.families.verify import eager_pass
from report.measurements.decomposition import score
from report.measurements.head_statistics import TOTAL, UNIT
from report.models.measure.passage import measure_corpus, measure_passage
from tests.models.recording import require_same

FAMILIES = ["llama/default", "gemma2", "gemma3/text", "gpt_oss", "bert", "gptj", "falcon/alibi"]
IDS = [1, 7, 31, 5, 5, 80, 42, 9, 13, 77, 61, 2, 8, 30, 44, 95, 7, 31, 23, 11]


def difference_sum(statistics):
    """Largest minus second largest probability, summed over all rows, [layer, head]."""
    return statistics.sums["concentration"][TOTAL].astype(float) * UNIT


@pytest.mark.usefixtures("double")  # or two targets may be equal up to rounding
@pytest.mark.parametrize("name", FAMILIES)
def test_statistics_and_targets_follow_from_the_probabilities(name):
    """Of decoders and encoders, with windows and sinks; row 0 is left out of all statistics."""
    loaded = families.loaded(name)
    measured = measure_passage(loaded, IDS)
    corpus = measure_corpus(loaded, [IDS])
    layers, heads, length, _ = measured.largest_targets.shape
    for layer in range(layers):
        visible = measured.visible(layer)
        size = float(score(measured.factors[layer])[:, visible.mask()].abs().max())
        for head in range(heads):
            probability = measured.probability(layer, head)
            ordered = np.sort(probability, 1)[:, ::-1]
            targets = measured.largest_targets[layer, head]
            shown = np.minimum(11, (visible.last - visible.first + 1).numpy())
            assert ((targets >= 0).sum(1) == shown).all()
            for i in range(length):
                found = probability[i, targets[i, : shown[i]]]
                require_same(loaded.model, [found], [ordered[i, : shown[i]]], size)
                enough = np.flatnonzero(np.cumsum(found) >= 0.5)
                expected = enough[0] + 1 if len(enough) else shown[i]
                assert measured.marker_count[layer, head, i] == expected
            largest, rows = probability[1:].argmax(1), np.arange(1, length)
            expected = (largest == rows).mean(), (largest == 0).mean()
            for statistics in (measured.statistics, corpus):
                found = [statistics.mean(name)[layer, head] for name in ("itself", "first_token")]
                assert found == list(expected)
                difference = (ordered[1:, 0] - ordered[1:, 1]).sum()
                # a sum over rows, in units
                assert abs(difference_sum(statistics)[layer, head] - difference) <= UNIT


def test_a_token_without_an_embedding_is_named_as_what_it_is():
    loaded = families.loaded("llama")
    measure_passage(loaded, IDS)  # checks the model while it is whole
    loaded.model.get_input_embeddings().weight.data[IDS[3]] = 0
    expected = "layer 0: the hidden state of token 3 is all zeros.*a padding token"
    with pytest.raises(ReportError, match=expected):
        measure_passage(loaded, IDS)


def in_half_precision(name):
    loaded = families.loaded(name)
    loaded.model.to(torch.bfloat16)
    return loaded


@pytest.mark.parametrize("name", ["llama/default", "gemma2", "falcon/alibi"])
def test_half_precision_is_measured_in_float32(name):
    """As near to float32 as bfloat16's 8 bits allow, in updates and statistics too."""
    measured = measure_passage(in_half_precision(name), IDS)
    expected = measure_passage(families.loaded(name), IDS)
    ratio = np.median(measured.magnitude / expected.magnitude)
    assert abs(ratio - 1) < 0.02
    assert np.median(np.abs(measured.alignment - expected.alignment)) < 0.02
    same = measured.largest_targets[..., 0] == expected.largest_targets[..., 0]
    assert same.mean() > 0.7
    assert measured.probability(0, 0).dtype == np.float64


@pytest.mark.parametrize("measure", [measure_passage, lambda m, ids: measure_corpus(m, [ids])])
def test_half_precision_that_overflows_names_layer_and_head(measure):
    loaded = in_half_precision("llama/default")
    loaded.checked = {}
    attention = loaded.structure[1].attention
    with torch.no_grad():
        size = attention.q_proj.weight.shape[0] // loaded.structure[1].heads
        attention.q_proj.weight[2 * size : 3 * size] *= 1e38
    with pytest.raises(ReportError, match="layer 1, head 2: the attention score is NaN or infin"):
        measure(loaded, IDS)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("kind", ["large", "constant"])
def test_large_scores_are_measured_as_transformers_computes_them(kind):
    """Far apart, beyond 65,504; or -109,000 more in all scores of a head, by its biases."""
    loaded = families.loaded("gpt_neox")
    heads, attention = 4, loaded.model.gpt_neox.layers[1].attention.query_key_value
    with torch.no_grad():
        if kind == "large":
            attention.weight *= 80
        else:
            bias = attention.bias.view(heads, 3, -1)
            bias[0, 0, -1], bias[0, 1, -1] = 660.0, -660.0
    measured = measure_passage(loaded, IDS)
    scores = score(measured.factors[1])
    assert float(scores.abs().max()) > 65_504
    for layer, expected in enumerate(
        eager_pass(loaded.model, IDS, output_attentions=True)[0].attentions
    ):
        for head in range(heads):
            difference = measured.probability(layer, head) - expected[0, head].numpy()
            assert np.abs(difference).max() < 1e-8
