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
    from training.recipe import Recipe

FIRST_SCORE = 6
"""Of a head that begins by looking at the token before: above all others by about this much."""
PLACE_SCORE = 16
"""Of a head that begins by looking at the first token. Its attention is whole there, so drills,
in which such a head is of no use, do not take it away before text is read, in which it is."""
NORMED = 10
"""About what a number that is 1 in an embedding, and far above the others, is after a norm."""
SHARED = 0.4
"""With which Gemma 3's queries and keys read, at first, the number that all embeddings share."""
QUICK = 0.05
"""Radians a token by which quick rotary pairs turn at least."""
SLOW = 0.004
"""Radians a token by which slow rotary pairs turn at most: about a quarter turn in a text."""
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
    most: see `looking_back`. The last heads begin by looking at the first token: its embedding
    alone has a number that keys read, see `looking_at_the_first`.
    """
    config = Qwen2Config(**_common(recipe, begin_id), rope_parameters=_rope(recipe.rope_theta))
    model = Qwen2ForCausalLM(config)
    (query, key), first = looking_back(recipe), looking_at_the_first(recipe)
    back, at_first = strengths(recipe.num_attention_heads)
    biases = torch.outer(back, query) + torch.outer(at_first, first)
    with torch.no_grad():
        model.get_input_embeddings().weight[begin_id, 1] = 1
        for layer in model.model.layers:
            attention = layer.self_attn
            attention.q_proj.bias.copy_(biases.flatten())
            attention.k_proj.bias.copy_(key.repeat(recipe.num_key_value_heads))
            attention.k_proj.weight[:, 1] += first.repeat(recipe.num_key_value_heads) / NORMED
    return model


def gemma3(recipe: "Recipe", begin_id: int) -> Gemma3ForCausalLM:
    """Normed queries and keys, norms on both sides of attention, sliding and global layers.

    As in Gemma 3, five layers that see a window come before every layer that sees everything.
    Its queries and keys have no biases. So one number of every embedding is 1 at first, and the
    weights that read it do what the biases of `qwen2` do. They are normed, so directions count.
    """
    kinds = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(100)]
    config = Gemma3TextConfig(
        **_common(recipe, begin_id),
        layer_types=kinds[: recipe.num_hidden_layers],
        sliding_window=recipe.sliding_window,
        # queries and keys are normed, so a new model's scores are as far apart as this lets them be
        query_pre_attn_scalar=max(1, recipe.head_dim // 16) ** 2,
        initializer_range=recipe.hidden_size**-0.5,
        rope_parameters={
            "sliding_attention": _rope(recipe.rope_theta),
            "full_attention": _rope(recipe.rope_theta),
        },
    )
    model = Gemma3ForCausalLM(config)
    (query, key), first = looking_back(recipe), looking_at_the_first(recipe)
    query, key, first = (
        SHARED * query / query.max(),
        SHARED * key / query.max(),
        3 * SHARED * first / first.max(),
    )
    back, at_first = strengths(recipe.num_attention_heads)
    queries = torch.outer(back, query) + torch.outer(at_first, first)
    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 1
        model.get_input_embeddings().weight[begin_id, 1] = 1
        for layer in model.model.layers:
            attention = layer.self_attn
            attention.q_proj.weight[:, 0] += queries.flatten()
            attention.k_proj.weight[:, 0] += key.repeat(recipe.num_key_value_heads)
            attention.k_proj.weight[:, 1] += first.repeat(recipe.num_key_value_heads)
    return model


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


def looking_at_the_first(recipe: "Recipe") -> torch.Tensor:
    """A query, and the key of the first token, whose score is about `PLACE_SCORE` at any distance.

    Attention that finds nothing needs a place to go (Xiao et al. 2023). Falcon finds one in its
    training; Gemma 3 had no head for it after 2,000 steps.

    returns: float [head_dim], before rotation. Only slow rotary pairs are used.
    """
    pairs = recipe.head_dim // 2
    slow = (recipe.rope_theta ** (-torch.arange(pairs) / pairs) < SLOW).float()
    size = (PLACE_SCORE * recipe.head_dim**0.5 / (2 * slow.sum())) ** 0.5 * slow
    return torch.cat([size, size])


def strengths(heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How much each head of a layer begins by looking one token back, and at the first token.

    returns: float [heads] each: from 1 to 0; and 0 for the first half, then up to 1
    """
    back = torch.linspace(1, 0, heads)
    return back, (1 - 2 * back).clamp(min=0)


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
