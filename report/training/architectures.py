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

HIGHEST_SCORE = 16
"""Of a head of Gemma 3 before its norms' gains are trained, whose queries and keys have 256
dimensions: 256 / sqrt(256)."""
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
    """Rotary positions, grouped queries, biases on queries, keys and values, as Qwen 2 and 2.5."""
    return Qwen2ForCausalLM(Qwen2Config(**_common(recipe, begin_id), rope_parameters=_rope(recipe)))


def gemma3(recipe: "Recipe", begin_id: int) -> Gemma3ForCausalLM:
    """Normed queries and keys, norms on both sides of attention, sliding and global layers.

    As in Gemma 3, five layers that see a window come before every layer that sees everything.
    Its norms give queries, keys and updates one length, whatever the sizes of the weights. So a
    small model needs what the large one has by its width: scores that can reach 16, or no head can
    look at one token alone; and embeddings as long as updates, or these drown them.
    """
    kinds = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(100)]
    return Gemma3ForCausalLM(
        Gemma3TextConfig(
            **_common(recipe, begin_id),
            layer_types=kinds[: recipe.num_hidden_layers],
            sliding_window=recipe.sliding_window,
            query_pre_attn_scalar=round((recipe.head_dim / HIGHEST_SCORE) ** 2),
            initializer_range=recipe.hidden_size**-0.5,
            rope_parameters={"sliding_attention": _rope(recipe), "full_attention": _rope(recipe)},
        )
    )


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


def _rope(recipe):
    return {"rope_type": "default", "rope_theta": recipe.rope_theta}
