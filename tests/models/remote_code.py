"""A model as checkpoints bring it along in code of their own: no attention interface, sdpa by hand.

Rotary positions or ALiBi in the mask, shared keys, and a softmax and an sdpa that are none of its
attention: experts chosen by a router, and a summary of the whole text added at the end.
"""

import torch
from torch import nn
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from report.families import randomise


class RemoteConfig(PretrainedConfig):
    model_type = "remote"

    def __init__(self, alibi=False, window=None, by_softmax=False, **options):
        self.vocab_size, self.hidden_size = 99, 32
        self.num_hidden_layers, self.num_attention_heads, self.num_key_value_heads = 3, 4, 2
        self.alibi, self.window, self.by_softmax = alibi, window, by_softmax
        super().__init__(**options)


class RemoteAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.heads, self.key_heads = config.num_attention_heads, config.num_key_value_heads
        size = config.hidden_size // self.heads
        self.wq = nn.Linear(config.hidden_size, self.heads * size)
        self.wkv = nn.Linear(config.hidden_size, 2 * self.key_heads * size)
        self.wo = nn.Linear(self.heads * size, config.hidden_size)

    def forward(self, x):
        length = x.shape[1]
        query = self.wq(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        key, value = self.wkv(x).unflatten(2, (2, self.key_heads, -1)).permute(2, 0, 3, 1, 4)
        mask = mask_of(length, self.config.window)
        if self.config.alibi:
            slopes = 2.0 ** -torch.arange(1, self.heads + 1)
            added = slopes[:, None, None] * torch.arange(length)
            mask = (torch.zeros(length, length).masked_fill(~mask, -torch.inf) + added).to(x.dtype)
        else:
            query, key = rotated(query), rotated(key)
        attend = by_softmax if self.config.by_softmax else functional.scaled_dot_product_attention
        context = attend(query, key, value, attn_mask=mask, enable_gqa=True)
        return self.wo(context.transpose(1, 2).flatten(2))


def mask_of(length, window):
    """bool [T, T], causal, at most `window` tokens back."""
    seen = torch.ones(length, length, dtype=torch.bool).tril()
    return seen if window is None else seen.triu(1 - window)


def rotated(values):
    """Neighbouring dimensions turned together, as one complex number."""
    length, size = values.shape[-2:]
    angles = torch.arange(length)[:, None] * 100.0 ** -torch.arange(0, 1, 2 / size)
    pairs = torch.view_as_complex(values.unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles).to(pairs.dtype)
    return torch.view_as_real(turned).flatten(-2)


def by_softmax(query, key, value, attn_mask, enable_gqa):
    """Attention in steps, as older code has it."""
    assert enable_gqa
    key, value = (part.repeat_interleave(2, 1) for part in (key, value))
    scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
    if attn_mask.dtype == torch.bool:
        scores = torch.where(attn_mask, scores, torch.full_like(scores, -1e4))
    else:
        scores = scores + attn_mask
    return nn.Softmax(dim=-1)(scores) @ value


class RemoteExperts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.router = nn.Linear(config.hidden_size, 5)
        self.experts = nn.Parameter(torch.zeros(5, config.hidden_size, config.hidden_size))

    def forward(self, x):
        chosen = torch.softmax(self.router(x), dim=-1)
        return torch.einsum("bte,eij,btj->bti", chosen, self.experts, x)


class RemoteBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.norm_1, self.norm_2 = (nn.LayerNorm(config.hidden_size) for _ in range(2))
        self.mixer, self.experts = RemoteAttention(config), RemoteExperts(config)

    def forward(self, x):
        x = x + self.mixer(self.norm_1(x))
        return x + self.experts(self.norm_2(x))


class RemoteModel(PreTrainedModel):
    config_class = RemoteConfig

    def __init__(self, config):
        super().__init__(config)
        self.wte = nn.Embedding(config.vocab_size, config.hidden_size)
        self.blocks = nn.ModuleList(RemoteBlock(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def forward(self, input_ids, use_cache=False):
        assert not use_cache
        x = self.wte(input_ids)
        for block in self.blocks:
            x = block(x)
        summary = functional.scaled_dot_product_attention(x, x, x)
        return BaseModelOutput(last_hidden_state=x + summary)


def random_remote(seed=4, **options):
    """A fresh random model with peaky heads, in evaluation mode."""
    model = RemoteModel(RemoteConfig(**options)).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(seed))
    return model
