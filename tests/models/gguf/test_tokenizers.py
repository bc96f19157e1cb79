"""Tokenizers out of GGUF files give the tokens of the tokenizers that they were made from."""

import json
from pathlib import Path

import numpy as np
import pytest
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import TikTokenConverter

from report.inputs import passages
from report.models.gguf import tokenizer
from report.models.gguf.file import GgufFile, open_gguf
from report.models.gguf.tokenizer import SPLITS, tokenizer_of
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

SHIPPED = Path(passages.__file__).parent / "shipped"

OTHERS = [
    *(
        "",
        " ",
        "a",
        "  a",
        "a  b",
        "a b ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "a\tb\n c\n\n  d",
        "   \n x",
    ),
    *("1", "12", "123", "1234", "12 345,678.90", "x1y22z333", "½²③Ⅷ", "٣٤٥", "2026-11-23"),
    *("don't", "DON'T you'LL I'd we've", "it’s", "'s", "--flag", "a/b\\c", "<|x|>", "e-mail@x.org"),
    *("naïve café", "naïve café", "Å Å", "한글 한글", "ﬁ ﬂ", "ǅ ß İ ı"),
    *("😀", "a😀b", "👩‍👩‍👧", "🇩🇪🇫🇷", "👍🏽", "❤️", "i̇͠", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤"),
    *(
        "你好，世界",
        "日本語の文",
        "สวัสดี",
        "नमस्ते",
        "שלום",
        "مرحبا",
        "Привет, мир",
        "zero\u200bwidth",
    ),
    *("\u00a0no\u202fbreak", "▁", "a▁b", "�", "ÿ\x00", "…—“”", "def f(x):\n    return x\n"),
]
TEXTS = [
    *OTHERS,
    *(path.read_text("utf-8")[:600] for path in sorted(SHIPPED.rglob("*.md"))[:3]),
]


def file_of(values):
    """A file with these values and no tensors."""
    whole = {f"tokenizer.{key}": value for key, value in values.items()}
    return GgufFile((Path("it.gguf"),), whole, {}, {})


@pytest.mark.parametrize(
    "kind",
    [
        tiny_tokenizers.byte_level,
        tiny_tokenizers.normalised_byte_level,
        tiny_tokenizers.llama3,
        tiny_tokenizers.llama2,
        tiny_tokenizers.gemma,
    ],
    ids=lambda kind: kind.__name__,
)
def test_tokens_are_those_of_the_checkpoint(kind, tmp_path):
    expected = kind()
    folder = saved(tiny("llama"), expected, tmp_path / "tiny")
    path = Written(folder).to(tmp_path / "tiny.gguf")
    found = tokenizer_of(open_gguf(path))
    for text in [*TEXTS, *(f"x{token} {token}y" for token in expected.all_special_tokens)]:
        ours, theirs = found(text)["input_ids"], expected(text)["input_ids"]
        assert ours == theirs, text
        assert found.decode(ours) == expected.decode(theirs, clean_up_tokenization_spaces=False), (
            text
        )
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        assert getattr(found, name) == getattr(expected, name)
    if expected.chat_template:
        message = [{"role": "user", "content": "Who lit it?"}]
        assert found.apply_chat_template(message) == expected.apply_chat_template(message)


@pytest.fixture(scope="module")
def merged():
    """Tokens and merges of a byte-level vocabulary, learned from texts that are not cut."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([*TEXTS, *TEXTS[-3:] * 3], trainer)
    stated = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(stated["vocab"], key=stated["vocab"].get)
    return tokens, [tuple(pair) for pair in stated["merges"]]


def read_as(pre, merged, **values):
    tokens, merges = merged
    stated = {
        "ggml.model": "gpt2",
        "ggml.pre": pre,
        "ggml.tokens": tokens,
        "ggml.merges": [" ".join(pair) for pair in merges],
        "ggml.add_bos_token": False,
    }
    every = stated | values
    return tokenizer_of(file_of({key: value for key, value in every.items() if value is not None}))


CLASSES = {
    "gpt-2": transformers.GPT2Tokenizer,
    "phi-2": transformers.GPT2Tokenizer,
    "qwen2": transformers.Qwen2Tokenizer,
    "deepseek-r1-qwen": transformers.Qwen2Tokenizer,
    "mpt": transformers.GPTNeoXTokenizer,
    "olmo": transformers.GPTNeoXTokenizer,
    "command-r": transformers.CohereTokenizer,
}
"""A name for the way texts are cut -> the class of transformers for such a tokenizer."""


@pytest.mark.parametrize("pre", CLASSES)
def test_texts_are_cut_as_transformers_own_classes_cut_them(pre, merged):
    tokens, merges = merged
    vocabulary = {token: number for number, token in enumerate(tokens)}
    expected = CLASSES[pre](vocab=vocabulary, merges=merges)
    found = read_as(pre, merged)
    for text in TEXTS:
        assert found.tokenize(text) == expected.tokenize(text), text


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("smollm", "in 123 ½x", ["in", "Ġ", "1", "2", "3", "Ġ", "½", "x"]),
        ("starcoder", "a 12", ["a", "Ġ", "1", "2"]),
        ("falcon", "x==1234!", ["x", "==", "123", "4", "!"]),
        ("bloom", "no. 12, yes", ["no", ".", "Ġ12", ",", "Ġyes"]),
        ("llama-bpe", "IT'LL be 12345\n\n x", ["IT", "'LL", "Ġbe", "Ġ", "123", "45", "ĊĊ", "Ġx"]),
        ("qwen2", "IT'LL be 12", ["IT", "'LL", "Ġbe", "Ġ", "1", "2"]),
        ("dbrx", "x  1234", ["x", "Ġ", "Ġ", "123", "4"]),
        ("tekken", "HelloWorld 12/\n", ["Hello", "World", "Ġ", "1", "2", "/Ċ"]),
        ("gpt-2", "IT'LL it'll 1234", ["IT", "'", "LL", "Ġit", "'ll", "Ġ1234"]),
    ],
)
def test_words_and_numbers_are_cut_where_the_name_says(pre, text, pieces):
    described = {"type": "Sequence", "pretokenizers": list(SPLITS[pre].steps)}
    tokenizer = Tokenizer.from_str(
        json.dumps(json.loads(Tokenizer(models.BPE()).to_str()) | {"pre_tokenizer": described})
    )
    cut = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    assert [piece.replace("Â½", "½") for piece in cut] == pieces


def test_patterns_are_those_of_other_programs():
    assert TikTokenConverter().pattern == tokenizer.LLAMA3
    assert (
        transformers.models.qwen2.tokenization_qwen2.PRETOKENIZE_REGEX.replace(
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)", tokenizer.CONTRACTIONS
        )
        == tokenizer.QWEN2
    )


def test_whole_words_stay_whole_where_the_name_says(merged):
    tokens, merges = merged
    added = ([*tokens, "qqqq"], merges)
    assert read_as("llama-bpe", added).tokenize("qqqq") == ["qqqq"]
    assert read_as("dbrx", added).tokenize("qqqq") == ["q"] * 4


def test_a_beginning_is_put_first_where_the_name_says(merged):
    stated = {"ggml.add_bos_token": True, "ggml.bos_token_id": 3}
    assert read_as("gpt-2", merged, **stated)("a")["input_ids"][0] == 3
    for pre, begins in (("llama-bpe", True), ("qwen2", False)):
        unsaid = {"ggml.add_bos_token": None, "ggml.bos_token_id": 3}
        ids = read_as(pre, merged, **unsaid)("a")["input_ids"]
        assert (ids[0] == 3 and len(ids) == 2) is begins


USUAL = {"ggml.model": "gpt2", "ggml.pre": "gpt-2", "ggml.tokens": ["a", "b", "ab"]}
USUAL |= {"ggml.merges": ["a b"]}
PIECES = {"ggml.model": "llama", "ggml.tokens": ["<unk>", "a", "b", "ab"], "ggml.bos_token_id": 1}
PIECES |= {"ggml.token_type": np.array([2, 1, 1, 1]), "ggml.scores": np.array([0.0, -2, -3, -1])}


@pytest.mark.parametrize(
    ("usual", "values", "said"),
    [
        (USUAL, {"ggml.model": "rwkv"}, "tokenizer of the kind 'rwkv'"),
        (USUAL, {"ggml.precompiled_charsmap": np.zeros(8)}, "ggml.precompiled_charsmap' of its"),
        (USUAL, {"ggml.model": None}, "tokenizer of the kind None"),
        (USUAL, {"ggml.pre": "jais-2"}, "'jais-2', which is not known"),
        (USUAL, {"ggml.pre": None}, "not named, which is not known"),
        (USUAL, {"ggml.tokens": None}, "has no tokens"),
        (USUAL, {"ggml.tokens": ["a", "a"]}, "the token 'a' twice"),
        (USUAL, {"ggml.merges": None}, "has no merges"),
        (USUAL, {"ggml.merges": ["ab"]}, "no pair"),
        (USUAL, {"ggml.merges": ["a "]}, "no pair"),
        (USUAL, {"ggml.token_type": np.array([1])}, "a number for each of 3 tokens"),
        (USUAL, {"ggml.bos_token_id": 3}, "a whole number from 0 to 2"),
        (USUAL, {"ggml.eos_token_id": -1}, "a whole number from 0 to 2"),
        (USUAL, {"ggml.add_bos_token": 1}, "true or false"),
        (USUAL, {"ggml.add_eos_token": True}, "does not say which"),
        (PIECES, {"ggml.scores": None}, "lacks the scores"),
        (PIECES, {"ggml.token_type": None}, "lacks the types"),
        (PIECES, {"ggml.scores": np.full(4, np.nan)}, "no tokenizer has"),
        (PIECES, {"ggml.remove_extra_whitespaces": True}, "joins spaces"),
        (PIECES, {"ggml.tokens": ["<unk>", "a" * 9000, "b", "ab"]}, "no tokenizer has"),
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_by_name(usual, values, said):
    assert said in tried(tokenizer_of, file_of(usual | values))[1]


def test_special_tokens_of_phi_3_take_the_spaces_after_them():
    tokens = ["<unk>", "<s>", "<|user|>", "▁", "a", "▁a"]
    values = PIECES | {
        "ggml.tokens": tokens,
        "ggml.token_type": np.array([2, 3, 3, 1, 1, 1]),
        "ggml.scores": np.array([0.0, 0, 0, -5, -4, -1]),
        "ggml.add_bos_token": False,
    }
    usual, phi3 = file_of(values), file_of(values)
    phi3.values["general.architecture"] = "phi3"
    assert len(tokenizer_of(phi3)("<|user|> \n")["input_ids"]) == 1
    assert len(tokenizer_of(usual)("<|user|> \n")["input_ids"]) > 1
