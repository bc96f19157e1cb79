"""Texts run one by one, no further than what is measured."""

import copy
from dataclasses import replace

import pytest
import torch
from transformers import BigBirdConfig, BigBirdForMaskedLM

from report import families
from report.errors import ReportError
from report.models.attention.modes import run_base
from report.models.attention.running import Run
from report.models.attention.structure import structure
from tests.models.recording import DenseRecorder, KernelRecorder, plain, some_tokens
from tests.models.remote_code import random_remote

pytestmark = pytest.mark.usefixtures("double")


def counted(module):
    """A list that grows by one whenever the module runs."""
    calls = []
    module.register_forward_pre_hook(lambda *_: calls.append(1))
    return calls


def some_runs(number, recorder=None):
    return [Run(some_tokens(8 + seed, seed), recorder) for seed in range(number)]


def test_nothing_runs_after_the_last_attention_that_is_measured():
    loaded, recorder = families.loaded("llama/default"), DenseRecorder()
    heard = []
    recorder.updates = lambda layer, *_: heard.append(layer)
    loaded.identity["layers_measured"] = 2
    structure(loaded.model)
    layers = loaded.model.model.layers
    ran = [counted(layers[0].mlp), counted(layers[1].mlp), counted(layers[2])]
    loaded.run(some_runs(2, recorder))
    assert [len(calls) for calls in ran] == [2, 0, 0]
    assert heard == [0, 1, 0, 1]  # of the last layer too


def big_bird():
    """Block-sparse above 28 tokens; for a shorter text it exchanges its attention modules."""
    config = BigBirdConfig(
        vocab_size=99,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        block_size=4,
        num_random_blocks=1,
        max_position_embeddings=64,
    )
    loaded = families.loaded("bert/encoder")
    loaded.model = BigBirdForMaskedLM(config).eval()
    families.randomise(loaded.model, 2.0, torch.Generator().manual_seed(0))
    return replace(loaded, identity=loaded.identity | {"layers_measured": 2})


def rescaled(kind):
    """Llama whose rotary frequencies depend on the length of a text, above 16 tokens."""
    loaded = families.loaded("llama/default")
    config = copy.deepcopy(loaded.model.config)
    config.max_position_embeddings = 16
    config.rope_parameters = {"rope_type": kind, "rope_theta": 1e4, "factor": 4.0}
    config.rope_parameters |= {"original_max_position_embeddings": 16}
    if kind == "longrope":
        config.rope_parameters |= {"short_factor": [1.0] * 8, "long_factor": [4.0] * 8}
    loaded.model = type(loaded.model)(config).eval()
    families.randomise(loaded.model, 2.0, torch.Generator().manual_seed(0))
    return loaded


class Overwriting(torch.nn.Module):
    """Counts its calls in a buffer, and keeps what it was given last."""

    def __init__(self, projection):
        super().__init__()
        self.projection, self.seen, self.plain = projection, {}, 0
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, hidden):
        """The projection, and more the more often it was called."""
        self.calls += 1
        self.plain += 1
        self.seen[len(self.seen)] = hidden
        return self.projection(hidden) + self.calls + self.plain + len(self.seen)


def counting_calls():
    loaded = families.loaded("llama/default")
    attention = loaded.model.model.layers[1].self_attn
    attention.v_proj = Overwriting(attention.v_proj)
    return loaded


CHANGING = {
    "big_bird": big_bird,
    "dynamic": lambda: rescaled("dynamic"),
    "longrope": lambda: rescaled("longrope"),
    "counting": counting_calls,
}


# Of every route, with windows, sinks and experts, and with positions of each kind.
ROUTES = "llama/default gemma3/multimodal gpt_oss phi3/longrope falcon/alibi mpt/alibi gptj xglm"
ROUTES += " bert/encoder deberta_v2 deepseek_v3/default"


@pytest.mark.parametrize("name", [*ROUTES.split(), *CHANGING])
def test_no_text_changes_what_another_gives(name):
    """Long after short and short after long are as of a fresh load, plain and measured."""
    load = CHANGING.get(name, lambda: families.loaded(name))
    used, texts = load(), (some_tokens(40), some_tokens(12))
    long, short = texts
    untouched = {len(text): _untouched(used, load().model, text) for text in texts}
    measured = {len(text): _outcome(load(), text, KernelRecorder()) for text in texts}
    assert isinstance(measured[len(short)], torch.Tensor)
    for text in (long, short, long):
        assert torch.equal(_outcome(used, text, None), untouched[len(text)])
        found, expected = _outcome(used, text, KernelRecorder()), measured[len(text)]
        assert found == expected if isinstance(found, str) else torch.equal(found, expected)


def _untouched(loaded, fresh, text):
    """The output of the last attention of a model that nothing of ours has run."""
    last = structure(loaded.model)[-1].output_projection
    path = next(name for name, module in loaded.model.named_modules() if module is last)
    found = []
    fresh.get_submodule(path).register_forward_hook(lambda _, __, output: found.append(output))
    plain(fresh, text)
    return found[0].view(len(text), -1)


def _outcome(loaded, text, recorder):
    try:
        return loaded.run([Run(text, recorder)])[0]
    except ReportError as error:
        return str(error)


def test_a_text_for_which_a_model_computes_less_than_all_attention_is_refused():
    with pytest.raises(ReportError, match=r"'big_bird'.*over a text of 40 tokens.*block-sparse"):
        big_bird().run([Run(some_tokens(40), KernelRecorder())])


def test_a_model_that_overwrites_its_weights_is_refused():
    loaded = families.loaded("llama/default")
    weight = loaded.model.model.layers[0].self_attn.q_proj.weight
    weight.requires_grad_(False)
    structure(loaded.model)
    loaded.model.model.norm.register_forward_pre_hook(lambda *_: weight.mul_(2))
    with pytest.raises(ReportError, match=r"layers\.0\.self_attn\.q_proj\.weight"):
        run_base(loaded.model, some_tokens(8))


def test_alibi_counts_as_often_as_a_run_says():
    loaded = families.loaded("falcon/alibi")
    once, twice = DenseRecorder(), DenseRecorder()
    loaded.run([Run(some_tokens(9), once), Run(some_tokens(9), twice, alibi_factor=2)])
    torch.testing.assert_close(twice.factors[0].position, 2 * once.factors[0].position)


def test_progress_counts_texts():
    loaded, seen = families.loaded("gpt2/default"), []
    loaded.run(some_runs(2), lambda *numbers: seen.append(numbers))
    loaded.run(iter(some_runs(1)), lambda *numbers: seen.append(numbers))
    assert seen == [(1, 2), (2, 2), (1, None)]


def test_layers_that_were_not_measured_stop_the_measurement():
    loaded, recorder = families.loaded("gptj"), DenseRecorder()
    structure(loaded.model)
    first = loaded.model.transformer.h[0].attn
    first.forward = lambda hidden_states, **_: (hidden_states, None)
    with pytest.raises(ReportError, match=r"a text of 8 tokens.* in the layers \[1, 2\], not once"):
        loaded.run(some_runs(1, recorder))


def test_layers_without_attention_are_refused_before_anything_runs():
    loaded = families.loaded("gpt2/default")
    loaded.model = random_remote()
    loaded.model.blocks[2].mixer = torch.nn.Linear(32, 32)
    with pytest.raises(ReportError, match="ask for the layers 0-1"):
        loaded.run(some_runs(1))


def test_a_model_in_training_is_run_without_dropout_and_stays_in_training():
    loaded = families.loaded("gpt2/default")
    expected = loaded.run(some_runs(1))
    for module in loaded.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    loaded.model.train()
    assert torch.equal(loaded.run(some_runs(1))[0], expected[0])
    assert loaded.model.training


def test_a_last_layer_that_is_not_run_is_named():
    loaded = families.loaded("gpt2/default")
    structure(loaded.model)
    del loaded.model.transformer.h[2]
    with pytest.raises(ReportError, match="layer 2 was not run; its layers do not run one after"):
        loaded.run(some_runs(1))
