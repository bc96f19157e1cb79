"""Tokens in and out, exactly, for every kind of tokenizer."""

from dataclasses import dataclass
from datetime import datetime

import pytest
from transformers import PythonBackend

from report.errors import ReportError
from report.models.text.tokens import encode, tokenize
from tests.models import tiny_tokenizers as kinds
from tests.tiny_falcon import byte_level_tokenizer


@dataclass(frozen=True)
class Loaded:
    """As much of a LoadedModel as tokenising takes."""

    tokenizer: object
    identity: dict


def with_tokenizer(tokenizer, context=512):
    return Loaded(tokenizer, {"context": context})


def joined(tokens):
    """The text that the tokens give back."""
    return b"".join(kinds.raw(token) for token in tokens if not token["special"]).decode()


def shown(tokenizer, text):
    return [token["text"] for token in tokenize(with_tokenizer(tokenizer), text).tokens]


@pytest.fixture(scope="module", params=kinds.KINDS, ids=lambda kind: kind.__name__)
def tokenizer(request):
    return request.param()


def test_token_ids_are_those_of_the_tokenizer(tokenizer):
    text = "The old lamp; who lit it?\n"
    assert tokenize(with_tokenizer(tokenizer), text).token_ids == tokenizer(text)["input_ids"]
    assert encode(with_tokenizer(tokenizer), text) == tokenizer(text)["input_ids"]


def test_padding_and_truncation_of_the_file_are_ignored(tokenizer):
    plain = encode(with_tokenizer(tokenizer), "The old lamp stood")
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    assert encode(with_tokenizer(tokenizer), "The old lamp stood") == plain


@pytest.mark.parametrize(
    ("kind", "special"),
    [
        (kinds.byte_level, []),
        (kinds.llama3, ["<|begin_of_text|>"]),
        (kinds.llama2, ["<s>"]),
        (kinds.unigram, ["</s>"]),
        (kinds.word_piece, ["[CLS]", "[SEP]"]),
    ],
)
def test_special_tokens_are_those_that_were_added(kind, special):
    tokens = tokenize(with_tokenizer(kind()), "The old lamp").tokens
    assert [token["text"] for token in tokens if token["special"]] == special


def test_a_leading_space_belongs_to_its_token():
    assert " lamp" in shown(kinds.byte_level(), "The lamp")
    assert "The lamp".endswith(shown(kinds.gemma(), "The lamp")[-1])
    assert shown(kinds.word_piece(), "The\n lamp ") == ["[CLS]", "The", "\n lamp ", "[SEP]"]


@pytest.mark.parametrize("kind", [kinds.byte_level, kinds.gemma])
def test_parts_of_a_character_are_marked_with_their_bytes(kind):
    tokens = tokenize(with_tokenizer(kind()), "灯")
    tokens = [token for token in tokens.tokens if not token["special"]]
    assert [token["bytes"] for token in tokens] == ["e7", "81", "af"]
    assert {token["text"] for token in tokens} == {"\ufffd"}
    assert not any("spelling" in token for token in tokens)


def test_the_space_that_sentencepiece_puts_first_is_not_in_the_text():
    tokens = tokenize(with_tokenizer(kinds.llama2()), "灯 lamp").tokens
    assert tokens[1] == {"id": tokens[1]["id"], "text": "", "special": False, "spelling": " "}
    assert [token.get("bytes") for token in tokens[2:5]] == ["e7", "81", "af"]


def test_a_spelling_is_kept_where_the_vocabulary_has_other_letters():
    tokens = tokenize(with_tokenizer(kinds.word_piece()), "The CAFÉ 灯 lamp").tokens[1:-1]
    told = [(token["text"], token.get("spelling")) for token in tokens]
    assert told == [("The", "the"), (" CAFÉ", "cafe"), (" 灯", "[UNK]"), (" lamp", None)]


def test_a_character_read_as_several_tokens_is_shown_once():
    tokens = tokenize(with_tokenizer(kinds.unigram()), "a … b").tokens
    dots = [token for token in tokens if token.get("spelling") == "."]
    assert [token["text"] for token in dots] == ["…", "", ""]


def test_an_accent_that_is_dropped_stays_with_its_letter():
    assert shown(kinds.word_piece(), "cafe\u0301 lamp")[1:-1] == ["cafe\u0301", " lamp"]


@pytest.mark.parametrize(
    ("kind", "special"),
    [
        (kinds.byte_level, "<|endoftext|>"),
        (kinds.llama3, "<|begin_of_text|>"),
        (kinds.llama3, "<|eot_id|>"),
        (kinds.llama2, "<s>"),
        (kinds.gemma, "</s>"),
        (kinds.word_piece, "[SEP]"),
        (kinds.word_piece, "[UNK]"),
    ],
)
def test_a_special_token_spelled_in_the_text_is_text(kind, special):
    tokenizer = kind()
    text = f"The {special} lamp"
    tokens = tokenize(with_tokenizer(tokenizer), text).tokens
    plain = [token for token in tokens if not token["special"]]
    assert joined(tokens) == text
    specials = {tokenizer.convert_tokens_to_ids(special)} - {tokenizer.unk_token_id}
    assert specials.isdisjoint(token["id"] for token in plain)


def templated(template):
    tokenizer = kinds.llama3()
    tokenizer.chat_template = template
    return tokenizer


NO_MESSAGE = "does not take a single message of the user"
LAMP = "The lamp"
REFUSED = [
    (kinds.byte_level, "", False, "the passage is empty"),
    (kinds.byte_level, "  \n ", False, "the passage is empty"),
    (kinds.byte_level, "z", False, "the passage has 1 token; give a text of at least 2"),
    (byte_level_tokenizer, "z" * 600, False, "has 601 tokens, the model takes at most 512"),
    (kinds.unigram, "The <s> lamp", False, "contains '<s>', which the model's tokenizer cannot"),
    (
        lambda: PythonBackend.__new__(PythonBackend),
        LAMP,
        False,
        r"PythonBackend, .*tokenizer\.json",
    ),
    (kinds.llama2, LAMP, True, "has no chat template; leave the option chat out"),
    (kinds.llama3, "A <|eot_id|> lamp", True, r"contains '<\|eot_id\|>', a special token"),
    (lambda: templated("{{ raise_exception('tools only') }}"), LAMP, True, NO_MESSAGE),
    (lambda: templated("{{ messages[0].tools[0].name }}"), LAMP, True, NO_MESSAGE),
]


@pytest.mark.parametrize(("kind", "text", "chat", "message"), REFUSED)
def test_what_cannot_be_tokens_is_refused(kind, text, chat, message):
    with pytest.raises(ReportError, match=message):
        encode(with_tokenizer(kind()), text, chat=chat)


def test_a_model_without_a_limit_takes_any_text():
    assert len(encode(with_tokenizer(byte_level_tokenizer(), context=None), "z" * 600)) == 601


def test_a_chat_has_one_beginning_and_its_special_tokens():
    tokenizer = kinds.llama3()
    chat = tokenize(with_tokenizer(tokenizer), " The lamp\n", chat=True)
    assert chat.token_ids == tokenizer.apply_chat_template(
        [{"role": "user", "content": " The lamp\n"}], return_dict=False
    )
    assert chat.token_ids.count(tokenizer.bos_token_id) == 1
    assert [token["text"] for token in chat.tokens if token["special"]] == [
        "<|begin_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    ]
    assert joined(chat.tokens) == "user\n\nThe lamp"


def test_the_chat_of_a_passage_leaves_the_next_passage_alone():
    tokenizer = kinds.llama3()
    before = encode(with_tokenizer(tokenizer), "The <|eot_id|> lamp")
    encode(with_tokenizer(tokenizer), "The lamp", chat=True)
    assert encode(with_tokenizer(tokenizer), "The <|eot_id|> lamp") == before


def test_a_chat_is_the_same_on_every_day():
    tokenizer = templated(
        "{% set now = strftime_now('%d %B %Y') %}It is {{ now }} ({{ strftime_now('%Y-%m-%d') }})."
    )
    chat = tokenize(with_tokenizer(tokenizer), "The lamp", chat=True)
    assert chat.text == "It is 26 July 2024 (2024-07-26)."
    assert f"{datetime.now():%Y-%m-%d}" not in chat.text
