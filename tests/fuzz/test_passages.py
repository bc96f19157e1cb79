"""Passages of random Unicode, through every kind of tokenizer: the tokens are the text."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report.datasets.formats import passage
from report.models.text.tokens import tokenize
from report.text import whole
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried
from tests.fuzz.test_text import PIECES
from tests.models.tiny_tokenizers import KINDS
from tests.tiny_falcon import byte_level_tokenizer

SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<unk>", "[UNK]", "[CLS]", "<0x0A>", "▁", "Ġ", "##a"]
WORDS = [
    "the ",
    "lamp",
    " fi",
    "ﬁ",
    "é",
    "e\u0301",
    "Å",
    "İ",
    "ẞ",
    "한",
    "👩‍👩‍👧",
    "न्",
    "  ",
    " \n ",
]

PASSAGES = st.lists(
    st.sampled_from([*PIECES, *SPECIAL, *WORDS]) | st.text(max_size=8), min_size=1, max_size=6
).map("".join)


@pytest.fixture(scope="module", params=[byte_level_tokenizer, *KINDS], ids=lambda one: one.__name__)
def loaded(request):
    return SimpleNamespace(tokenizer=request.param(), identity={"context": 4096})


@pytest.mark.promise("any-unicode")
@examples(60)
@given(PASSAGES)
@example("\0\0")
@example("\ufeff\ufeff")
@example("a\u202eb\u2028c")
@example("x" * 10_000)
@example("👩‍👩‍👧" * 50)
def test_the_tokens_of_a_passage_are_its_text(loaded, text):
    text = whole(text)
    found, said = tried(tokenize, loaded, text)
    if said is not None:
        return
    assert len(found.token_ids) == len(found.tokens)
    own = [piece for piece in found.tokens if not piece["special"]]
    parts = [
        bytes.fromhex(piece["bytes"]) if "bytes" in piece else piece["text"].encode()
        for piece in own
    ]
    assert b"".join(parts).decode() == text
    for piece, token_id in zip(found.tokens, found.token_ids, strict=True):
        assert piece["id"] == token_id
        told = passage.encoded_token(piece)
        assert json.loads(json.dumps(told)) == told
        assert told.get("label", told["text"]).strip()
