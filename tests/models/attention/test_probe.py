"""Where attention is, is found by running a layer; whatever is asked, no trace of it is left."""

import logging

import pytest
import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration

from report import families
from report.errors import ReportError
from report.models.attention.probe import probe
from report.models.attention.structure import require_layers, structure
from tests.models.recording import plain, some_tokens
from tests.models.remote_code import random_remote

# Layers, attention, projection and norm, as the modeling files of transformers name them.
KNOWN = {
    "bert/encoder": ("bert.encoder.layer", "attention.self", "attention.output.dense", None),
    "deepseek_v3/default": ("model.layers", "self_attn", "self_attn.o_proj", None),
    "distilbert": ("distilbert.transformer.layer", "attention", "attention.out_lin", None),
    "gemma3/multimodal": (
        "model.language_model.layers",
        "self_attn",
        "self_attn.o_proj",
        "post_attention_layernorm",
    ),
    "glm4": ("model.layers", "self_attn", "self_attn.o_proj", "post_self_attn_layernorm"),
    "gpt2/default": ("transformer.h", "attn", "attn.c_proj", None),
    "modernbert": ("model.layers", "attn", "attn.Wo", None),
    "mpt/alibi": ("transformer.blocks", "attn", "attn.out_proj", None),
    "xglm": ("model.layers", "self_attn", "self_attn.out_proj", None),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_parts_are_those_of_the_modeling_file(name):
    """They are found without weights, too."""
    model = families.tiny(name)
    found = probe(model)
    assert probe(model.to("meta")) == found
    parts = (found.layers, found.attention, found.output_projection, found.norm_after)
    assert parts == KNOWN[name]
    assert found.heads == 4


@pytest.mark.parametrize(("by_softmax", "route"), [(False, "sdpa"), (True, "softmax")])
def test_code_that_comes_with_a_checkpoint_is_found_by_what_it_calls(by_softmax, route):
    found = probe(random_remote(by_softmax=by_softmax))
    assert (found.layers, found.attention, found.output_projection) == (
        "blocks",
        "mixer",
        "mixer.wo",
    )
    assert found.route == route


def test_what_fails_after_the_attention_of_a_model_without_weights_is_not_logged(caplog):
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addHandler(caplog.handler)
    model = families.tiny("mixtral")  # its experts cannot be run on shapes alone
    try:
        probe(model.to("meta"))
        assert not caplog.records
        assert not logger.disabled
    finally:
        logger.removeHandler(caplog.handler)


def test_other_lists_of_as_many_modules_are_no_layers():
    """As many experts as layers; as many layers of the part that sees."""
    model = families.tiny("mixtral")
    layers = model.model.layers
    layers[0].a_list = nn.ModuleList(nn.Linear(2, 2) for _ in layers)
    model.a_list = nn.ModuleList(nn.Linear(2, 2) for _ in layers)
    assert probe(model).layers == "model.layers"
    wrapper = families.tiny("gemma3/multimodal")
    assert len(wrapper.model.vision_tower.encoder.layers) == len(
        wrapper.model.language_model.layers
    )


def state(model):
    return [
        (
            module.training,
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
            "forward" in vars(module),
        )
        for module in model.modules()
    ], model.config._attn_implementation


@pytest.mark.parametrize("name", ["llama/default", "gptj", "falcon/alibi"])
def test_no_trace_is_left(name):
    model = families.tiny(name).train()
    token_ids = some_tokens(9)
    before, logits = state(model), plain(model.eval(), token_ids).logits
    model.train()
    probe(model)
    assert state(model) == before
    assert torch.equal(plain(model.eval(), token_ids).logits, logits)


def test_a_model_without_attention_is_named_and_still_works():
    model = families.tiny("mamba")
    before, logits = state(model), plain(model, some_tokens(9)).logits
    with pytest.raises(
        ReportError,
        match=r"architecture 'mamba' \(MambaForCausalLM\) is not supported: its first layer, a "
        r"MambaBlock, computes no softmax attention over the tokens of a text\. The model is un",
    ):
        structure(model)
    assert state(model) == before
    assert torch.equal(plain(model, some_tokens(9)).logits, logits)


def test_a_model_of_two_texts_is_refused():
    config = T5Config(
        vocab_size=99, d_model=16, d_kv=4, d_ff=16, num_layers=2, num_heads=4, pad_token_id=0
    )
    with pytest.raises(
        ReportError,
        match=r"'t5' \(T5ForConditionalGeneration\) is not supported: it reads one text and writes "
        "another",
    ):
        probe(T5ForConditionalGeneration(config).eval())


@pytest.mark.parametrize(
    "where, cause",
    [
        ("wte", r"a text alone does not reach its first layer \(list index out of range\)"),
        ("blocks.0.norm_1", r"a RemoteBlock, does not run on a text of two tokens \(list in"),
    ],
)
def test_what_stopped_the_model_is_stated(where, cause):
    model = random_remote()
    model.get_submodule(where).register_forward_pre_hook(lambda *_: [][0])
    with pytest.raises(ReportError, match=cause):
        probe(model)


def test_an_attention_without_a_projection_is_named():
    model = random_remote()
    model.blocks[0].mixer.wo = model.blocks[0].experts = nn.Identity()
    with pytest.raises(ReportError, match="a RemoteBlock, has no projection after its attention"):
        probe(model)


def test_running_out_of_memory_is_not_an_unknown_architecture():
    model = families.tiny("gpt2/default")

    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    model.transformer.h[0].attn.register_forward_pre_hook(fail)
    with pytest.raises(torch.OutOfMemoryError):
        probe(model)


def test_a_model_is_looked_at_once():
    model = families.tiny("llama/default")
    assert structure(model) is structure(model)
    assert structure(model) is not structure(families.tiny("llama/default"))


def test_layers_after_one_without_attention_are_not_measured():
    model = random_remote()
    model.blocks[1].mixer = nn.Linear(32, 32)
    assert len(structure(model)) == 1
    require_layers(model, 1)
    with pytest.raises(
        ReportError,
        match=r"architecture 'remote' \(RemoteModel\): layer 1 has no 'mixer.wo' as the layers "
        r"before it have, so only these can be measured; ask for the layers 0-0",
    ):
        require_layers(model, 2)
