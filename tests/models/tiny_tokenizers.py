"""Tokenizers of every kind, trained here on a few sentences, as transformers wraps them."""

import json

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import processors as post
from transformers import PreTrainedTokenizerFast

SENTENCES = [
    "The old lamp stood on the hill. The lamp was lit, they said; who lit the lamp?",
    "find the fine fins in a café, naïve as you are\n\nfinding fine <things>",
] * 5


def byte_level(prefix=False, trim=True, **special):
    """GPT-2, Llama 3, Falcon: every byte is a printable symbol."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = post.ByteLevel(trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _train(tokenizer, trainers.BpeTrainer, 330, ["<|endoftext|>"], initial_alphabet=alphabet)
    names = special or dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def normalised_byte_level():
    """Qwen: as GPT-2, after composing accents with their letters."""
    wrapped = byte_level(trim=False)
    wrapped.backend_tokenizer.normalizer = normalizers.NFC()
    return wrapped


def llama3():
    """As GPT-2, with a beginning-of-text token and the special tokens of a chat."""
    wrapped = byte_level(bos_token="<|begin_of_text|>", eos_token="<|eot_id|>")
    wrapped.add_special_tokens(
        {"additional_special_tokens": ["<|start_header_id|>", "<|end_header_id|>"]}
    )
    _add(wrapped, "<|begin_of_text|> $A", "<|begin_of_text|>")
    wrapped.chat_template = (
        "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}"
        "<|end_header_id|>\n\n{{ message.content | trim }}<|eot_id|>{% endfor %}"
    )
    return wrapped


def llama2():
    """SentencePiece BPE: a space before the text, "▁" for spaces, bytes for what is unknown."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    spaces = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    tokenizer.normalizer = normalizers.Sequence(spaces)
    _train(tokenizer, trainers.BpeTrainer, 90, ["<unk>", "<s>", "</s>"], max_token_length=8)
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    merges = [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    tokenizer.model = models.BPE(
        vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True
    )
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)])
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    return _add(wrapped, "<s> $A", "<s>")


def gemma():
    """As Llama 2 without the space before the text."""
    wrapped = llama2()
    wrapped.backend_tokenizer.normalizer = normalizers.Replace(" ", "▁")
    return wrapped


def unigram():
    """XGLM: SentencePiece unigram; normalises, joins spaces, and has "<s>" in its vocabulary."""
    tokenizer = Tokenizer(models.Unigram())
    joined = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), joined])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    _train(tokenizer, trainers.UnigramTrainer, 90, special, unk_token="<unk>")
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    return _add(wrapped, "</s> $A", "</s>")


def word_piece():
    """BERT: lower case, no accents, no spaces; parts of words begin with "##"."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    _train(tokenizer, trainers.WordPieceTrainer, 90, special)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    return _add(wrapped, "[CLS] $A [SEP]", "[CLS]", "[SEP]")


KINDS = [byte_level, normalised_byte_level, llama3, llama2, gemma, unigram, word_piece]


def characters(letters, *words):
    """Characters are tokens, but for words of several, each one more than another token."""
    vocabulary = {word: number for number, word in enumerate([*sorted(set(letters)), *words])}
    merges = [(word[:-1], word[-1]) for word in words]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def raw(token):
    """The bytes that a token of ours says."""
    return bytes.fromhex(token["bytes"]) if "bytes" in token else token["text"].encode()


def _train(tokenizer, trainer, size, special, **options):
    options |= {"vocab_size": size, "special_tokens": special, "show_progress": False}
    tokenizer.train_from_iterator(SENTENCES, trainer(**options))


def _add(wrapped, single, *names):
    """Let the tokenizer put special tokens around a text."""
    ids = list(zip(names, wrapped.convert_tokens_to_ids(list(names)), strict=True))
    template = post.TemplateProcessing(single=single, special_tokens=ids)
    wrapped.backend_tokenizer.post_processor = template
    return wrapped
