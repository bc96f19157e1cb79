"""The untrained decoders that a recipe may ask for, one function each (all float32).

Qwen2 and Gemma 3 are given the number of heads, and of heads that share keys and values, of
the large models of the filler-token study, so that a head number means the same place in both.
"""

from typing import TYPE_CHECKING

import torch
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    FalconConfig,
    FalconForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    Qwen2Config,
    Qwen2ForCausalLM,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

if TYPE_CHECKING:
    from report.training.recipe import Recipe

FIRST_SCORE = 6
"""Of a head that begins by looking at the token before: above all others by about this much."""
QUICK = 0.05
"""Radians a token by which quick rotary pairs turn at least."""
LONGEST_TEXT = 512
"""Tokens that a model accepts; it is trained on shorter ones."""


def falcon(recipe: "Recipe", begin_id: int) -> FalconForCausalLM:
    """ALiBi and biases, with the geometry of falcon-rw-1b: every head has its own keys."""
    return FalconForCausalLM(
        FalconConfig(
            vocab_size=recipe.vocab_size,
            hidden_size=recipe.hidden_size,
            num_hidden_layers=recipe.num_hidden_layers,
            num_attention_heads=recipe.num_attention_heads,
            max_position_embeddings=LONGEST_TEXT,
            alibi=True,
            bias=True,
            multi_query=False,
            parallel_attn=False,
            new_decoder_architecture=False,
            hidden_dropout=recipe.dropout,
            attention_dropout=0.0,
            bos_token_id=begin_id,
            eos_token_id=begin_id,
        )
    )


def qwen2(recipe: "Recipe", begin_id: int) -> Qwen2ForCausalLM:
    """Rotary positions, grouped queries, biases on queries, keys and values, as Qwen 2 and 2.5.

    Its biases begin as those of heads that look at the token before, the first head of a layer
    most and the last one not at all: see `looking_back`.
    """
    config = Qwen2Config(**_common(recipe, begin_id), rope_parameters=_rope(recipe.rope_theta))
    model = Qwen2ForCausalLM(config)
    query, key = looking_back(recipe)
    heads = torch.linspace(1, 0, recipe.num_attention_heads)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_proj.bias.copy_(torch.outer(heads, query).flatten())
            layer.self_attn.k_proj.bias.copy_(key.repeat(recipe.num_key_value_heads))
    return model


def gemma3(recipe: "Recipe", begin_id: int) -> Gemma3ForCausalLM:
    """Normed queries and keys, norms on both sides of attention, sliding and global layers.

    As in Gemma 3, five layers that see a window come before every layer that sees everything.
    """
    kinds = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(100)]
    return Gemma3ForCausalLM(
        Gemma3TextConfig(
            **_common(recipe, begin_id),
            layer_types=kinds[: recipe.num_hidden_layers],
            sliding_window=recipe.sliding_window,
            query_pre_attn_scalar=recipe.head_dim,
            rope_parameters={
                "sliding_attention": _rope(recipe.rope_theta),
                "full_attention": _rope(10 * recipe.rope_theta),
            },
        )
    )


def looking_back(recipe: "Recipe") -> tuple[torch.Tensor, torch.Tensor]:
    """A query and a key whose score is `FIRST_SCORE` at the token before and smaller elsewhere.

    With ALiBi, a head looks at near tokens from the start, and drills make a previous-token head of
    it, which induction heads need. With rotary positions all places look alike at first, and the
    same drills made neither kind of head in 500 steps; begun like this, they made both in 450.

    returns: float [head_dim] each, before rotation. Only the quick half of the rotary pairs is
        used, whose angles differ between neighbours.
    """
    pairs = recipe.head_dim // 2
    angle = recipe.rope_theta ** (-torch.arange(pairs) / pairs)
    quick = (angle > QUICK).float()
    size = (FIRST_SCORE * recipe.head_dim**0.5 / (2 * quick.sum())) ** 0.5 * quick
    cos, sin = angle.cos(), angle.sin()
    # the key is the query turned by one token, so the two agree at a distance of one
    return torch.cat([size, size]), torch.cat([size * (cos - sin), size * (cos + sin)])


ARCHITECTURES = {"falcon": falcon, "qwen2": qwen2, "gemma3": gemma3}
"""What `Recipe.architecture` may be."""


def _attention_in_float32(module, query, key, value, *rest, **options):
    """Attention of a training step, outside its autocast to bfloat16.

    On a CPU, torch's kernel takes half the time for small heads in float32: backward and forward
    133 ms against 265 ms for 16 texts of 256 tokens, 32 heads of size 16.
    """
    with torch.autocast("cpu", enabled=False):
        wide = (tensor.float() for tensor in (query, key, value))
        return sdpa_attention_forward(module, *wide, *rest, **options)


AttentionInterface.register("sdpa_in_float32", _attention_in_float32)
AttentionMaskInterface.register("sdpa_in_float32", sdpa_mask)


def _common(recipe, begin_id):
    return {
        "attn_implementation": "sdpa_in_float32",
        "vocab_size": recipe.vocab_size,
        "hidden_size": recipe.hidden_size,
        "intermediate_size": recipe.intermediate_size,
        "num_hidden_layers": recipe.num_hidden_layers,
        "num_attention_heads": recipe.num_attention_heads,
        "num_key_value_heads": recipe.num_key_value_heads,
        "head_dim": recipe.head_dim,
        "max_position_embeddings": LONGEST_TEXT,
        "tie_word_embeddings": True,
        "bos_token_id": begin_id,
        "eos_token_id": begin_id,
        "pad_token_id": None,
    }


def _rope(theta):
    return {"rope_type": "default", "rope_theta": theta}
