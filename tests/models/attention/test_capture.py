"""Attaching measures what the model computes, by every route, and leaves no trace."""

import pytest
import torch
from transformers import AttentionInterface

from report import families
from report.errors import ReportError
from report.measurements.decomposition import Scores
from report.models.attention.capture import attached
from report.models.attention.modes import run_base
from report.models.attention.structure import structure
from tests.models.recording import (
    DenseRecorder,
    plain,
    require_same,
    some_tokens,
)
from tests.models.remote_code import random_remote

pytestmark = pytest.mark.usefixtures("double")

LENGTH = 20
# One for each route, and a mask of another kind; all families are in test_parity.py.
KINDS = {
    "gemma3/multimodal": families.tiny,  # through the interface; a wrapper, windows in some layers
    "bert/encoder": families.tiny,  # every token sees every token
    "falcon/alibi": families.tiny,  # a forward of ours
    "xglm": families.tiny,  # spied on at its softmax
    "remote": lambda _: random_remote(),  # spied on at its sdpa
}


@pytest.fixture(params=KINDS)
def model(request):
    return KINDS[request.param](request.param)


@pytest.fixture
def tokens():
    return some_tokens(LENGTH)


def outputs(model, token_ids):
    return plain(model, token_ids)[0]


def state(model):
    config = model.config
    inner = [getattr(config, name, None) for name in config.sub_configs]
    modules = list(model.modules())
    attention = type(structure(model)[0].attention)
    return {
        "training": [module.training for module in modules],
        "hooks": [
            (len(module._forward_hooks), len(module._forward_pre_hooks)) for module in modules
        ],
        "forwards": [vars(module).get("forward") for module in modules],
        "implementations": [one._attn_implementation for one in (config, *inner) if one],
        "registered": list(AttentionInterface._global_mapping),
        "functions": {
            name: value for name, value in attention.forward.__globals__.items() if "rotary" in name
        },
    }


def test_the_model_computes_the_same_and_is_as_before_afterwards(model, tokens):
    before, expected = state(model), outputs(model, tokens)
    recorder = DenseRecorder()
    recorder.updates = lambda *_: None
    with attached(model, recorder) as calls:
        require_same(model, outputs(model, tokens), expected)
        assert state(model) != before
    assert calls == list(range(len(structure(model))))
    assert state(model) == before
    assert torch.equal(outputs(model, tokens), expected)


def test_the_model_is_as_before_after_an_exception(model, tokens):
    before, expected = state(model), outputs(model, tokens)

    class Failing(DenseRecorder):
        def attention(self, layer, *_):
            raise KeyboardInterrupt(layer)

    with pytest.raises(KeyboardInterrupt), attached(model, Failing()):
        run_base(model, tokens)
    assert state(model) == before
    assert torch.equal(outputs(model, tokens), expected)


def test_a_forward_that_another_library_put_on_the_instance_survives(tokens):
    model = families.tiny("falcon/alibi")
    module = structure(model)[1].attention
    own = module.forward
    module.forward = lambda *args, **kwargs: own(*args, **kwargs)
    before = module.forward
    with attached(model, DenseRecorder()):
        run_base(model, tokens)
    assert module.forward is before


def test_only_the_layers_asked_for_are_measured(model, tokens):
    recorder = DenseRecorder()
    with attached(model, recorder, layers=[1]) as calls:
        measured = outputs(model, tokens)
    assert calls == [1]
    assert len(recorder.factors) == 1
    require_same(model, measured, outputs(model, tokens))


def test_without_factors_nothing_but_scores_is_looked_for(tokens):
    model = families.tiny("qwen2/default")
    recorder = DenseRecorder()
    recorder.wants_factors = False
    before = state(model)
    with attached(model, recorder):
        during = state(model)
        run_base(model, tokens)
    for kind in ("hooks", "forwards", "functions"):  # nothing that would cost time
        assert during[kind] == before[kind]
    assert all(factors.unrotated_query is None for factors in recorder.factors)
    assert all(factors.query_bias is None for factors in recorder.factors)


def test_biases_added_to_scores_are_measured_as_scores(tokens):
    """As MPNet's attention would be if it went through the interface: one bias for every pair."""
    model, recorder = families.tiny("llama/default"), DenseRecorder()
    added = torch.randn(4, LENGTH, LENGTH)

    def add(module, args, kwargs):
        return args, kwargs | {"position_bias": added[None]}

    for part in structure(model):
        part.attention.register_forward_pre_hook(add, with_kwargs=True)
    expected = outputs(model, tokens)
    with attached(model, recorder):
        measured = outputs(model, tokens)
    assert all(isinstance(scores, Scores) for scores in recorder.factors)
    require_same(model, measured, expected)


@pytest.mark.parametrize("adding", [False, True])
def test_float_masks_hide_and_add(tokens, adding):
    model, recorder = families.tiny("llama/default"), DenseRecorder()
    mask = torch.full((1, 1, LENGTH, LENGTH), torch.finfo(torch.float32).min).triu(1)
    if adding:
        mask = mask + 0.3 * torch.arange(LENGTH)

    def give(module, args, kwargs):
        return args, kwargs | {"attention_mask": mask}

    for part in structure(model):
        part.attention.register_forward_pre_hook(give, with_kwargs=True)
    expected = outputs(model, tokens)
    with attached(model, recorder):
        measured = outputs(model, tokens)
    require_same(model, measured, expected)
    assert all((factors.position is not None) == adding for factors in recorder.factors)
    assert all(factors.visible is None for factors in recorder.factors)


def test_no_dense_mask_is_built_for_falcon(tokens):
    model, masks = families.tiny("falcon/alibi"), []
    structure(model)  # which runs the model as it is
    model.transformer.h[0].register_forward_pre_hook(
        lambda _, args, kwargs: masks.append(kwargs["attention_mask"]), with_kwargs=True
    )
    with attached(model, DenseRecorder()):
        run_base(model, tokens)
    assert masks == [None]


@pytest.mark.parametrize("name", ["bert/encoder", "xglm", "remote"])
def test_an_alibi_factor_is_refused_where_there_is_no_alibi_of_ours(name, tokens):
    model = KINDS[name](name)
    with (
        pytest.raises(
            ReportError, match=r"alibi_factor=2 is for .*\(bloom, falcon, mpt\), not for"
        ),
        attached(model, DenseRecorder(), alibi_factor=2),
    ):
        pass


def test_a_layer_of_two_attentions_is_refused(tokens):
    model = families.tiny("llama/default")
    module = structure(model)[1].attention
    own = type(module).forward

    def twice(*args, **kwargs):
        own(module, *args, **kwargs)
        return own(module, *args, **kwargs)

    module.forward = twice
    with (
        pytest.raises(ReportError, match="layer 1 computes more than one attention"),
        attached(model, DenseRecorder()),
    ):
        run_base(model, tokens)


def test_layers_of_different_numbers_of_heads_are_refused(tokens):
    model = families.tiny("llama/default")
    module = structure(model)[2].attention
    module.q_proj, module.o_proj = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64)
    module.num_key_value_groups = 4
    structure(model)[2].output_projection = module.o_proj
    with (
        pytest.raises(ReportError, match="layer 2 has 8 heads, layer 0 has 4; only models with as"),
        attached(model, DenseRecorder()),
    ):
        run_base(model, tokens)
