"""A tiny random Falcon and its tokenizer, made on the spot: no test downloads anything."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import FalconConfig, FalconForCausalLM, PreTrainedTokenizerFast

BEGINNING = "<|begin_of_text|>"
TEXT = 'The old lamp stood by the window. "Is the lamp lit?" asked Ann; nobody answered Ann.'


def falcon_config(**changes):
    """A fresh config each time: models that share one would share its attention implementation."""
    options = {
        "vocab_size": 320,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 512,
        "alibi": True,
        "bias": True,
        "multi_query": False,
        "parallel_attn": False,
        "new_decoder_architecture": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    return FalconConfig(**{**options, **changes})


def random_falcon(seed=7, **changes):
    """A tiny Falcon with random biases and norms (or tests of them would be empty), and peaky
    attention (or all heads would look alike)."""
    torch.manual_seed(seed)
    model = FalconForCausalLM(falcon_config(**changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "ln_" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.normal_(std=0.5)
            else:
                parameter.normal_(std=0.3 if "query_key_value" in name else 0.1)
    return model


def byte_level_tokenizer():
    """Byte-level BPE of 320 tokens that puts the beginning-of-text token first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[BEGINNING],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGINNING} $A", special_tokens=[(BEGINNING, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGINNING, eos_token=BEGINNING
    )
