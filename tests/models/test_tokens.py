"""Tokens in and out, exactly."""

import pytest

from report.errors import ReportError
from report.models.tokens import encode, token_pieces
from tests.conftest import BEGINNING


def test_the_beginning_of_text_token_comes_first_and_once(loaded):
    token_ids = encode(loaded, "The old lamp")
    assert token_ids[0] == 0
    assert 0 not in token_ids[1:]


@pytest.mark.parametrize(
    "text",
    ['The lamp; "lit"?', "  two spaces\n\nand lines\t", "naïve — 灯 😀 שלום", "\x00\x7f\xad"],
)
def test_the_bytes_of_the_pieces_are_the_bytes_of_the_text(loaded, text):
    pieces = token_pieces(loaded, encode(loaded, text))
    assert pieces[0] == {"id": 0, "text": BEGINNING, "special": True}
    assert not any(piece["special"] for piece in pieces[1:])
    raw = [
        bytes.fromhex(piece["bytes"]) if "bytes" in piece else piece["text"].encode()
        for piece in pieces[1:]
    ]
    assert b"".join(raw).decode() == text


def test_a_leading_space_is_kept(loaded):
    pieces = token_pieces(loaded, encode(loaded, "The lamp"))
    assert " lamp" in [piece["text"] for piece in pieces]


def test_parts_of_a_character_are_marked_with_their_bytes(loaded):
    pieces = token_pieces(loaded, encode(loaded, "灯"))[1:]
    assert [piece["bytes"] for piece in pieces] == ["e7", "81", "af"]
    assert {piece["text"] for piece in pieces} == {"\ufffd"}


def test_whole_characters_have_no_bytes(loaded):
    pieces = token_pieces(loaded, encode(loaded, "The old lamp stood"))
    assert not any("bytes" in piece for piece in pieces)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_empty_passage_is_refused(loaded, text):
    with pytest.raises(ReportError, match="the passage is empty"):
        encode(loaded, text)


def test_a_passage_of_one_token_is_refused(loaded):
    with pytest.raises(ReportError, match="the passage has 1 token; give a text of at least 2"):
        encode(loaded, "z")


def test_a_passage_longer_than_the_model_allows_is_refused(loaded):
    with pytest.raises(ReportError, match="has 601 tokens, the model takes at most 512"):
        encode(loaded, "z" * 600)


@pytest.mark.parametrize("token_id", [-1, 319, 10**6])
def test_an_id_that_the_tokenizer_does_not_know_is_refused(loaded, token_id):
    assert len(loaded.tokenizer) < 319
    with pytest.raises(ReportError, match=f"token id {token_id} is not in the tokenizer"):
        token_pieces(loaded, [0, token_id])
