"""Tiny random models of six families, in folders as their makers save them, with tokenizers.

The tokenizers are trained on the passages of this project: bytes for Llama, Qwen 2, GPT-2 and
GPT-J, words with a mark for the space before them for Gemma, pieces of lower-case words for BERT;
special tokens as each family has them.
"""

import functools

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from report import families
from report.inputs.passages import corpus, passage

VOCABULARY = 1200
GAIN = 1.3
SPECIAL = {
    "llama": ["<|begin_of_text|>", "<|end_of_text|>"],
    "qwen2": ["<|endoftext|>"],
    "gemma3": ["<pad>", "<eos>", "<bos>", "<unk>"],
    "gpt2": ["<|endoftext|>"],
    "gptj": ["<|endoftext|>"],
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
}
AROUND = {"llama": "<|begin_of_text|> $A", "gemma3": "<bos> $A", "bert": "[CLS] $A [SEP]"}
ROLES = {
    "llama": {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"},
    "qwen2": {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},
    "gemma3": {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"},
    "gpt2": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    "gptj": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    "bert": {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"},
}


def save(kind, folder, layers=2, context=512):
    """Write a model of a family and its tokenizer into a folder; returns the folder."""
    read = tokenizer(kind)
    read.save_pretrained(folder)
    random_model(kind, layers, context).save_pretrained(folder)
    return folder


def random_model(kind, layers, context):
    described = families.read(kind)
    first_variant = next(iter(described.get("variants", {"": {}}).values()))
    settings = described.get("config", {}) | first_variant
    gpt = "n_layer" in settings
    number, longest = "num_hidden_layers", "max_position_embeddings"
    number, longest = ("n_layer", "n_positions") if gpt else (number, longest)
    settings |= {"vocab_size": VOCABULARY, number: layers, longest: context}
    if "layer_types" in settings:  # one layer with a window, one without
        types = ["sliding_attention", "full_attention"]
        settings |= {"layer_types": [types[n % 2] for n in range(layers)], "sliding_window": 24}
    model_class = getattr(transformers, described["class"])
    model = model_class(model_class.config_class(**settings)).float().eval()
    families.randomise(model, GAIN, torch.Generator().manual_seed(4))
    return model


@functools.cache
def tokenizer(kind):
    """A tokenizer of `VOCABULARY` tokens with the special tokens of a family."""
    trained = {"bert": word_pieces, "gemma3": marked_words}.get(kind, bytes_of_text)(SPECIAL[kind])
    if kind in AROUND:
        ids = [(token, trained.token_to_id(token)) for token in SPECIAL[kind]]
        used = [pair for pair in ids if pair[0] in AROUND[kind]]
        trained.post_processor = processors.TemplateProcessing(AROUND[kind], special_tokens=used)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=trained, **ROLES[kind])


def texts():
    return [passage("the-lamp-on-the-hill").text, *(each.text for each in corpus())]


def bytes_of_text(special):
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    found.train_from_iterator(texts(), trainer)
    return found


def marked_words(special):
    found = Tokenizer(models.BPE(unk_token="<unk>"))
    found.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    found.decoder = decoders.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, show_progress=False
    )
    found.train_from_iterator(texts(), trainer)
    return found


def word_pieces(special):
    found = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer(lowercase=True)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY, special_tokens=special, show_progress=False
    )
    found.train_from_iterator(texts(), trainer)
    return found
