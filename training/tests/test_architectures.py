"""Every recipe of the project yields the decoder that its architecture names."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from report.measurements.precision import summed_by
from tests.close import require_close
from training.recipe import RECIPES, random_model
from training.sequences import training_batch
from training.train import check_recipe

ADDED = ["qwen2-5x28", "gemma3-6x8"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_possible_and_its_model_has_the_size_in_its_name(name):
    recipe = RECIPES[name]
    check_recipe(recipe)
    config = random_model(recipe, 0).config
    assert name.endswith(f"-{config.num_hidden_layers}x{config.num_attention_heads}")
    assert config.num_hidden_layers >= 4
    assert config.num_attention_heads >= 8


@pytest.mark.parametrize("name", ADDED)
def test_the_models_of_the_study_leave_room_in_a_wheel_of_35_megabytes(name):
    model = random_model(RECIPES[name], 0)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert 2 * sum(parameter.numel() for parameter in model.parameters()) < 8.7e6


def test_each_has_what_its_architecture_is_known_for():
    attention = {
        name: random_model(RECIPES[name], 0).base_model.layers[0].self_attn for name in ADDED
    }
    qwen2, gemma3 = (attention[name] for name in ADDED)
    assert qwen2.q_proj.bias is not None
    assert qwen2.num_key_value_groups == 7
    assert gemma3.q_norm.weight.shape == (32,)
    kinds = random_model(RECIPES["gemma3-6x8"], 0).config.layer_types
    assert kinds == ["sliding_attention"] * 5 + ["full_attention"]


@pytest.mark.parametrize("name", ADDED)
def test_first_heads_begin_by_looking_one_token_back_and_last_ones_at_the_first_token(name):
    torch.manual_seed(0)
    model = random_model(RECIPES[name], 0).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        seen = model(torch.arange(40)[None], output_attentions=True).attentions  # 0 is the first
    mean = torch.stack(seen)[:, 0].mean(0)  # over layers: [head, query, key]
    near = [mean[0].diagonal(-back)[5 - back :].mean().item() for back in range(6)]
    assert near.index(max(near)) == 1
    first, *_, last = before = mean.diagonal(-1, 1, 2)[:, 1:].mean(1)
    assert first > 0.3
    assert first > before[len(before) // 2] > last
    assert last < 0.2
    at_first = mean[:, 5:, 0].mean(1)
    assert at_first[0] < 0.1
    assert at_first[-1] > 0.6


@pytest.mark.parametrize("name", ADDED)
def test_a_training_step_computes_attention_in_float32_and_the_same_function(name):
    torch.manual_seed(0)
    model = random_model(replace(RECIPES[name], num_hidden_layers=1, sliding_window=20), 0).eval()
    seen, inner = [], torch.nn.functional.scaled_dot_product_attention

    def watched(query, *rest, **options):
        seen.append(query.dtype)
        return inner(query, *rest, **options)

    text = torch.arange(40)[None]
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(torch.nn.functional, "scaled_dot_product_attention", watched)
        with torch.autocast("cpu", torch.bfloat16):
            model(text)
        found = model(text).logits
        model.set_attn_implementation("eager")
        wanted = model(text).logits
    assert seen == [torch.float32, torch.float32]
    require_close(found, wanted, summed_by([model], text.shape[1]))


def test_prompts_are_mixed_into_the_text_in_the_stated_fraction():
    plain = replace(RECIPES["qwen2-5x28"], drills_only=0, drill=0.0, drill_late=0.0)
    recipe = replace(plain, repeated=0.0, batch=200)
    text = np.zeros(10_000, int)
    batch = training_batch(text, recipe, 0, 0, lambda _: np.full(100, 7))
    assert torch.isin(batch[:, 1:], torch.tensor([0, 7])).all()
    prompts = (batch[:, 1:] == 7).all(1)
    assert ((batch[:, 1:] == 0).all(1) | prompts).all()
    assert 0.2 < prompts.float().mean() < 0.4
    assert (batch[:, 0] == 0).all()
