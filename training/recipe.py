"""How the embedded models are trained: any folder of `.txt` files in, a checkpoint out.

The recipe in one paragraph: a byte-level BPE tokenizer is fitted to the training books; every
training sequence starts with the beginning-of-text token, which gives heads a place for surplus
attention; at first most sequences, later few, are drills, in which copying is all there is to
learn, and some texts hold a span twice, so that induction heads form and stay; models for studies
of prompts read generated ones among the text; matrices are trained with Muon (Jordan et al. 2024),
everything else with AdamW, with a warm-up and a cosine decay at the end. One whole book is never
trained on: the acceptance test uses it.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from report.errors import ReportError
from training.architectures import ARCHITECTURES

BEGINNING_OF_TEXT = "<|begin_of_text|>"


@dataclass(frozen=True)
class Recipe:
    """All the numbers that determine the training run."""

    vocab_size: int = 4096
    num_hidden_layers: int = 8
    num_attention_heads: int = 8
    hidden_size: int = 192
    context: int = 256
    """Tokens a training sequence, the beginning-of-text token included."""
    batch: int = 16
    """Sequences a step."""
    steps: int = 2200
    warmup_steps: int = 200
    cooldown: float = 0.3
    """Last fraction of the steps, in which the learning rate falls by a cosine to 2 %."""
    muon_learning_rate: float = 0.02
    adamw_learning_rate: float = 3e-3
    weight_decay: float = 0.1
    dropout: float = 0.0
    repeated: float = 0.15
    """Fraction of text sequences that hold a span twice."""
    random_spans: float = 0.5
    """Fraction of those spans that are random tokens instead of text."""
    shortest_span: int = 16
    longest_span: int = 120
    drills_only: int = 0
    """Steps at first in which every sequence is a drill."""
    drill: float = 0.9
    """Fraction of sequences after those steps that are drills, which are predicted only by finding
    what came before. With text and repeats alone Falcon had no induction head after 800 steps; with
    loops of random tokens it had one after 300."""
    drill_slope: float = 0.85 / 1200
    """What that fraction loses with every step, until it reaches `drill_late`."""
    drill_late: float = 0.2
    """Fraction of drills from then on."""
    loops_only: int = 500
    """Steps in which every drill is a loop of random tokens. Then the other kinds join in."""
    drill_kinds: tuple[float, ...] = (0.4, 0.3, 0.15, 0.15)
    """After that, fractions of drills: random loops, pairs, loops of few tokens, loops of text."""
    longest_drill: int = 64
    """Longest span of a loop; the shortest is `shortest_span`."""
    smallest_alphabet: int = 4
    largest_alphabet: int = 16
    """Different tokens in a loop of few. There the current token alone does not tell what comes
    next; the one before is needed too."""
    architecture: str = "falcon"
    """A key of `architectures.ARCHITECTURES`. What follows is not used by Falcon."""
    num_key_value_heads: int = 8
    head_dim: int = 24
    intermediate_size: int = 768
    rope_theta: float = 1e4
    """Base of the rotary angles."""
    sliding_window: int = 128
    """Tokens that Gemma 3's sliding layers see, the current one included."""
    prompts: float = 0.0
    """Fraction of the text sequences that are generated prompts with word problems."""
    seed: int = 20261120


RECIPES = {
    "falcon-8x8": Recipe(),
    "qwen2-5x28": Recipe(
        architecture="qwen2",
        num_hidden_layers=5,
        num_attention_heads=28,
        num_key_value_heads=4,
        head_dim=32,
        intermediate_size=512,
        prompts=0.3,
        warmup_steps=100,
        drills_only=500,
        loops_only=500,
        drill_slope=0.7 / 300,
        steps=1100,
    ),
    "gemma3-6x8": Recipe(
        architecture="gemma3",
        num_hidden_layers=6,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=32,
        intermediate_size=512,
        sliding_window=160,  # more than a prompt of the study has, as in the large model
        prompts=0.3,
        warmup_steps=100,
        drills_only=500,
        loops_only=500,
        drill_slope=0.7 / 300,
        steps=1100,
        muon_learning_rate=0.01,
        adamw_learning_rate=1e-3,
    ),
}
"""The embedded models, by name."""


def named_recipe(name: str, **replaced: Any) -> Recipe:
    """The recipe of an embedded model, with some of its numbers replaced.

    raises: ReportError listing the recipes there are
    """
    if name not in RECIPES:
        raise ReportError(f"unknown recipe {name!r}; known: {', '.join(RECIPES)}")
    return replace(RECIPES[name], **replaced)


def train_tokenizer(texts: list[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE over `texts` (a list of str) that puts the beginning-of-text token first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[BEGINNING_OF_TEXT],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    begin = tokenizer.token_to_id(BEGINNING_OF_TEXT)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGINNING_OF_TEXT} $A", special_tokens=[(BEGINNING_OF_TEXT, begin)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGINNING_OF_TEXT,
        eos_token=BEGINNING_OF_TEXT,
        clean_up_tokenization_spaces=False,
    )


def random_model(recipe: Recipe, begin_id: int) -> PreTrainedModel:
    """The untrained decoder of the recipe (float32)."""
    return ARCHITECTURES[recipe.architecture](recipe, begin_id)


def optimizers(
    model: PreTrainedModel, recipe: Recipe
) -> tuple[torch.optim.Muon, torch.optim.AdamW]:
    """Muon for the weight matrices of the layers, AdamW for embeddings, biases and norms."""
    matrices, decayed, plain = [], [], []
    embedding = model.get_input_embeddings().weight
    for parameter in model.parameters():
        if parameter.ndim == 1:
            plain.append(parameter)
        elif parameter is embedding:
            decayed.append(parameter)
        else:
            matrices.append(parameter)
    muon = torch.optim.Muon(
        matrices,
        lr=recipe.muon_learning_rate,
        weight_decay=recipe.weight_decay,
        momentum=0.95,
        nesterov=True,
    )
    adamw = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": recipe.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ],
        lr=recipe.adamw_learning_rate,
        betas=(0.9, 0.95),
    )
    return muon, adamw


def learning_rate_factor(step: int, recipe: Recipe) -> float:
    """Linear warm-up, a plateau at 1, then a cosine down to 0.02 (a factor of the peak rate)."""
    if step < recipe.warmup_steps:
        return (step + 1) / recipe.warmup_steps
    start = round(recipe.steps * (1 - recipe.cooldown))
    if step < start:
        return 1.0
    done = (step - start) / max(1, recipe.steps - start)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))
