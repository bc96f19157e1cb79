"""Texts run one by one, no further than what is measured."""

import pytest
import torch

from report import families
from report.errors import ReportError
from report.models.attention.running import Run, require_all_called, run_texts
from report.models.attention.structure import structure
from tests.models.recording import DenseRecorder, plain, require_same, some_tokens
from tests.models.remote_code import random_remote

pytestmark = pytest.mark.usefixtures("double")


def counted(module):
    """A list that grows by one whenever the module runs."""
    calls = []
    module.register_forward_pre_hook(lambda *_: calls.append(1))
    return calls


def some_runs(number, recorder=None):
    return [Run(some_tokens(8 + seed, seed), recorder) for seed in range(number)]


@pytest.mark.parametrize("name", ["llama/default", "bert/encoder", "falcon/alibi", "xglm"])
def test_what_comes_out_is_the_last_attention_of_each_text(name):
    loaded, outputs = families.loaded(name), []
    runs = some_runs(2)
    part = structure(loaded.model)[-1]
    hook = part.output_projection.register_forward_hook(lambda _, __, out: outputs.append(out))
    for run in runs:
        plain(loaded.model, run.token_ids)
    hook.remove()
    found = run_texts(loaded, runs)
    assert [one.shape for one in found] == [(8, 64), (9, 64)]
    for one, other in zip(found, outputs, strict=True):
        torch.testing.assert_close(one, other.view(one.shape))


def test_measured_and_plain_come_out_alike():
    loaded, recorder = families.loaded("gemma3/multimodal"), DenseRecorder()
    tokens = some_tokens(20)
    plain_output, measured = run_texts(loaded, [Run(tokens), Run(tokens, recorder)])
    require_same(loaded.model, measured, plain_output)
    assert len(recorder.factors) == 3


def test_nothing_runs_after_the_last_attention_that_is_measured():
    loaded, recorder = families.loaded("llama/default"), DenseRecorder()
    heard = []
    recorder.updates = lambda layer, *_: heard.append(layer)
    loaded.identity["layers_measured"] = 2
    structure(loaded.model)
    layers = loaded.model.model.layers
    ran = [counted(layers[0].mlp), counted(layers[1].mlp), counted(layers[2])]
    run_texts(loaded, some_runs(2, recorder))
    assert [len(calls) for calls in ran] == [2, 0, 0]
    assert heard == [0, 1, 0, 1]  # of the last layer too


def test_fewer_layers_come_out_as_of_the_whole_model():
    tokens = some_tokens(20)
    whole, part = DenseRecorder(), DenseRecorder()
    run_texts(families.loaded("gpt_oss"), [Run(tokens, whole)])
    loaded = families.loaded("gpt_oss")
    loaded.identity["layers_measured"] = 2
    run_texts(loaded, [Run(tokens, part)])
    assert len(part.factors) == 2
    for one, other in zip(part.factors, whole.factors, strict=False):
        assert torch.equal(one.query, other.query)


def test_alibi_counts_as_often_as_a_run_says():
    loaded = families.loaded("falcon/alibi")
    once, twice = DenseRecorder(), DenseRecorder()
    run_texts(loaded, [Run(some_tokens(9), once), Run(some_tokens(9), twice, alibi_factor=2)])
    torch.testing.assert_close(twice.factors[0].position, 2 * once.factors[0].position)


def test_progress_counts_texts():
    loaded, seen = families.loaded("gpt2/default"), []
    run_texts(loaded, some_runs(2), lambda *numbers: seen.append(numbers))
    run_texts(loaded, iter(some_runs(1)), lambda *numbers: seen.append(numbers))
    assert seen == [(1, 2), (2, 2), (1, None)]


def test_a_partial_reader_runs_the_texts_itself():
    class Partial:
        def run_texts(self, *given):
            return given

    loaded = families.loaded("gpt2/default")
    loaded.partial = Partial()
    runs = some_runs(1)
    assert run_texts(loaded, runs, print) == (loaded, runs, print)


def test_layers_that_were_not_measured_stop_the_measurement():
    loaded, recorder = families.loaded("gptj"), DenseRecorder()
    structure(loaded.model)
    first = loaded.model.transformer.h[0].attn
    first.forward = lambda hidden_states, **_: (hidden_states, None)
    with pytest.raises(
        ReportError, match=r"measured attention was called for layers \[1, 2\], exp"
    ):
        run_texts(loaded, some_runs(1, recorder))


def test_calls_in_another_order_are_refused():
    model = families.tiny("gpt2/default")
    require_all_called(model, [0, 1], range(2))
    with pytest.raises(ReportError, match=r"layers \[1, 0\], expected each of \[0, 1\] once"):
        require_all_called(model, [1, 0], range(2))


def test_layers_without_attention_are_refused_before_anything_runs():
    loaded = families.loaded("gpt2/default")
    loaded.model = random_remote()
    loaded.model.blocks[2].mixer = torch.nn.Linear(32, 32)
    with pytest.raises(ReportError, match="ask for the layers 0-1"):
        run_texts(loaded, some_runs(1))


def test_a_model_in_training_is_run_without_dropout_and_stays_in_training():
    loaded = families.loaded("gpt2/default")
    expected = run_texts(loaded, some_runs(1))
    for module in loaded.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    loaded.model.train()
    assert torch.equal(run_texts(loaded, some_runs(1))[0], expected[0])
    assert loaded.model.training


def test_a_last_layer_that_is_not_run_is_named():
    loaded = families.loaded("gpt2/default")
    structure(loaded.model)
    del loaded.model.transformer.h[2]
    with pytest.raises(ReportError, match="layer 2 was not run; its layers do not run one after"):
        run_texts(loaded, some_runs(1))
