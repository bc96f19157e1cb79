"""Rotation and biases, against what the projections of each family give by themselves."""

import pytest
import torch
from transformers import HunYuanDenseV1Config, HunYuanDenseV1ForCausalLM

from report import families
from report.measurements import decomposition
from report.measurements.decomposition import Scores
from report.models.attention import rotation
from report.models.attention.capture import attached
from report.models.attention.modes import run_base
from report.models.attention.structure import structure
from tests.models.recording import DenseRecorder, some_tokens
from tests.models.remote_code import random_remote

pytestmark = pytest.mark.usefixtures("double")

LENGTH = 20
# The module whose output is the unrotated query, and key; positions are rotary in all of them.
PROJECTIONS = {
    "llama/default": ("q_proj", "k_proj"),
    "qwen2/default": ("q_proj", "k_proj"),
    "qwen3": ("q_norm", "k_norm"),
    "olmo2": ("q_norm", "k_norm"),
    "phi/default": ("q_proj", "k_proj"),  # part of the dimensions only
    "phi/qk-layernorm": ("q_layernorm", "k_layernorm"),
    "gpt_oss": ("q_proj", "k_proj"),
}


def recorded(model, recorder=None, length=LENGTH):
    recorder = recorder or DenseRecorder()
    recorder.wants_rotary_terms = True
    with attached(model, recorder):
        run_base(model, some_tokens(length))
    return recorder.factors


def heads_first(output, size):
    """What a projection [1, T, heads * size] or a norm [1, ...] gave, as [heads, T, size]."""
    if output.dim() == 3:
        output = output.unflatten(-1, (-1, size)).transpose(1, 2)
    return output[0] if output.shape[2] == LENGTH else output[0].transpose(0, 1)


def scale_of(model):
    """What yarn multiplies by on the way."""
    return getattr(model.model.rotary_emb, "attention_scaling", 1.0)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_unrotated_queries_and_keys_are_what_the_projections_give(name):
    model, outputs = families.tiny(name), {}

    def keep(key):
        def first(_, __, output):
            outputs.setdefault(key, output)

        return first

    for index, part in enumerate(structure(model)):
        for which, path in zip(("query", "key"), PROJECTIONS[name], strict=True):
            part.attention.get_submodule(path).register_forward_hook(keep((index, which)))
    for index, factors in enumerate(recorded(model)):
        for which in ("query", "key"):
            found = getattr(factors, f"unrotated_{which}")
            expected = scale_of(model) * heads_first(outputs[index, which], found.shape[-1])
            torch.testing.assert_close(found, expected)
            assert (found - getattr(factors, which)).abs().max() > 0.1  # it does rotate
            module = structure(model)[index].attention.get_submodule(
                PROJECTIONS[name][which == "key"]
            )
            bias, learned = getattr(module, "bias", None), getattr(factors, f"{which}_bias")
            assert (learned is None) == (bias is None or name == "phi/qk-layernorm")
            if learned is not None:
                expected = scale_of(model) * bias.view(-1, found.shape[-1])
                torch.testing.assert_close(learned, expected)


def test_biases_of_fused_projections_belong_to_their_heads():
    model = families.tiny("gpt2/default")
    for part, factors in zip(structure(model), recorded(model), strict=True):
        query, key, _ = part.attention.c_attn.bias.view(3, 4, -1)
        torch.testing.assert_close(factors.query_bias, query)
        torch.testing.assert_close(factors.key_bias, key)
        assert factors.unrotated_query is None
    model = families.tiny("gpt_neox")  # fused head by head, and a quarter of each rotated
    for part, factors in zip(structure(model), recorded(model), strict=True):
        query, key, _ = part.attention.query_key_value.bias.view(4, 3, -1).unbind(1)
        torch.testing.assert_close(factors.query_bias, query)
        torch.testing.assert_close(factors.key_bias, key)


def test_biases_before_a_norm_cannot_be_told_from_the_rest():
    model = families.tiny("phi/qk-layernorm")
    factors = recorded(model)
    assert all(one.query_bias is None is one.key_bias for one in factors)
    assert all(part.learned.entangled for part in structure(model))
    model = families.tiny("phi/default")
    recorded(model)
    assert not any(part.learned.entangled for part in structure(model))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["qwen2/default", "gpt2/default"])
def test_biases_in_half_precision_are_told_from_the_rest_all_the_same(name, dtype):
    model = families.tiny(name).to(dtype)
    for factors, full in zip(recorded(model), recorded(families.tiny(name)), strict=True):
        expected = full.query_bias.to(dtype)
        torch.testing.assert_close(factors.query_bias, expected)
        assert (factors.key_bias is None) == (full.key_bias is None)
    model = families.tiny("phi/qk-layernorm").to(dtype)
    recorded(model)
    assert all(part.learned.entangled for part in structure(model))


def test_a_token_that_is_not_a_number_does_not_stop_the_questions():
    """Its queries equal nothing, not even themselves; the kernel names the layer."""
    model = families.tiny("llama/default")
    model.model.embed_tokens.weight.data[some_tokens(LENGTH)[5]] = torch.nan
    assert recorded(model)[0].unrotated_query.isnan().any()


@pytest.mark.parametrize("name", ["qwen2/default", "phi/default", "glm4"])
def test_rotated_biases_depend_on_the_distance_alone(name):
    for factors in recorded(families.tiny(name)):
        assert not torch.allclose(
            factors.rotated_query_bias[:, 0], factors.rotated_query_bias[:, 9]
        )
        torch.testing.assert_close(factors.rotated_query_bias[:, 0], factors.query_bias)
        split = decomposition.rotary_terms(factors)
        for diagonal in range(0, -LENGTH, -1):
            along = split["distance"].diagonal(diagonal, 1, 2)
            torch.testing.assert_close(along, along[:, :1].expand_as(along))


def test_layers_without_rotation_have_no_position():
    """SmolLM3 leaves some of its layers without any positions."""
    model = families.tiny("smollm3")
    rotated = [factors.unrotated_query is not None for factors in recorded(model)]
    assert rotated == [bool(flag) for flag in model.config.no_rope_layers]
    assert len(set(rotated)) == 2


def test_a_scale_that_belongs_to_the_rotation_stays():
    """yarn makes the cosines larger than 1: content has the square of that."""
    model, plain = families.tiny("llama/yarn-rope"), families.tiny("llama/default")
    factors, without = recorded(model)[0], recorded(plain)[0]
    scale = model.model.rotary_emb.attention_scaling
    assert scale > 1.1
    torch.testing.assert_close(factors.unrotated_query, scale * without.unrotated_query)


def hunyuan():
    """A family with norms after the rotation, so that the rotary function is not the last word."""
    config = HunYuanDenseV1Config(
        vocab_size=99,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=64,
        pad_token_id=0,
    )
    model = HunYuanDenseV1ForCausalLM(config).eval()
    families.randomise(model, 2.0, torch.Generator().manual_seed(0))
    return model


def test_where_more_follows_the_rotation_the_module_is_called_again():
    model = hunyuan()
    outputs = []
    model.model.layers[0].self_attn.q_proj.register_forward_hook(
        lambda _, __, output: outputs.append(output[0].unflatten(-1, (4, 16)).transpose(0, 1))
    )
    factors = recorded(model)[0]
    assert structure(model)[0].learned.rotation == "again"
    expected = model.model.layers[0].self_attn.query_layernorm(outputs[1])  # 0: the probe's
    torch.testing.assert_close(factors.unrotated_query, expected)


def test_a_cheap_way_that_is_wrong_is_not_taken(monkeypatch):
    """Twice the truth is alike for all tokens too."""
    right = recorded(families.tiny("llama/default"))
    placed = rotation._placed

    def doubled(full, rotated):
        found = placed(full, rotated)
        return None if found is None else 2 * found

    monkeypatch.setattr(rotation, "_placed", doubled)
    model = families.tiny("llama/default")
    recorded(model)
    monkeypatch.undo()
    assert structure(model)[0].learned.rotation == "again"
    torch.testing.assert_close(recorded(model)[0].unrotated_query, right[0].unrotated_query)


def test_where_neither_way_is_right_scores_are_all_there_is():
    """Code of a checkpoint's own that rotates by itself: nothing can be asked of it."""
    model = random_remote()
    assert all(isinstance(one, Scores) for one in recorded(model))
    assert structure(model)[0].learned.rotation == "unknown"
    recorder = DenseRecorder()
    recorder.wants_factors = False  # a corpus takes no scores apart
    recorded_without = recorded(model, recorder)
    assert not any(isinstance(one, Scores) for one in recorded_without)
    for one, other in zip(recorded(model), recorded_without, strict=True):
        torch.testing.assert_close(decomposition.probability(one), decomposition.probability(other))


def test_one_layer_that_cannot_be_split_makes_scores_of_all():
    model = families.tiny("llama/default")
    first = recorded(model)
    assert not any(isinstance(one, Scores) for one in first)
    part = structure(model)[2]
    part.learned = rotation.Learned(None, None, "unknown", False, None)
    scores = recorded(model)
    assert all(isinstance(one, Scores) for one in scores)
    for one, other in zip(scores, first, strict=True):
        torch.testing.assert_close(decomposition.probability(one), decomposition.probability(other))
